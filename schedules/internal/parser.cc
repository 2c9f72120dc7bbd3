#include "schedules/internal/parser.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedules/functions.h"
#include "schedules/internal/check_workload.h"
#include "schedules/text_form.h"

namespace kindred {

const Token& Parser::Peek(std::size_t ahead) const {
  return tokens_[std::min(place_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::Next() {
  const Token& token = Peek();
  if (place_ + 1 < tokens_.size()) ++place_;
  return token;
}

bool Parser::Accept(std::string_view symbol) {
  if (!Peek().IsSymbol(symbol)) return false;
  Next();
  return true;
}

bool Parser::AcceptWord(std::string_view word) {
  if (!Peek().IsWord(word)) return false;
  Next();
  return true;
}

bool Parser::Expect(std::string_view symbol, std::string_view after) {
  if (Accept(symbol)) return true;
  return Fail(Peek().position,
              fmt::format("expected '{}' after {}, found {}", symbol, after, Shown(Peek())));
}

bool Parser::Fail(SourcePosition position, std::string_view message, ErrorKind kind) {
  if (!error_) error_ = Error{kind, At(file_, position, message)};
  return false;
}

Parser::Value Parser::FailValue(SourcePosition position, std::string_view message, ErrorKind kind) {
  Fail(position, message, kind);
  return {};
}

std::string Parser::Shown(const Token& token) const {
  switch (token.kind) {
    case TokenKind::kName:
    case TokenKind::kSymbol: return fmt::format("'{}'", token.text.substr(0, 80));
    case TokenKind::kInteger: return fmt::format("{}", token.integer);
    case TokenKind::kNumber: return fmt::format("{}", token.number);
    case TokenKind::kNewline: return "the end of the line";
    case TokenKind::kEnd: break;
  }
  return "the end of the text";
}

Result<Workload> Parser::Run() {
  while (Peek().kind != TokenKind::kEnd) {
    if (Peek().kind == TokenKind::kNewline) {
      Next();
      continue;
    }
    if (!Statement()) return *error_;
    if (Peek().kind != TokenKind::kNewline) {
      Fail(Peek().position,
           fmt::format("the statement should end here, but {} follows; put one statement on a line",
                       Shown(Peek())));
      return *error_;
    }
  }
  if (auto failure = FindFailure(workload_))
    return Locate(std::move(failure->error), failure->tensor, failure->stage, failure->at);
  return std::move(workload_);
}

Result<ExprPtr> Parser::RunExpression(const Workload& workload, std::span<const Axis> axes,
                                      std::optional<DataType> type) {
  workload_ = workload;
  for (std::size_t i = 0; i < workload.tensors.size(); ++i)
    tensors_.emplace(workload.tensors[i].name, static_cast<int>(i));
  for (std::size_t i = 0; i < workload.symbols.size(); ++i)
    extents_.emplace(workload.symbols[i].name, Extent{1, static_cast<int>(i)});
  for (const Axis& axis : axes) axes_.push_back({axis.name, {}, false, true, axis.extent});
  const Value value = Expression();
  if (!value.expr) return *error_;
  if (Peek().kind != TokenKind::kNewline || Peek(1).kind != TokenKind::kEnd) {
    Fail(Peek().position,
         fmt::format("the expression should end here, but {} follows", Shown(Peek())));
    return *error_;
  }
  if (!reductions_.empty()) {
    Fail({}, "a reduction inside the body of a stage; give it a stage of its own");
    return *error_;
  }
  if (!value.literal) return value.expr;
  return CastExpr(type.value_or(value.expr->op == Op::kFloat ? DataType::kF32 : DataType::kI64),
                  value.expr);
}

bool Parser::Statement() {
  const Token& first = Peek();
  if (first.kind != TokenKind::kName)
    return Fail(
        first.position,
        fmt::format("a statement starts with input, weight, output, symbol, allow, workload or "
                    "the name of a tensor, not with {}",
                    Shown(first)));
  const Token& second = Peek(1);
  if (second.kind == TokenKind::kName || first.IsWord("allow")) {
    if (AcceptWord("input")) return InputStatement(Role::kInput);
    if (AcceptWord("weight")) return InputStatement(Role::kWeight);
    if (AcceptWord("allow")) return AllowStatement();
    if (AcceptWord("workload")) return WorkloadName();
    if (AcceptWord("symbol") || second.IsWord("in")) return SymbolStatement();
    if (!first.IsWord("output"))
      return Fail(
          first.position,
          fmt::format("unknown statement '{}'; statements start with input, weight, output, "
                      "symbol, allow, workload or the name of a tensor",
                      first.text));
  }
  return StageStatement();
}

bool Parser::WorkloadName() {
  workload_.name = Next().text;
  return true;
}

bool Parser::DeclaredName(std::string& name, std::string_view what) {
  const Token& token = Next();
  if (token.kind != TokenKind::kName)
    return Fail(token.position,
                fmt::format("expected the name of {}, found {}", what, Shown(token)));
  if (!token.quoted && IsReserved(token.text))
    return Fail(token.position,
                fmt::format("'{}' is a word of the language; choose another name, or write it in "
                            "double quotes",
                            token.text));
  if (token.text.empty()) return Fail(token.position, "a name cannot be empty");
  name = token.text;
  return true;
}

bool Parser::ParseInteger(std::int64_t& value, std::string_view what) {
  const Token& token = Next();
  if (token.kind != TokenKind::kInteger || token.integer > std::uint64_t{INT64_MAX})
    return Fail(token.position,
                fmt::format("expected {} (a whole number), found {}", what, Shown(token)));
  value = static_cast<std::int64_t>(token.integer);
  return true;
}

bool Parser::ParseSigned(double& value, std::string_view what) {
  const bool negative = Accept("-");
  const Token& token = Next();
  if (token.kind == TokenKind::kInteger)
    value = static_cast<double>(token.integer);
  else if (token.kind == TokenKind::kNumber)
    value = token.number;
  else
    return Fail(token.position,
                fmt::format("expected {} (a number), found {}", what, Shown(token)));
  if (negative) value = -value;
  return true;
}

bool Parser::ParseType(DataType& type, std::string_view where) {
  const Token& token = Next();
  const auto parsed = token.kind == TokenKind::kName ? ParseDataType(token.text) : std::nullopt;
  if (!parsed)
    return Fail(
        token.position,
        fmt::format("expected a type {}, found {}; types are f64 f32 f16 bf16 f8e4m3 f8e5m2 "
                    "i64 i32 i8 u8 bool c64",
                    where, Shown(token)));
  type = *parsed;
  return true;
}

bool Parser::ParseExtent(Extent& extent, std::string_view what) {
  const Token& token = Peek();
  if (token.kind == TokenKind::kName) {
    const auto found = extents_.find(token.text);
    if (found == extents_.end())
      return Fail(
          token.position,
          fmt::format("unknown extent '{}'; declare it with 'symbol {} in 1..N', or name it "
                      "where it first stands: [{}=50]",
                      token.text, token.text, token.text));
    extent = found->second;
    Next();
    return true;
  }
  extent = {};
  if (!ParseInteger(extent.value, what)) return false;
  if (extent.value < 1) return Fail(token.position, "an extent is 1 or more");
  return true;
}

bool Parser::SymbolStatement() {
  Symbol symbol;
  const SourcePosition position = Peek().position;
  if (!DeclaredName(symbol.name, "a symbolic extent")) return false;
  if (extents_.contains(symbol.name))
    return Fail(position, fmt::format("the extent '{}' is declared twice", symbol.name));
  if (!AcceptWord("in"))
    return Fail(Peek().position,
                fmt::format("expected 'in' and a range: symbol {} in 1..4096", symbol.name));
  const SourcePosition range = Peek().position;
  if (!ParseInteger(symbol.low, "the lower bound") || !Expect("..", "the lower bound") ||
      !ParseInteger(symbol.high, "the upper bound"))
    return false;
  if (symbol.low < 1 || symbol.high < symbol.low)
    return Fail(range, "the range must start at 1 or more and not end before its start");
  Accept(",");
  if (AcceptWord("likely")) {
    do {
      const SourcePosition where = Peek().position;
      std::int64_t value = 0;
      if (!ParseInteger(value, "a likely value")) return false;
      if (value < symbol.low || value > symbol.high)
        return Fail(where, fmt::format("the likely value {} is outside {}..{}", value, symbol.low,
                                       symbol.high));
      symbol.likely.push_back(value);
      Accept(",");
    } while (Peek().kind == TokenKind::kInteger);
  }
  Extent extent;
  extent.symbol = static_cast<int>(workload_.symbols.size());
  extent.value = symbol.likely.empty() ? symbol.high : symbol.likely.front();
  extents_.emplace(symbol.name, extent);
  workload_.symbols.push_back(std::move(symbol));
  return true;
}

bool Parser::AllowStatement() {
  do {
    const Token& token = Next();
    NumericContract& contract = workload_.contract;
    if (token.IsWord("tf32"))
      contract.tf32 = true;
    else if (token.IsWord("winograd"))
      contract.winograd = true;
    else if (token.IsWord("atomics"))
      contract.atomics = true;
    else if (token.IsWord("fast_math"))
      contract.fast_math = true;
    else
      return Fail(token.position,
                  fmt::format("cannot allow {}; known are tf32, winograd, atomics, fast_math",
                              Shown(token)));
  } while (Accept(","));
  return true;
}

bool Parser::InputStatement(Role role) {
  Tensor tensor;
  tensor.role = role;
  const SourcePosition position = Peek().position;
  if (!DeclaredName(tensor.name, "a tensor")) return false;
  if (tensors_.contains(tensor.name))
    return Fail(position,
                fmt::format("the name '{}' is used twice; give each tensor its own", tensor.name));
  if (!Expect(":", "the tensor's name") || !ParseType(tensor.type, "after ':'") ||
      !Expect("[", "the type"))
    return false;
  while (!Peek().IsSymbol("]")) {
    Extent extent;
    if (Peek().kind == TokenKind::kName && Peek(1).IsSymbol("=")) {
      const Token& name = Next();
      Next();
      if (extents_.contains(name.text))
        return Fail(name.position, fmt::format("the extent '{}' is declared twice; later uses have "
                                               "no '='",
                                               name.text));
      if (!ParseExtent(extent, "an extent")) return false;
      extents_.emplace(name.text, extent);
    } else if (!ParseExtent(extent, "an extent")) {
      return false;
    }
    tensor.shape.push_back(extent);
    if (!Accept(",")) break;
  }
  if (!Expect("]", "the extents")) return false;
  if (AcceptWord("data") && !Data(tensor)) return false;
  tensors_.emplace(tensor.name, static_cast<int>(workload_.tensors.size()));
  tensor_positions_.push_back(position);
  workload_.tensors.push_back(std::move(tensor));
  return true;
}

// data uniform(low, high) | normal(mean, deviation) | index(low, high) | mask(density) |
// file("path"), each but mask with an optional ` density D`.
bool Parser::Data(Tensor& tensor) {
  const Token& kind = Next();
  DataSpec& data = tensor.data;
  data.kind = kind.text;
  if (kind.kind != TokenKind::kName || !Expect("(", "the kind of data"))
    return Fail(kind.position, "expected a kind of data: data normal(0, 1)");
  if (kind.text == "uniform" || kind.text == "normal" || kind.text == "index") {
    if (!ParseSigned(data.low, "a number") || !Expect(",", "the first number") ||
        !ParseSigned(data.high, "a number"))
      return false;
  } else if (kind.text == "mask") {
    if (!ParseSigned(data.density, "the density")) return false;
  } else if (kind.text == "file") {
    const Token& path = Next();
    if (path.kind != TokenKind::kName)
      return Fail(path.position, "expected the file's path in double quotes");
    data.file = path.text;
  } else {
    return Fail(kind.position, fmt::format("unknown kind of data '{}'; known are uniform, normal, "
                                           "index, mask, file",
                                           kind.text));
  }
  if (!Expect(")", "the kind of data")) return false;
  if (AcceptWord("density") && !ParseSigned(data.density, "the density")) return false;
  return true;
}

bool Parser::StageAxes() {
  while (!Peek().IsSymbol("]")) {
    const Token& token = Peek();
    AxisInfo axis;
    axis.position = token.position;
    if (token.kind != TokenKind::kName)
      return Fail(token.position,
                  fmt::format("expected the name of an axis, found {}; a dimension of extent 1 is "
                              "written u=1",
                              Shown(token)));
    const Token& after = Peek(1);
    if (after.IsSymbol("[") || after.IsSymbol("+") || after.IsSymbol("*") || after.IsSymbol("-"))
      return Fail(
          token.position,
          "stores at computed places (scatter) are not supported yet in this version; the left "
          "side names one axis per dimension",
          ErrorKind::kUnsupported);
    if (!DeclaredName(axis.name, "an axis")) return false;
    if (FindAxis(axis.name) >= 0)
      return Fail(axis.position, fmt::format("the axis '{}' appears twice", axis.name));
    const auto extent = extents_.find(axis.name);
    if (extent != extents_.end() && extent->second.symbol >= 0)
      return Fail(axis.position,
                  fmt::format("the axis '{}' has the name of a symbolic extent; rename "
                              "the axis, for example {}_",
                              axis.name, axis.name));
    if (Accept("=")) {
      Extent value;
      if (!ParseExtent(value, "an extent")) return false;
      axis.extent = value;
    }
    axes_.push_back(std::move(axis));
    if (!Accept(",")) break;
  }
  return Expect("]", "the axes");
}

bool Parser::StageStatement() {
  axes_.clear();
  bindings_.clear();
  reductions_.clear();
  reduction_tensors_.clear();
  positions_.clear();
  measures_.clear();
  alive_.clear();
  Tensor target;
  target.role = Role::kTemporary;
  const SourcePosition start = Peek().position;
  if (Peek().IsWord("output") && Peek(1).kind == TokenKind::kName) {
    Next();
    target.role = Role::kOutput;
  }
  const SourcePosition position = Peek().position;
  if (!DeclaredName(target.name, "a tensor")) return false;
  if (tensors_.contains(target.name))
    return Fail(position,
                fmt::format("the name '{}' is used twice; give each tensor its own", target.name));
  const bool typed = Accept(":");
  if (typed && !ParseType(target.type, "after ':'")) return false;
  if (!Expect("[", typed ? "the type" : "the tensor's name") || !StageAxes()) return false;
  if (Peek().IsSymbol("+="))
    return Fail(Peek().position, "'+=' (scatter) is not supported yet in this version; write '='",
                ErrorKind::kUnsupported);
  if (!Expect("=", "the axes")) return false;
  Value value = Expression();
  if (!value.expr) return false;
  return FinishStage(std::move(target), typed, std::move(value), start);
}

Result<Workload> ParseWorkload(std::string_view text, std::string_view file) {
  KINDRED_TRY(auto tokens, Tokenize(text, file));
  return Parser(std::move(tokens), file).Run();
}

}  // namespace kindred
