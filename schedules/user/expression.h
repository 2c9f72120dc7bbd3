// Expression: a condition or a number over named parameters, in Python's syntax and with its
// semantics.
//
// Whole numbers, floats, truth values, strings, lists and tuples; arithmetic, bitwise and boolean
// operators, chained comparisons, `in`, `a if c else b`, indexing, list comprehensions, and the
// functions of schedules/user/value.h (math.NAME too). A parameter is named x, or p["x"] as in the
// lambdas of Kernel Tuner, with or without `lambda p:` in front. Immutable; several threads may
// evaluate it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/user/value.h"

namespace kindred {

class Expression {
 public:
  // Error (kBadInput): not an expression, or a name that is not in `names`; the message has the
  // expression and the column (from 1).
  static Result<Expression> Parse(std::string_view text, std::span<const std::string> names);

  // `values` are those of `names`, in order; of those not in parameters() any. Error (kBadInput),
  // with expression and column: division by zero, operands of the wrong kind, ....
  Result<Value> Evaluate(std::span<const Value> values) const;

  // Indices of the names that occur, ascending.
  const std::vector<std::size_t>& parameters() const { return parameters_; }
  const std::string& text() const { return text_; }

  struct Node;  // of the syntax tree

 private:
  std::string text_;
  std::vector<std::size_t> parameters_;
  std::size_t slots_ = 0;  // names, then the variables of comprehensions
  std::shared_ptr<const Node> root_;
};

}  // namespace kindred
