// The expression half of the parser (internal/parser.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "schedules/functions.h"
#include "schedules/internal/parser.h"

namespace kindred {
namespace {

constexpr int kMaxNesting = 150;            // of brackets and prefix operators in the text
constexpr int kMaxDepth = 400;              // of an expression tree
constexpr std::int64_t kMaxSize = 100'000;  // nodes of an expression, written out as a tree

std::optional<Combiner> CombinerNamed(std::string_view name) {
  if (name == "sum") return Combiner::kSum;
  if (name == "prod") return Combiner::kProd;
  if (name == "max") return Combiner::kMax;
  if (name == "min") return Combiner::kMin;
  if (name == "argmax") return Combiner::kArgMax;
  if (name == "argmin") return Combiner::kArgMin;
  return std::nullopt;
}

// Whether a constant expression has a value that is a number.
bool HasValue(const Expr& e) { return IsConstant(e) && !std::isnan(e.number); }

// The type that a constant has where nothing stands beside it.
ExprPtr SettleLiteral(const ExprPtr& e) {
  return e->op == Op::kFloat ? FloatExpr(e->number, DataType::kF32) : e;
}

}  // namespace

int Parser::FindAxis(std::string_view name) const {
  for (std::size_t i = axes_.size(); i-- > 0;)
    if (axes_[i].visible && axes_[i].name == name) return static_cast<int>(i);
  return -1;
}

Parser::Measure Parser::MeasureOf(const ExprPtr& e, SourcePosition position) {
  const auto known = measures_.find(e.get());
  if (known != measures_.end()) return known->second;
  Measure measure;
  for (const ExprPtr& arg : e->args) {
    const Measure of_arg = MeasureOf(arg, position);
    measure.depth = std::max(measure.depth, of_arg.depth + 1);
    measure.size = std::min(measure.size + of_arg.size, 2 * kMaxSize);
  }
  measures_.emplace(e.get(), measure);
  positions_.try_emplace(e.get(), position);
  alive_.push_back(e);
  return measure;
}

Parser::Value Parser::Finish(ExprPtr e, bool literal, SourcePosition position) {
  const Measure measure = MeasureOf(e, position);
  if (measure.depth > kMaxDepth || measure.size > kMaxSize)
    return FailValue(position, "the expression is too large; split it into several stages",
                     ErrorKind::kUnsupported);
  literal = literal && IsConstant(*e);
  return {std::move(e), literal};
}

Parser::Value Parser::Binary(Op op, const Token& where, Value a, Value b) {
  if (!a.expr || !b.expr) return {};
  if ((op == Op::kDiv || op == Op::kMod) && IsInt(*b.expr, 0))
    if (op == Op::kMod || !IsFloat(a.expr->type))
      return FailValue(where.position, "division by zero");
  const auto types = [&] {
    return fmt::format("{} and {}", Name(a.expr->type), Name(b.expr->type));
  };
  if (op == Op::kAnd || op == Op::kOr) {
    if (a.expr->type != DataType::kBool || b.expr->type != DataType::kBool)
      return FailValue(where.position, fmt::format("'{}' joins conditions, not {}; compare first",
                                                   where.text, types()));
  }
  ExprPtr e = BinaryExpr(op, a.expr, b.expr);
  if (e->op == op && e->args.size() == 2 && e->args[0]->type != e->args[1]->type) {
    const DataType target = IsInteger(a.expr->type) ? b.expr->type : a.expr->type;
    return FailValue(where.position,
                     fmt::format("'{}' mixes {}; cast one of them, for example {}(...)", where.text,
                                 types(), Name(target)));
  }
  if (op > Op::kDiv && e->args.size() == 2 && e->args[0]->type == DataType::kC64)
    return FailValue(where.position,
                     fmt::format("'{}' of complex numbers; compare their real(...), imag(...) or "
                                 "abs(...)",
                                 where.text));
  if (op == Op::kMod && !IsInteger(e->type))
    return FailValue(where.position, fmt::format("'%' takes integers, not {}", types()));
  if (a.literal && b.literal && !HasValue(*e))
    return FailValue(where.position, "this constant expression has no value");
  return Finish(std::move(e), a.literal && b.literal, where.position);
}

Parser::Value Parser::Expression() {
  if (depth_ >= kMaxNesting)
    return FailValue(Peek().position, "too deeply nested; split the expression into several stages",
                     ErrorKind::kUnsupported);
  ++depth_;
  Value value = OrExpression();
  --depth_;
  return value;
}

Parser::Value Parser::OrExpression() {
  Value value = AndExpression();
  while (value.expr && Peek().IsWord("or")) {
    const Token& where = Next();
    value = Binary(Op::kOr, where, std::move(value), AndExpression());
  }
  return value;
}

Parser::Value Parser::AndExpression() {
  Value value = NotExpression();
  while (value.expr && Peek().IsWord("and")) {
    const Token& where = Next();
    value = Binary(Op::kAnd, where, std::move(value), NotExpression());
  }
  return value;
}

Parser::Value Parser::NotExpression() {
  if (!Peek().IsWord("not")) return Comparison();
  const Token& where = Next();
  if (depth_ >= kMaxNesting)
    return FailValue(where.position, "too deeply nested", ErrorKind::kUnsupported);
  ++depth_;
  Value value = NotExpression();
  --depth_;
  if (!value.expr) return {};
  if (value.expr->type != DataType::kBool)
    return FailValue(where.position,
                     fmt::format("'not' takes a condition, not {}", Name(value.expr->type)));
  return Finish(UnaryExpr(Op::kNot, value.expr), false, where.position);
}

Parser::Value Parser::Comparison() {
  const auto comparison = [this] {
    const Token& t = Peek();
    return t.IsSymbol("<") || t.IsSymbol("<=") || t.IsSymbol(">") || t.IsSymbol(">=") ||
           t.IsSymbol("==") || t.IsSymbol("!=");
  };
  Value left = Sum();
  if (!left.expr || !comparison()) return left;
  const Token& where = Next();
  Value right = Sum();
  if (!right.expr) return {};
  if (comparison())
    return FailValue(Peek().position, "comparisons do not chain; write a <= b and b < c");
  if (where.text[0] == '>') std::swap(left, right);
  const Op op = where.text == "=="       ? Op::kEqual
                : where.text == "!="     ? Op::kNotEqual
                : where.text.size() == 2 ? Op::kLessEqual
                                         : Op::kLess;
  return Binary(op, where, std::move(left), std::move(right));
}

Parser::Value Parser::Sum() {
  Value value = Product();
  while (value.expr && (Peek().IsSymbol("+") || Peek().IsSymbol("-"))) {
    const Token& where = Next();
    value = Binary(where.text == "+" ? Op::kAdd : Op::kSub, where, std::move(value), Product());
  }
  return value;
}

Parser::Value Parser::Product() {
  Value value = Unary();
  while (value.expr && (Peek().IsSymbol("*") || Peek().IsSymbol("/") || Peek().IsSymbol("%"))) {
    const Token& where = Next();
    const Op op = where.text == "*" ? Op::kMul : where.text == "/" ? Op::kDiv : Op::kMod;
    value = Binary(op, where, std::move(value), Unary());
  }
  if (value.expr && Peek().IsSymbol("**"))
    return FailValue(Peek().position, "there is no operator '**'; write pow(a, b)");
  return value;
}

Parser::Value Parser::Unary() {
  if (!Peek().IsSymbol("-")) return Primary();
  const Token& where = Next();
  if (Peek().kind == TokenKind::kInteger && Peek().integer == std::uint64_t{1} << 63) {
    Next();
    return Finish(IntExpr(std::numeric_limits<std::int64_t>::min()), true, where.position);
  }
  if (depth_ >= kMaxNesting)
    return FailValue(where.position, "too deeply nested", ErrorKind::kUnsupported);
  ++depth_;
  const Value value = Unary();
  --depth_;
  if (!value.expr) return {};
  return Finish(UnaryExpr(Op::kNeg, value.expr), value.literal, where.position);
}

Parser::Value Parser::Primary() {
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::kInteger:
      if (token.integer > std::uint64_t{INT64_MAX})
        return FailValue(token.position, "this integer does not fit 64 bits");
      Next();
      return Finish(IntExpr(static_cast<std::int64_t>(token.integer)), true, token.position);
    case TokenKind::kNumber:
      Next();
      return Finish(FloatExpr(token.number, DataType::kF64), true, token.position);
    case TokenKind::kName: return NamedPrimary();
    default: break;
  }
  if (!Accept("("))
    return FailValue(token.position, fmt::format("expected a value, found {}", Shown(token)));
  Value value = Expression();
  if (value.expr && !Expect(")", "the expression")) return {};
  return value;
}

Parser::Value Parser::NamedPrimary() {
  const Token& name = Next();
  const bool bracket = Peek().IsSymbol("[");
  if (!name.quoted) {
    if (name.text == "inf")
      return Finish(FloatExpr(std::numeric_limits<double>::infinity(), DataType::kF64), true,
                    name.position);
    if (name.text == "nan")
      return Finish(FloatExpr(std::numeric_limits<double>::quiet_NaN(), DataType::kF64), true,
                    name.position);
    if (name.text == "true" || name.text == "false")
      return Finish(IntExpr(name.text == "true", DataType::kBool), false, name.position);
    if (name.text == "select") return Select(name);
    if (name.text == "padded") return Padded(name);
    if (name.text == "scan" || name.text == "cumsum")
      return FailValue(name.position, "prefix scans are not supported yet in this version",
                       ErrorKind::kUnsupported);
    if (const auto type = ParseDataType(name.text)) return Cast(name, *type);
    const auto combiner = CombinerNamed(name.text);
    if (combiner && (bracket || Peek().IsSymbol("<"))) return Reduce(name, *combiner);
    if (combiner && *combiner != Combiner::kMax && *combiner != Combiner::kMin)
      return FailValue(
          name.position,
          fmt::format("a reduction names its axes in brackets: {}[k](...)", name.text));
    if (Peek().IsSymbol("(")) return Call(name);
    if (IsReserved(name.text))
      return FailValue(name.position,
                       fmt::format("expected a value, found the word '{}'", name.text));
  }
  const auto tensor = tensors_.find(name.text);
  if (bracket) {
    if (tensor == tensors_.end())
      return FailValue(
          name.position,
          fmt::format("unknown tensor '{}'; declare it (input {}: f32[...]) or compute it "
                      "in an earlier line",
                      name.text, name.text));
    return Load(name, tensor->second);
  }
  if (const int axis = FindAxis(name.text); axis >= 0)
    return Finish(VarExpr(axis), false, name.position);
  const auto extent = extents_.find(name.text);
  if (extent != extents_.end()) {
    if (extent->second.symbol >= 0)
      return Finish(ExtentExpr(extent->second.symbol), false, name.position);
    return Finish(IntExpr(extent->second.value), true, name.position);
  }
  if (tensor != tensors_.end())
    return FailValue(
        name.position,
        fmt::format("'{}' is a tensor; read an element: {}[{}]", name.text, name.text,
                    workload_.tensors[static_cast<std::size_t>(tensor->second)].shape.empty()
                        ? ""
                        : "..."));
  for (const AxisInfo& axis : axes_)
    if (axis.name == name.text)
      return FailValue(name.position,
                       fmt::format("the axis '{}' is known only inside its reduction", name.text));
  return FailValue(name.position,
                   fmt::format("unknown name '{}'; axes stand on the left side or in a reduction's "
                               "brackets",
                               name.text));
}

bool Parser::Arguments(std::vector<Value>& arguments) {
  if (!Expect("(", "the function's name")) return false;
  while (!Peek().IsSymbol(")")) {
    arguments.push_back(Expression());
    if (!arguments.back().expr) return false;
    if (!Accept(",")) break;
  }
  return Expect(")", "the arguments");
}

Parser::Value Parser::Load(const Token& name, int tensor) {
  const Tensor& t = workload_.tensors[static_cast<std::size_t>(tensor)];
  Next();  // [
  std::vector<ExprPtr> indices;
  std::vector<Binding> own;
  while (!Peek().IsSymbol("]")) {
    const SourcePosition where = Peek().position;
    const Value index = Expression();
    if (!index.expr) return {};
    if (!IsInteger(index.expr->type))
      return FailValue(where, fmt::format("an index must be an integer, not {}; cast it: i64(...)",
                                          Name(index.expr->type)));
    if (index.expr->op == Op::kVar)
      own.push_back({index.expr->index, tensor, static_cast<int>(indices.size()), false, where});
    indices.push_back(CastExpr(DataType::kI64, index.expr));
    if (!Accept(",")) break;
  }
  if (!Expect("]", "the indices")) return {};
  if (indices.size() != t.shape.size())
    return FailValue(name.position,
                     fmt::format("'{}' has {} dimensions but is read with {} indices", t.name,
                                 t.shape.size(), indices.size()));
  bindings_.insert(bindings_.end(), own.begin(), own.end());
  return Finish(LoadExpr(tensor, std::move(indices), t.type), false, name.position);
}

Parser::Value Parser::Padded(const Token& name) {
  if (!Expect("(", "padded")) return {};
  const SourcePosition where = Peek().position;
  const Value load = Expression();
  if (!load.expr) return {};
  if (load.expr->op != Op::kLoad || load.expr->index < 0)
    return FailValue(where, "padded takes a read of a tensor first: padded(X[i-1], 0)");
  // The bindings of the read itself are the last ones.
  std::size_t own = 0;
  for (const ExprPtr& index : load.expr->args) own += index->op == Op::kVar ? 1 : 0;
  for (std::size_t i = bindings_.size() - own; i < bindings_.size(); ++i)
    bindings_[i].padded = true;
  if (!Expect(",", "the read of a tensor")) return {};
  const SourcePosition value_position = Peek().position;
  const Value value = Expression();
  if (!value.expr || !Expect(")", "the padding value")) return {};
  if (load.expr->type == DataType::kF8E4M3 && value.literal && std::isinf(value.expr->number))
    return FailValue(value_position, "f8e4m3 has no infinity; pad with -448 or 448");
  ExprPtr e = PaddedExpr(load.expr, value.expr);
  if (e->args[0]->type != e->args[1]->type)
    return FailValue(value_position,
                     fmt::format("the padding value is {}, the tensor {}; cast it: {}(...)",
                                 Name(e->args[1]->type), Name(e->type), Name(e->type)));
  return Finish(std::move(e), false, name.position);
}

Parser::Value Parser::Select(const Token& name) {
  std::vector<Value> arguments;
  if (!Arguments(arguments)) return {};
  if (arguments.size() != 3)
    return FailValue(name.position,
                     "select takes three arguments: select(condition, value, otherwise)");
  if (arguments[0].expr->type != DataType::kBool)
    return FailValue(name.position,
                     fmt::format("the first argument of select must be a condition, not "
                                 "{}; compare it",
                                 Name(arguments[0].expr->type)));
  ExprPtr a = arguments[1].expr;
  ExprPtr b = arguments[2].expr;
  if (arguments[1].literal && arguments[2].literal) {
    if (a->op != b->op) {
      a = CastExpr(DataType::kF32, a);
      b = CastExpr(DataType::kF32, b);
    }
    a = SettleLiteral(a);
    b = SettleLiteral(b);
  }
  ExprPtr e = SelectExpr(arguments[0].expr, std::move(a), std::move(b));
  if (e->op == Op::kSelect && e->args[1]->type != e->args[2]->type)
    return FailValue(name.position,
                     fmt::format("select chooses between {} and {}; cast one of them",
                                 Name(e->args[1]->type), Name(e->args[2]->type)));
  return Finish(std::move(e), false, name.position);
}

Parser::Value Parser::Cast(const Token& name, DataType type) {
  std::vector<Value> arguments;
  if (!Arguments(arguments)) return {};
  if (arguments.size() != 1)
    return FailValue(name.position, fmt::format("a cast takes one argument: {}(x)", name.text));
  return Finish(CastExpr(type, arguments[0].expr), false, name.position);
}

Parser::Value Parser::Call(const Token& name) {
  const FunctionInfo* function = FindFunction(name.text);
  if (!function)
    return FailValue(name.position,
                     fmt::format("unknown function '{}'; known are {}, select, padded, "
                                 "the types as casts (f32(x)), and the reductions sum "
                                 "max min prod argmax argmin with axes in brackets",
                                 name.text, KnownFunctions()));
  std::vector<Value> arguments;
  if (!Arguments(arguments)) return {};
  const int count = static_cast<int>(arguments.size());
  if (count == 1 && (name.text == "max" || name.text == "min"))
    return FailValue(name.position,
                     fmt::format("{} of one value; a reduction names its axes: {}[k](...)",
                                 name.text, name.text));
  if (count < function->least || count > function->most)
    return FailValue(
        name.position,
        fmt::format("{} takes {}{} arguments, not {}", name.text, function->least,
                    function->most > function->least ? fmt::format(" to {}", function->most) : "",
                    count));
  bool literal = true;
  std::vector<ExprPtr> expressions;
  for (Value& argument : arguments) {
    literal &= argument.literal;
    ExprPtr e = argument.expr;
    const bool floats = function->takes == FunctionInfo::Takes::kFloats;
    if (argument.literal && floats) e = CastExpr(DataType::kF64, e);
    if (floats && !IsFloat(e->type))
      return FailValue(
          name.position,
          fmt::format("{} takes floats, not {}; {}", name.text, Name(e->type),
                      e->type == DataType::kC64 ? "take its real(...), imag(...) or abs(...)"
                                                : "cast its argument: f32(...)"));
    if (function->takes == FunctionInfo::Takes::kComplex && e->type != DataType::kC64)
      return FailValue(name.position, fmt::format("{} takes complex numbers (c64), not {}",
                                                  name.text, Name(e->type)));
    expressions.push_back(std::move(e));
  }
  if (name.text == "complex") {
    literal = false;
    for (ExprPtr& part : expressions)
      if (IsConstant(*part)) part = CastExpr(DataType::kF32, part);
  }
  ExprPtr e = ApplyFunction(*function, expressions);
  if (e->op == Op::kComplex &&
      (e->args[0]->type != DataType::kF32 || e->args[1]->type != DataType::kF32))
    return FailValue(name.position, fmt::format("complex takes f32, not {}; cast: f32(...)",
                                                Name(e->args[0]->type)));
  if (literal && !HasValue(*e))
    return FailValue(name.position, "this constant expression has no value");
  return Finish(std::move(e), literal, name.position);
}

bool Parser::ReductionAxes(Reduction& reduction) {
  while (!Peek().IsSymbol("]")) {
    AxisInfo axis;
    axis.reduction = true;
    axis.position = Peek().position;
    if (!DeclaredName(axis.name, "a reduction axis")) return false;
    if (FindAxis(axis.name) >= 0)
      return Fail(axis.position,
                  fmt::format("'{}' is already an axis here; choose another name", axis.name));
    const auto extent = extents_.find(axis.name);
    if (extent != extents_.end() && extent->second.symbol >= 0)
      return Fail(axis.position,
                  fmt::format("the axis '{}' has the name of a symbolic extent; rename "
                              "the axis",
                              axis.name));
    if (Peek().IsWord("in"))
      return Fail(
          Peek().position,
          "ragged and triangular ranges ('p in a..b') are not supported yet in this version; "
          "a reduction axis has a fixed extent",
          ErrorKind::kUnsupported);
    if (Accept("=")) {
      Extent value;
      if (!ParseExtent(value, "an extent")) return false;
      axis.extent = value;
    }
    reduction.axes.push_back(static_cast<int>(axes_.size()));
    axes_.push_back(std::move(axis));
    if (!Accept(",")) break;
  }
  return Expect("]", "the reduction axes");
}

Parser::Value Parser::Reduce(const Token& name, Combiner combiner) {
  Reduction reduction;
  reduction.combiner = combiner;
  if (Accept("<")) {
    DataType type = DataType::kF32;
    if (!ParseType(type, "of the accumulator") || !Expect(">", "the accumulator's type")) return {};
    reduction.accumulator = type;
  }
  if (!Expect("[", "the reduction's name") || !ReductionAxes(reduction)) return {};
  const bool arg = combiner == Combiner::kArgMax || combiner == Combiner::kArgMin;
  if (reduction.axes.empty())
    return FailValue(name.position,
                     fmt::format("{} without axes; name them: {}[k](...)", name.text, name.text));
  if (arg && reduction.axes.size() != 1)
    return FailValue(name.position, fmt::format("{} reduces exactly one axis", name.text));
  if (!Expect("(", "the reduction axes")) return {};
  const Value body = Expression();
  if (!body.expr || !Expect(")", "the reduction's body")) return {};
  for (const int axis : reduction.axes) axes_[static_cast<std::size_t>(axis)].visible = false;
  reduction.body = body.literal ? SettleLiteral(body.expr) : body.expr;
  MeasureOf(reduction.body, name.position);
  std::vector<bool> used(axes_.size());
  Visit(*reduction.body, [&used](const Expr& e) {
    if (e.op == Op::kVar) used[static_cast<std::size_t>(e.index)] = true;
  });
  for (const int axis : reduction.axes) used[static_cast<std::size_t>(axis)] = false;
  std::vector<ExprPtr> indices;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    reduction.free.push_back(static_cast<int>(i));
    indices.push_back(VarExpr(static_cast<int>(i)));
  }
  const DataType body_type = reduction.body->type;
  if (body_type == DataType::kC64 && combiner != Combiner::kSum)
    return FailValue(name.position,
                     fmt::format("{} of complex numbers; only sum reduces them", name.text));
  const DataType accumulator = reduction.accumulator.value_or(DefaultAccumulator(body_type));
  const bool sums = combiner == Combiner::kSum || combiner == Combiner::kProd;
  reduction.type = arg ? DataType::kI64 : sums || reduction.accumulator ? accumulator : body_type;
  const int placeholder = kFirstReduction - static_cast<int>(reductions_.size());
  ExprPtr e = LoadExpr(placeholder, std::move(indices), reduction.type);
  reductions_.push_back(std::move(reduction));
  return Finish(std::move(e), false, name.position);
}

}  // namespace kindred
