#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "schedules/user/internal/expression_node.h"

namespace kindred::internal {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t EndOfNumber(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (IsDigit(text[end]) || text[end] == '.')) ++end;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (exponent < text.size() && IsDigit(text[exponent])) {
      end = exponent;
      while (end < text.size() && IsDigit(text[end])) ++end;
    }
  }
  return end;
}

Result<Value> ParseNumber(std::string_view digits, std::string_view text, std::size_t column) {
  const char* const last = digits.data() + digits.size();
  if (digits.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t whole = 0;
    const auto [end, code] = std::from_chars(digits.data(), last, whole);
    if (code != std::errc() || end != last)
      return ExpressionError(text, column, "the number does not fit 64 bits");
    return Value(whole);
  }
  double number = 0;
  const auto [end, code] = std::from_chars(digits.data(), last, number);
  if (code != std::errc() || end != last)
    return ExpressionError(text, column, fmt::format("'{}' is no number", digits));
  return Value(number);
}

std::size_t SymbolLength(std::string_view rest) {
  static constexpr std::array<std::string_view, 8> kTwo = {
      "**", "//", "<=", ">=", "==", "!=", "<<", ">>"};
  for (const std::string_view symbol : kTwo)
    if (rest.substr(0, 2) == symbol) return 2;
  return std::string_view("+-*/%<>()[],:.&|^~").find(rest[0]) == std::string_view::npos ? 0 : 1;
}

}  // namespace

Error ExpressionError(std::string_view expression, std::size_t column, std::string_view why) {
  return BadInput(fmt::format("expression \"{}\", column {}: {}", expression, column + 1, why));
}

Result<std::vector<Token>> Tokenize(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
      continue;
    }
    Token token;
    token.column = at;
    if (IsDigit(c) || (c == '.' && at + 1 < text.size() && IsDigit(text[at + 1]))) {
      const std::size_t end = EndOfNumber(text, at);
      token.kind = Token::Kind::kNumber;
      KINDRED_TRY(token.number, ParseNumber(text.substr(at, end - at), text, at));
      at = end;
    } else if (IsNameStart(c)) {
      token.kind = Token::Kind::kName;
      while (at < text.size() && (IsNameStart(text[at]) || IsDigit(text[at])))
        token.text += text[at++];
    } else if (c == '"' || c == '\'') {
      token.kind = Token::Kind::kText;
      const std::size_t end = text.find(c, at + 1);
      if (end == std::string_view::npos)
        return ExpressionError(text, at, "the string does not end");
      token.text = text.substr(at + 1, end - at - 1);
      at = end + 1;
    } else if (const std::size_t length = SymbolLength(text.substr(at)); length > 0) {
      token.kind = Token::Kind::kSymbol;
      token.text = text.substr(at, length);
      at += length;
    } else {
      return ExpressionError(text, at, fmt::format("'{}' cannot stand here", c));
    }
    tokens.push_back(std::move(token));
  }
  Token end;
  end.column = text.size();
  tokens.push_back(std::move(end));
  return tokens;
}

}  // namespace kindred::internal
