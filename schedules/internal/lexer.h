// Tokens of the workload language (docs/workload_language.md).
//
// A statement ends with its line, but for lines that end inside brackets; so kNewline appears only
// outside brackets. `#` starts a comment. The text must outlive nothing: tokens own their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

struct SourcePosition {
  int line = 1, column = 1;  // both from 1; columns count bytes
};

enum class TokenKind : std::uint8_t { kName, kInteger, kNumber, kSymbol, kNewline, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;           // of names (unquoted) and symbols
  bool quoted = false;        // a "name in quotes": never a keyword or function
  std::uint64_t integer = 0;  // kInteger; at most 2^63
  double number = 0;          // kNumber, kInteger
  SourcePosition position;

  bool IsSymbol(std::string_view symbol) const {
    return kind == TokenKind::kSymbol && text == symbol;
  }
  bool IsWord(std::string_view word) const {
    return kind == TokenKind::kName && !quoted && text == word;
  }
};

// Errors carry "FILE:LINE:COLUMN: ".
Result<std::vector<Token>> Tokenize(std::string_view text, std::string_view file);

// "FILE:LINE:COLUMN: MESSAGE"
std::string At(std::string_view file, SourcePosition position, std::string_view message);

// How a name is written: as it is, or in quotes where it is not an identifier or is reserved.
std::string QuoteName(std::string_view name, bool reserved);
// `text` in double quotes, with escapes.
std::string QuoteText(std::string_view text);

}  // namespace kindred
