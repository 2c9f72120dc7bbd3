#include "schedules/internal/printer.h"

#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/functions.h"
#include "schedules/internal/lexer.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

std::string Quoted(std::string_view name) { return QuoteName(name, IsReserved(name)); }

// How tightly an expression binds, from the parser's levels.
enum Level {
  kLevelOr = 1,
  kLevelAnd,
  kLevelNot,
  kLevelCompare,
  kLevelSum,
  kLevelProduct,
  kLevelUnary,
  kLevelPrimary
};

std::string PrintNumber(double value, DataType type) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  std::string text = type == DataType::kF64 ? fmt::format("{}", value)
                                            : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class ExprPrinter {
 public:
  ExprPrinter(const Workload& workload, std::span<const Axis> axes)
      : workload_(workload), axes_(axes) {}

  // `type`: what the reader takes a constant here for.
  void Print(const Expr& e, int level, std::optional<DataType> type) {
    const int own = LevelOf(e, type);
    if (own < level) out_ += '(';
    PrintNode(e, type);
    if (own < level) out_ += ')';
  }

  std::string Take() { return std::move(out_); }

 private:
  static bool PlainConstant(const Expr& e, std::optional<DataType> type) {
    if (e.type == DataType::kBool) return true;
    return e.type == type.value_or(e.op == Op::kInt ? DataType::kI64 : DataType::kF32);
  }

  static bool Negative(const Expr& e) {
    return (e.op == Op::kInt && e.type != DataType::kBool && e.integer < 0) ||
           (e.op == Op::kFloat && std::signbit(e.number) && !std::isnan(e.number));
  }

  static int LevelOf(const Expr& e, std::optional<DataType> type) {
    switch (e.op) {
      case Op::kInt:
      case Op::kFloat: return Negative(e) && PlainConstant(e, type) ? kLevelUnary : kLevelPrimary;
      case Op::kAdd:
      case Op::kSub: return kLevelSum;
      case Op::kMul:
      case Op::kDiv:
      case Op::kMod: return kLevelProduct;
      case Op::kNeg: return kLevelUnary;
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kEqual:
      case Op::kNotEqual: return kLevelCompare;
      case Op::kNot: return kLevelNot;
      case Op::kAnd: return kLevelAnd;
      case Op::kOr: return kLevelOr;
      default: return kLevelPrimary;
    }
  }

  void PrintConstant(const Expr& e, std::optional<DataType> type) {
    if (e.op == Op::kInt && e.type == DataType::kBool) {
      out_ += e.integer != 0 ? "true" : "false";
      return;
    }
    const std::string text =
        e.op == Op::kInt ? std::to_string(e.integer) : PrintNumber(e.number, e.type);
    out_ += PlainConstant(e, type) ? text : fmt::format("{}({})", Name(e.type), text);
  }

  void PrintList(const std::vector<ExprPtr>& args, std::optional<DataType> type,
                 std::size_t from = 0) {
    for (std::size_t i = from; i < args.size(); ++i) {
      if (i > from) out_ += ", ";
      Print(*args[i], kLevelOr, type);
    }
  }

  void PrintInfix(const Expr& e, std::string_view word, int left, int right) {
    const Expr& a = *e.args[0];
    const Expr& b = *e.args[1];
    Print(a, left, IsConstant(b) ? std::nullopt : std::optional(a.type));
    if (compact_ || word[0] == ' ')
      out_ += word;
    else
      out_ += fmt::format(" {} ", word);
    Print(b, right, IsConstant(a) ? std::nullopt : std::optional(b.type));
  }

  void PrintSum(const Expr& e) {
    const Expr& b = *e.args[1];
    const bool subtract = e.op == Op::kAdd && b.op == Op::kInt && b.integer < 0 &&
                          b.integer != INT64_MIN && !IsConstant(*e.args[0]);
    if (!subtract) return PrintInfix(e, e.op == Op::kAdd ? "+" : "-", kLevelSum, kLevelProduct);
    Print(*e.args[0], kLevelSum, e.args[0]->type);
    out_ += fmt::format("{}{}", compact_ ? "-" : " - ", -b.integer);
  }

  void PrintNode(const Expr& e, std::optional<DataType> type) {
    switch (e.op) {
      case Op::kInt:
      case Op::kFloat: return PrintConstant(e, type);
      case Op::kVar:
        out_ += static_cast<std::size_t>(e.index) < axes_.size()
                    ? Quoted(axes_[static_cast<std::size_t>(e.index)].name)
                    : fmt::format("\"axis {}\"", e.index);
        return;
      case Op::kExtent:
        out_ += static_cast<std::size_t>(e.index) < workload_.symbols.size()
                    ? Quoted(workload_.symbols[static_cast<std::size_t>(e.index)].name)
                    : fmt::format("\"extent {}\"", e.index);
        return;
      case Op::kLoad: return PrintLoad(e);
      case Op::kPadded:
        out_ += "padded(";
        Print(*e.args[0], kLevelOr, std::nullopt);
        out_ += ", ";
        Print(*e.args[1], kLevelOr, e.type);
        out_ += ')';
        return;
      case Op::kAdd:
      case Op::kSub: return PrintSum(e);
      case Op::kMul:
        if (e.args[1]->op == Op::kInt && !IsConstant(*e.args[0])) {  // 2*y, as people write it
          Print(*e.args[1], kLevelProduct, e.type);
          out_ += compact_ ? "*" : " * ";
          return Print(*e.args[0], kLevelUnary, e.type);
        }
        return PrintInfix(e, "*", kLevelProduct, kLevelUnary);
      case Op::kDiv: return PrintInfix(e, "/", kLevelProduct, kLevelUnary);
      case Op::kMod: return PrintInfix(e, "%", kLevelProduct, kLevelUnary);
      case Op::kLess: return PrintInfix(e, "<", kLevelSum, kLevelSum);
      case Op::kLessEqual: return PrintInfix(e, "<=", kLevelSum, kLevelSum);
      case Op::kEqual: return PrintInfix(e, "==", kLevelSum, kLevelSum);
      case Op::kNotEqual: return PrintInfix(e, "!=", kLevelSum, kLevelSum);
      case Op::kAnd: return PrintInfix(e, " and ", kLevelAnd, kLevelNot);
      case Op::kOr: return PrintInfix(e, " or ", kLevelOr, kLevelAnd);
      case Op::kNot: out_ += "not "; return Print(*e.args[0], kLevelNot, std::nullopt);
      case Op::kNeg: out_ += '-'; return Print(*e.args[0], kLevelUnary, std::nullopt);
      case Op::kSelect: {
        out_ += "select(";
        Print(*e.args[0], kLevelOr, std::nullopt);
        out_ += ", ";
        const bool typed = !IsConstant(*e.args[1]) || !IsConstant(*e.args[2]);
        PrintList(e.args, typed ? std::optional(e.type) : std::nullopt, 1);
        out_ += ')';
        return;
      }
      case Op::kCast:
        out_ += Name(e.type);
        out_ += '(';
        Print(*e.args[0], kLevelOr, std::nullopt);
        out_ += ')';
        return;
      default: break;
    }
    out_ += Name(e.op);
    out_ += '(';
    const bool constants = e.args.size() == 2 && IsConstant(*e.args[0]) && IsConstant(*e.args[1]);
    const bool open = (constants || e.args.size() < 2) && e.op != Op::kComplex;
    PrintList(e.args, open ? std::nullopt : std::optional(e.args[0]->type));
    out_ += ')';
  }

  void PrintLoad(const Expr& e) {
    const bool known = e.index >= 0 && static_cast<std::size_t>(e.index) < workload_.tensors.size();
    out_ += known ? Quoted(workload_.tensors[static_cast<std::size_t>(e.index)].name)
                  : fmt::format("\"tensor {}\"", e.index);
    out_ += '[';
    const bool before = std::exchange(compact_, true);
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      if (i > 0) out_ += ',';
      // The reader casts integer indices to i64 by itself.
      const Expr* index = e.args[i].get();
      if (index->op == Op::kCast && index->type == DataType::kI64 &&
          IsInteger(index->args[0]->type))
        index = index->args[0].get();
      Print(*index, kLevelOr, DataType::kI64);
    }
    compact_ = before;
    out_ += ']';
  }

  const Workload& workload_;
  std::span<const Axis> axes_;
  std::string out_;
  bool compact_ = false;  // inside an index: no spaces around operators
};

// The extents that the parser would infer from the plain indices of a body.
class ExtentInference {
 public:
  ExtentInference(const Workload& workload, const Stage& stage)
      : workload_(workload), plain_(stage.axes.size()), padded_(stage.axes.size()) {
    Walk(*stage.body, false);
  }

  bool Follows(std::size_t axis, const Extent& extent) const {
    const Seen& seen = plain_[axis].any ? plain_[axis] : padded_[axis];
    return seen.any && !seen.conflict && seen.extent == extent;
  }

 private:
  struct Seen {
    bool any = false, conflict = false;
    Extent extent;
  };

  void Walk(const Expr& e, bool padded) {
    if (e.op == Op::kLoad) {
      const Tensor& t = workload_.tensors[static_cast<std::size_t>(e.index)];
      for (std::size_t d = 0; d < e.args.size(); ++d) {
        if (e.args[d]->op != Op::kVar) continue;
        Seen& seen = (padded ? padded_ : plain_)[static_cast<std::size_t>(e.args[d]->index)];
        seen.conflict |= seen.any && seen.extent != t.shape[d];
        seen.any = true;
        seen.extent = t.shape[d];
      }
    }
    for (std::size_t i = 0; i < e.args.size(); ++i) Walk(*e.args[i], e.op == Op::kPadded && i == 0);
  }

  const Workload& workload_;
  std::vector<Seen> plain_, padded_;
};

std::string PrintData(const DataSpec& data) {
  if (data.kind.empty()) return "";
  std::string text = " data " + data.kind;
  if (data.kind == "mask") return text + fmt::format("({})", data.density);
  if (data.kind == "file")
    text += fmt::format("({})", QuoteText(data.file));
  else
    text += fmt::format("({}, {})", data.low, data.high);
  if (data.density != 1) text += fmt::format(" density {}", data.density);
  return text;
}

}  // namespace

std::string_view Name(Combiner combiner) {
  switch (combiner) {
    case Combiner::kNone: break;
    case Combiner::kSum: return "sum";
    case Combiner::kMax: return "max";
    case Combiner::kMin: return "min";
    case Combiner::kProd: return "prod";
    case Combiner::kArgMax: return "argmax";
    case Combiner::kArgMin: return "argmin";
  }
  return "none";
}

std::string PrintExtent(const Workload& workload, const Extent& extent) {
  if (extent.symbol < 0) return std::to_string(extent.value);
  return Quoted(workload.symbols[static_cast<std::size_t>(extent.symbol)].name);
}

std::string PrintBody(const Workload& workload, const Stage& stage) {
  ExprPrinter printer(workload, stage.axes);
  // A constant alone is taken for the tensor's type, but not under a reduction.
  printer.Print(*stage.body, kLevelOr,
                stage.combiner == Combiner::kNone
                    ? std::optional(workload.tensors[static_cast<std::size_t>(stage.tensor)].type)
                    : std::nullopt);
  return printer.Take();
}

std::string PrintStage(const Workload& workload, const Stage& stage) {
  const Tensor& tensor = workload.tensors[static_cast<std::size_t>(stage.tensor)];
  const ExtentInference inference(workload, stage);
  const auto axes = [&](std::size_t from, std::size_t to) {
    std::string text;
    for (std::size_t a = from; a < to; ++a) {
      if (a > from) text += ',';
      text += Quoted(stage.axes[a].name);
      if (!inference.Follows(a, stage.axes[a].extent))
        text += '=' + PrintExtent(workload, stage.axes[a].extent);
    }
    return text;
  };
  const DataType body = stage.body->type;
  const bool arg = stage.combiner == Combiner::kArgMax || stage.combiner == Combiner::kArgMin;
  const bool sums = stage.combiner == Combiner::kSum || stage.combiner == Combiner::kProd;
  const bool accumulates =
      stage.combiner != Combiner::kNone && stage.accumulator != DefaultAccumulator(body);
  DataType natural = body;
  if (IsConstant(*stage.body) && body != DataType::kBool)
    natural = stage.body->op == Op::kFloat ? DataType::kF32 : DataType::kI64;
  if (arg)
    natural = DataType::kI64;
  else if (sums || accumulates)
    natural = stage.accumulator;
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  std::string text = tensor.role == Role::kOutput ? "output " : "";
  text += Quoted(tensor.name);
  if (tensor.type != natural) text += fmt::format(": {}", Name(tensor.type));
  text += fmt::format("[{}] = ", axes(0, spatial));
  if (stage.combiner == Combiner::kNone) return text + PrintBody(workload, stage);
  text += Name(stage.combiner);
  if (accumulates) text += fmt::format("<{}>", Name(stage.accumulator));
  return text +
         fmt::format("[{}]({})", axes(spatial, stage.axes.size()), PrintBody(workload, stage));
}

std::string PrintWorkload(const Workload& workload) {
  std::string text;
  if (!workload.name.empty()) text += fmt::format("workload {}\n", QuoteText(workload.name));
  for (const Symbol& symbol : workload.symbols) {
    text += fmt::format("symbol {} in {}..{}", Quoted(symbol.name), symbol.low, symbol.high);
    for (std::size_t i = 0; i < symbol.likely.size(); ++i)
      text += fmt::format("{} {}", i == 0 ? ", likely" : "", symbol.likely[i]);
    text += '\n';
  }
  const NumericContract& contract = workload.contract;
  std::string allowed;
  const auto allow = [&allowed](bool flag, std::string_view word) {
    if (flag) allowed += fmt::format("{} {}", allowed.empty() ? "allow" : ",", word);
  };
  allow(contract.tf32, "tf32");
  allow(contract.winograd, "winograd");
  allow(contract.atomics, "atomics");
  allow(contract.fast_math, "fast_math");
  if (!allowed.empty()) text += allowed + '\n';
  for (const Tensor& tensor : workload.tensors) {
    if (tensor.role != Role::kInput && tensor.role != Role::kWeight) continue;
    text += fmt::format("{} {}: {}[", tensor.role == Role::kInput ? "input" : "weight",
                        Quoted(tensor.name), Name(tensor.type));
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      if (d > 0) text += ',';
      text += PrintExtent(workload, tensor.shape[d]);
    }
    text += fmt::format("]{}\n", PrintData(tensor.data));
  }
  for (const Stage& stage : workload.stages) text += PrintStage(workload, stage) + '\n';
  return text;
}

}  // namespace kindred
