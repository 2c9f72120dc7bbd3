#include "schedules/internal/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "schedules/text_form.h"

namespace kindred {
namespace {

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

constexpr std::array<std::string_view, 7> kLongSymbols = {"..", "<=", ">=", "==", "!=", "+=", "**"};
constexpr std::string_view kShortSymbols = "[](),:=+-*/%<>";

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<Token>> Run() {
    while (place_ < text_.size()) {
      const char c = text_[place_];
      start_ = {line_, static_cast<int>(place_ - line_start_) + 1};
      if (c == '\n') {
        EndLine();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++place_;
      } else if (c == '#') {
        while (place_ < text_.size() && text_[place_] != '\n') ++place_;
      } else if (IsNameStart(c)) {
        std::size_t end = place_;
        while (end < text_.size() && IsNamePart(text_[end])) ++end;
        Add(TokenKind::kName, end);
      } else if (IsDigit(c) ||
                 (c == '.' && place_ + 1 < text_.size() && IsDigit(text_[place_ + 1]))) {
        KINDRED_CHECK(Number());
      } else if (c == '"') {
        KINDRED_CHECK(Quoted());
      } else {
        KINDRED_CHECK(Symbol());
      }
    }
    start_ = {line_, static_cast<int>(place_ - line_start_) + 1};
    if (!open_.empty())
      return Fail(open_.back().position,
                  fmt::format("this '{}' is never closed", open_.back().text));
    Add(TokenKind::kNewline, place_);
    Add(TokenKind::kEnd, place_);
    return std::move(tokens_);
  }

 private:
  Error Fail(SourcePosition position, std::string_view message) const {
    return BadInput(At(file_, position, message));
  }

  void Add(TokenKind kind, std::size_t end) {
    Token token;
    token.kind = kind;
    token.position = start_;
    if (kind == TokenKind::kName || kind == TokenKind::kSymbol)
      token.text = text_.substr(place_, end - place_);
    place_ = end;
    tokens_.push_back(std::move(token));
  }

  void EndLine() {
    if (open_.empty() && !tokens_.empty() && tokens_.back().kind != TokenKind::kNewline)
      Add(TokenKind::kNewline, place_);
    ++place_;
    ++line_;
    line_start_ = place_;
  }

  Result<void> Number() {
    std::size_t end = place_;
    const auto at = [this](std::size_t i) { return i < text_.size() ? text_[i] : '\0'; };
    while (IsDigit(at(end))) ++end;
    bool integer = true;
    if (at(end) == '.' && at(end + 1) != '.') {  // 1..8 is a range
      integer = false;
      ++end;
      while (IsDigit(at(end))) ++end;
    }
    if (at(end) == 'e' || at(end) == 'E') {
      std::size_t exponent = end + 1;
      if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
      if (IsDigit(at(exponent))) {
        integer = false;
        end = exponent;
        while (IsDigit(at(end))) ++end;
      }
    }
    if (IsNamePart(at(end)))
      return Fail(start_, fmt::format("a number cannot go on with '{}'; names start with a letter",
                                      at(end)));
    const char* first = text_.data() + place_;
    const char* last = text_.data() + end;
    Token token;
    token.kind = integer ? TokenKind::kInteger : TokenKind::kNumber;
    token.position = start_;
    if (integer) {
      const auto parsed = std::from_chars(first, last, token.integer);
      if (parsed.ec != std::errc() || token.integer > std::uint64_t{1} << 63)
        return Fail(start_, "this integer does not fit 64 bits");
    }
    // Underflow and overflow give 0 and infinity, which the language can say itself: errors here.
    if (std::from_chars(first, last, token.number).ec != std::errc())
      return Fail(start_, "this number is outside the range of f64");
    tokens_.push_back(std::move(token));
    place_ = end;
    return {};
  }

  Result<void> Quoted() {
    Token token;
    token.kind = TokenKind::kName;
    token.quoted = true;
    token.position = start_;
    for (++place_; place_ < text_.size() && text_[place_] != '\n'; ++place_) {
      const char c = text_[place_];
      if (c == '"') {
        ++place_;
        if (!IsUtf8(token.text)) return Fail(start_, "this quoted name is not UTF-8");
        tokens_.push_back(std::move(token));
        return {};
      }
      if (c != '\\') {
        token.text += c;
        continue;
      }
      const char escaped = place_ + 1 < text_.size() ? text_[place_ + 1] : '\0';
      if (escaped == '"' || escaped == '\\') {
        token.text += escaped;
        ++place_;
      } else if (escaped == 'x' && place_ + 3 < text_.size() && HexDigit(text_[place_ + 2]) >= 0 &&
                 HexDigit(text_[place_ + 3]) >= 0) {
        token.text +=
            static_cast<char>(HexDigit(text_[place_ + 2]) * 16 + HexDigit(text_[place_ + 3]));
        place_ += 3;
      } else {
        return Fail(
            {line_, static_cast<int>(place_ - line_start_) + 1},
            "unknown escape; inside quotes write \\\" , \\\\ or \\x with two digits 0-9a-f");
      }
    }
    return Fail(start_, "this quoted name does not end on its line");
  }

  Result<void> Symbol() {
    const std::string_view rest = text_.substr(place_);
    for (const std::string_view symbol : kLongSymbols) {
      if (!rest.starts_with(symbol)) continue;
      Add(TokenKind::kSymbol, place_ + symbol.size());
      return {};
    }
    const char c = rest.front();
    if (kShortSymbols.find(c) == std::string_view::npos) {
      const auto byte = static_cast<unsigned char>(c);
      return Fail(start_, byte >= 0x20 && byte < 0x7f
                              ? fmt::format("unexpected character '{}'", c)
                              : fmt::format("unexpected byte 0x{:02x}; names with such characters "
                                            "stand in double quotes",
                                            byte));
    }
    Add(TokenKind::kSymbol, place_ + 1);
    if (c == '[' || c == '(') open_.push_back(tokens_.back());
    if (c == ']' || c == ')') {
      const char* match = c == ']' ? "[" : "(";
      if (open_.empty())
        return Fail(start_, fmt::format("'{}' without a '{}' before it", c, match));
      if (open_.back().text != match)
        return Fail(start_,
                    fmt::format("'{}' closes the '{}' at line {}, column {}", c, open_.back().text,
                                open_.back().position.line, open_.back().position.column));
      open_.pop_back();
    }
    return {};
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t place_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  SourcePosition start_;
  std::vector<Token> tokens_;
  std::vector<Token> open_;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view text, std::string_view file) {
  return Lexer(text, file).Run();
}

bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
    const std::size_t length = byte(0) < 0x80                      ? 1
                               : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                               : byte(0) >= 0xe0 && byte(0) < 0xf0 ? 3
                               : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                                                                   : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(k) & 0xc0) != 0x80) return false;
    // Overlong forms, surrogates, and what lies beyond U+10FFFF.
    if (length == 3 && ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f)))
      return false;
    if (length == 4 && ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f)))
      return false;
    i += length;
  }
  return true;
}

std::string At(std::string_view file, SourcePosition position, std::string_view message) {
  return fmt::format("{}:{}:{}: {}", file, position.line, position.column, message);
}

std::string QuoteText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string QuoteName(std::string_view name, bool reserved) {
  const bool plain = !name.empty() && IsNameStart(name.front()) && !reserved &&
                     std::all_of(name.begin(), name.end(), IsNamePart);
  return plain ? std::string(name) : QuoteText(name);
}

}  // namespace kindred
