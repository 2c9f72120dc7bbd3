// The syntax tree of an Expression, and the tokens that it is made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedules/user/expression.h"

namespace kindred {

struct Expression::Node {
  enum class Kind {
    kConstant,
    kSlot,
    kUnary,       // op, one child
    kArithmetic,  // op, two children
    kAnd,
    kOr,
    kNot,
    kComparison,   // ops between children
    kConditional,  // condition, then, else
    kList,
    kIndex,          // list or text, position
    kCall,           // op is the function
    kComprehension,  // element, list, condition or nothing; `slot` is the variable
  };
  Kind kind = Kind::kConstant;
  std::size_t column = 0;  // in the text, from 0
  std::string op;
  std::vector<std::string> ops;
  Value constant;
  std::size_t slot = 0;
  std::vector<std::unique_ptr<Node>> children;
};

namespace internal {

struct Token {
  enum class Kind { kNumber, kText, kName, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // of names, keywords, symbols and strings
  Value number;
  std::size_t column = 0;
};

// "expression 'a //' , column 5: why".
Error ExpressionError(std::string_view expression, std::size_t column, std::string_view why);

Result<std::vector<Token>> Tokenize(std::string_view text);

}  // namespace internal
}  // namespace kindred
