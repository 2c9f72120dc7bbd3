#include "schedules/internal/check_workload.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/internal/int128.h"
#include "schedules/internal/interval.h"

namespace kindred {
namespace {

constexpr int kMaxDepth = 1000;              // of an expression, so that recursion is safe
constexpr std::int64_t kMaxNodes = 1 << 20;  // of one body, written out as a tree
constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;
constexpr std::size_t kMaxSymbols = 6;

bool IsMath(Op op) { return op >= Op::kExp && op <= Op::kRound; }
bool IsComparison(Op op) { return op >= Op::kLess && op <= Op::kNotEqual; }

class Checker {
 public:
  explicit Checker(const Workload& workload) : workload_(workload) {}

  std::optional<WorkloadFailure> Run() {
    if (CheckSymbols() && CheckTensors() && CheckStages()) CheckOutputs();
    return std::move(failure_);
  }

 private:
  bool Fail(ErrorKind kind, std::string message, const Expr* at = nullptr) {
    if (!failure_) {
      std::string where;
      if (stage_ >= 0) {
        const int id = workload_.stages[static_cast<std::size_t>(stage_)].tensor;
        where =
            id >= 0 && static_cast<std::size_t>(id) < workload_.tensors.size()
                ? fmt::format("stage {}: ", workload_.tensors[static_cast<std::size_t>(id)].name)
                : fmt::format("stage {}: ", stage_);
      }
      failure_ = WorkloadFailure{Error{kind, where + message}, tensor_, stage_, at};
    }
    return false;
  }
  bool Bad(std::string message, const Expr* at = nullptr) {
    return Fail(ErrorKind::kBadInput, std::move(message), at);
  }

  const Tensor& tensor(int id) const { return workload_.tensors[static_cast<std::size_t>(id)]; }

  bool CheckSymbols() {
    if (workload_.symbols.size() > kMaxSymbols)
      return Fail(ErrorKind::kUnsupported,
                  fmt::format("{} symbolic extents; at most {} are supported",
                              workload_.symbols.size(), kMaxSymbols));
    for (const Symbol& symbol : workload_.symbols) {
      if (symbol.name.empty()) return Bad("a symbolic extent has no name");
      if (!names_.insert(symbol.name).second)
        return Bad(fmt::format("the symbolic extent {} is declared twice", symbol.name));
      if (symbol.low < 1 || symbol.high < symbol.low)
        return Bad(
            fmt::format("the symbolic extent {} has the range {}..{}; it must start at 1 or "
                        "more and not end before its start",
                        symbol.name, symbol.low, symbol.high));
      for (const std::int64_t value : symbol.likely)
        if (value < symbol.low || value > symbol.high)
          return Bad(fmt::format("the likely value {} of the symbolic extent {} is outside {}..{}",
                                 value, symbol.name, symbol.low, symbol.high));
    }
    return true;
  }

  bool CheckExtent(const Extent& extent, const std::string& what) {
    if (extent.symbol >= static_cast<int>(workload_.symbols.size()))
      return Bad(
          fmt::format("{} names symbolic extent {}, which does not exist", what, extent.symbol));
    if (extent.value < 1)
      return Bad(fmt::format("{} is {}; extents are 1 or more", what, extent.value));
    if (extent.symbol >= 0) {
      const Symbol& symbol = workload_.symbols[static_cast<std::size_t>(extent.symbol)];
      const std::int64_t value = symbol.likely.empty() ? symbol.high : symbol.likely.front();
      if (extent.value != value)
        return Bad(
            fmt::format("{} carries the value {} for the symbolic extent {}; it must be {}, its "
                        "first likely value or upper bound",
                        what, extent.value, symbol.name, value));
    }
    return true;
  }

  std::int64_t Largest(const Extent& extent) const {
    return extent.symbol < 0 ? extent.value
                             : workload_.symbols[static_cast<std::size_t>(extent.symbol)].high;
  }

  bool CheckTensors() {
    for (std::size_t i = 0; i < workload_.tensors.size(); ++i) {
      tensor_ = static_cast<int>(i);
      const Tensor& t = workload_.tensors[i];
      if (t.name.empty()) return Bad(fmt::format("tensor {} has no name", i));
      if (!names_.insert(t.name).second)
        return Bad(fmt::format("the name {} is used twice; give each tensor its own", t.name));
      if (t.shape.size() > 16)
        return Fail(
            ErrorKind::kUnsupported,
            fmt::format("{} has {} dimensions; at most 16 are supported", t.name, t.shape.size()));
      Int128 bytes = ByteSize(t.type);
      for (std::size_t d = 0; d < t.shape.size(); ++d) {
        if (!CheckExtent(t.shape[d], fmt::format("dimension {} of {}", d, t.name))) return false;
        bytes *= Largest(t.shape[d]);
        if (bytes > kMaxCount)
          return Bad(fmt::format("{} is too large: its size in bytes exceeds 2^60", t.name));
      }
      if (!CheckData(t)) return false;
    }
    tensor_ = -1;
    producers_.assign(workload_.tensors.size(), -1);
    return true;
  }

  bool CheckData(const Tensor& t) {
    const DataSpec& data = t.data;
    if (data.kind.empty()) return true;
    if (t.role != Role::kInput && t.role != Role::kWeight)
      return Bad(fmt::format("{} is computed; only inputs and weights name their data", t.name));
    static const std::set<std::string> kKinds = {"uniform", "normal", "index", "mask", "file"};
    if (!kKinds.contains(data.kind))
      return Bad(
          fmt::format("unknown kind of data '{}' of {}; known are uniform, normal, index, "
                      "mask, file",
                      data.kind, t.name));
    if (!(data.density >= 0 && data.density <= 1))
      return Bad(fmt::format("the density {} of {} is not between 0 and 1", data.density, t.name));
    if ((data.kind == "uniform" || data.kind == "index") && !(data.low < data.high))
      return Bad(fmt::format("the data range {}..{} of {} is empty", data.low, data.high, t.name));
    if (data.kind == "index" && (!IsInteger(t.type) || t.type == DataType::kBool))
      return Bad(
          fmt::format("{} holds indices but its type is {}; use i32 or i64", t.name, Name(t.type)));
    if (!std::isfinite(data.low) || !std::isfinite(data.high))
      return Bad(fmt::format("the numbers {} and {} of the data of {} must be finite", data.low,
                             data.high, t.name));
    if (data.kind == "index" &&
        (data.low != std::floor(data.low) || data.high != std::floor(data.high)))
      return Bad(fmt::format("the indices {}..{} of {} must be whole numbers", data.low, data.high,
                             t.name));
    if (!IsInteger(t.type) || data.kind == "mask" || data.kind == "file") return true;
    const auto bound = static_cast<double>(kMaxCount);
    const double low = std::max(static_cast<double>(IntegerLowest(t.type)), -bound);
    const double high = std::min(static_cast<double>(IntegerHighest(t.type)) + 1, bound);
    if (data.low < low || data.low > high || data.high < low || data.high > high)
      return Bad(fmt::format("the data {}, {} of {} do not fit its type {}", data.low, data.high,
                             t.name, Name(t.type)));
    return true;
  }

  bool CheckStages() {
    for (std::size_t s = 0; s < workload_.stages.size(); ++s) {
      stage_ = static_cast<int>(s);
      if (!CheckStage(workload_.stages[s])) return false;
      producers_[static_cast<std::size_t>(workload_.stages[s].tensor)] = stage_;
    }
    stage_ = -1;
    return true;
  }

  bool CheckStage(const Stage& stage) {
    if (stage.tensor < 0 || static_cast<std::size_t>(stage.tensor) >= workload_.tensors.size())
      return Bad(fmt::format("computes tensor {}, which does not exist", stage.tensor));
    const Tensor& t = tensor(stage.tensor);
    if (t.role != Role::kOutput && t.role != Role::kTemporary)
      return Bad("an input or weight cannot be computed; give the result a name of its own");
    if (producers_[static_cast<std::size_t>(stage.tensor)] >= 0)
      return Bad("this tensor is computed twice");
    if (stage.spatial < 0 || static_cast<std::size_t>(stage.spatial) > stage.axes.size() ||
        static_cast<std::size_t>(stage.spatial) != t.shape.size())
      return Bad(fmt::format("has {} spatial axes for a tensor of {} dimensions", stage.spatial,
                             t.shape.size()));
    if (!CheckAxes(stage, t)) return false;
    if ((stage.combiner == Combiner::kNone) != (stage.reduction() == 0))
      return Bad(stage.reduction() == 0
                     ? "a reduction without reduction axes; name them: sum[k](...)"
                     : "reduction axes without a combiner");
    const bool arg = stage.combiner == Combiner::kArgMax || stage.combiner == Combiner::kArgMin;
    if (arg && stage.reduction() != 1)
      return Bad(
          "argmax and argmin reduce exactly one axis; merge the axes or reduce in two stages");
    if (!stage.body) return Bad("has no body");
    std::int64_t nodes = 0;
    if (!CheckShape(*stage.body, 0, nodes) || !CheckTypes(*stage.body, stage)) return false;
    if (!CheckStore(stage, t, arg)) return false;
    return CheckRanges(stage);
  }

  bool CheckAxes(const Stage& stage, const Tensor& t) {
    std::set<std::string> seen;
    Int128 points = 1;
    for (std::size_t a = 0; a < stage.axes.size(); ++a) {
      const Axis& axis = stage.axes[a];
      if (axis.name.empty()) return Bad(fmt::format("axis {} has no name", a));
      if (!seen.insert(axis.name).second)
        return Bad(
            fmt::format("the axis {} appears twice; give each axis its own name", axis.name));
      for (const Symbol& symbol : workload_.symbols)
        if (symbol.name == axis.name)
          return Bad(fmt::format("the axis {} has the name of a symbolic extent; rename the axis",
                                 axis.name));
      if (!CheckExtent(axis.extent, fmt::format("the extent of axis {}", axis.name))) return false;
      points *= Largest(axis.extent);
      if (points > kMaxCount)
        return Bad("too many points: the product of its extents exceeds 2^60");
      if (a < t.shape.size() && axis.extent != t.shape[a])
        return Bad(fmt::format("axis {} has extent {} but dimension {} of {} has {}", axis.name,
                               axis.extent.value, a, t.name, t.shape[a].value));
    }
    return true;
  }

  bool CheckStore(const Stage& stage, const Tensor& t, bool arg) {
    const DataType body = stage.body->type;
    const auto same_class = [](DataType a, DataType b) {
      return a == b || (IsFloat(a) && IsFloat(b)) || (IsInteger(a) && IsInteger(b));
    };
    if (body == DataType::kC64 && stage.combiner != Combiner::kNone &&
        stage.combiner != Combiner::kSum)
      return Bad("only sum reduces complex numbers");
    if (stage.combiner != Combiner::kNone && !same_class(stage.accumulator, body))
      return Bad(
          fmt::format("accumulates {} in {}; cast the body", Name(body), Name(stage.accumulator)));
    if (arg) {
      if (t.type != DataType::kI64 && t.type != DataType::kI32)
        return Bad(fmt::format(
            "argmax and argmin give indices: the type must be i64 or i32, not {}", Name(t.type)));
      return true;
    }
    if (!same_class(t.type, body))
      return Bad(fmt::format("stores {} in a tensor of {}; cast the value: {}(...)", Name(body),
                             Name(t.type), Name(t.type)));
    return true;
  }

  // Depth, size, ids and number of arguments.
  bool CheckShape(const Expr& e, int depth, std::int64_t& nodes) {
    if (depth > kMaxDepth || ++nodes > kMaxNodes)
      return Fail(ErrorKind::kUnsupported,
                  "the expression is too large; split it into several stages");
    std::size_t want = 2;
    switch (e.op) {
      case Op::kInt:
      case Op::kFloat:
      case Op::kVar:
      case Op::kExtent: want = 0; break;
      case Op::kLoad:
        if (e.index < 0 || static_cast<std::size_t>(e.index) >= workload_.tensors.size())
          return Bad(fmt::format("reads tensor {}, which does not exist", e.index), &e);
        want = tensor(e.index).shape.size();
        if (e.args.size() != want)
          return Bad(fmt::format("{} has {} dimensions but is read with {} indices",
                                 tensor(e.index).name, want, e.args.size()),
                     &e);
        break;
      case Op::kSelect: want = 3; break;
      case Op::kNeg:
      case Op::kAbs:
      case Op::kNot:
      case Op::kCast:
      case Op::kReal:
      case Op::kImag:
      case Op::kConj: want = 1; break;
      default: want = IsMath(e.op) ? 1 : 2; break;
    }
    if (e.args.size() != want)
      return Bad(fmt::format("{} has {} arguments instead of {}", Name(e.op), e.args.size(), want),
                 &e);
    for (const ExprPtr& arg : e.args) {
      if (!arg) return Bad(fmt::format("an argument of {} is missing", Name(e.op)), &e);
      if (!CheckShape(*arg, depth + 1, nodes)) return false;
    }
    return true;
  }

  bool CheckTypes(const Expr& e, const Stage& stage) {
    for (const ExprPtr& arg : e.args)
      if (!CheckTypes(*arg, stage)) return false;
    const auto type = [&e](std::size_t i) { return e.args[i]->type; };
    switch (e.op) {
      case Op::kInt: return IsInteger(e.type) || Bad("an integer constant of a floating type", &e);
      case Op::kFloat:
        return !IsInteger(e.type) || Bad("a floating constant of an integer type", &e);
      case Op::kVar:
        if (e.index < 0 || static_cast<std::size_t>(e.index) >= stage.axes.size())
          return Bad(fmt::format("uses axis {}, which does not exist", e.index), &e);
        return e.type == DataType::kI64 || Bad("an axis is always i64", &e);
      case Op::kExtent:
        if (e.index < 0 || static_cast<std::size_t>(e.index) >= workload_.symbols.size())
          return Bad(fmt::format("uses symbolic extent {}, which does not exist", e.index), &e);
        return true;
      case Op::kLoad: return CheckLoad(e);
      case Op::kPadded:
        if (e.args[0]->op != Op::kLoad)
          return Bad("padded takes a read of a tensor and a value: padded(X[...], 0)", &e);
        if (type(1) != type(0))
          return Bad(
              fmt::format("the padding value is {}, the tensor {}", Name(type(1)), Name(type(0))),
              &e);
        return true;
      case Op::kNot:
      case Op::kAnd:
      case Op::kOr:
        for (const ExprPtr& arg : e.args)
          if (arg->type != DataType::kBool)
            return Bad(fmt::format("'{}' needs conditions, not {}; compare first", Name(e.op),
                                   Name(arg->type)),
                       &e);
        return true;
      case Op::kSelect:
        if (type(0) != DataType::kBool)
          return Bad(fmt::format("the first argument of select must be a condition, not {}",
                                 Name(type(0))),
                     &e);
        if (type(1) != type(2))
          return Bad(fmt::format("select chooses between {} and {}; cast one of them",
                                 Name(type(1)), Name(type(2))),
                     &e);
        return true;
      case Op::kCast:
        return type(0) != DataType::kC64 || e.type == DataType::kC64 ||
               Bad(fmt::format("casts c64 to {}; take its real(...), imag(...) or abs(...)",
                               Name(e.type)),
                   &e);
      case Op::kReal:
      case Op::kImag:
      case Op::kConj:
        return type(0) == DataType::kC64 ||
               Bad(fmt::format("{} takes complex numbers (c64), not {}", Name(e.op), Name(type(0))),
                   &e);
      case Op::kComplex:
        return (type(0) == DataType::kF32 && type(1) == DataType::kF32) ||
               Bad(fmt::format("complex takes two f32, not {} and {}", Name(type(0)),
                               Name(type(1))),
                   &e);
      default: break;
    }
    if (e.args.size() == 2 && type(0) != type(1))
      return Bad(
          fmt::format("{} mixes {} and {}; cast one of them, for example {}(...)", Name(e.op),
                      Name(type(0)), Name(type(1)), Name(IsInteger(type(0)) ? type(1) : type(0))),
          &e);
    if ((IsMath(e.op) || e.op == Op::kPow) && !IsFloat(type(0)))
      return Bad(fmt::format("{} takes floats, not {}; cast its argument: f32(...)", Name(e.op),
                             Name(type(0))),
                 &e);
    if (e.op == Op::kMod && !IsInteger(type(0)))
      return Bad(fmt::format("'%' takes integers, not {}", Name(type(0))), &e);
    if ((e.op == Op::kDiv || e.op == Op::kMod) && IsInt(*e.args[1], 0))
      return Bad("division by zero", &e);
    if (type(0) == DataType::kC64 && (IsComparison(e.op) || e.op == Op::kMin || e.op == Op::kMax))
      return Bad(fmt::format("{} of complex numbers; take their real(...), imag(...) or abs(...)",
                             Name(e.op)),
                 &e);
    return true;
  }

  bool CheckLoad(const Expr& e) {
    const Tensor& t = tensor(e.index);
    if (e.type != t.type)
      return Bad(fmt::format("reads {} as {}, but it is {}", t.name, Name(e.type), Name(t.type)),
                 &e);
    if ((t.role == Role::kOutput || t.role == Role::kTemporary) &&
        producers_[static_cast<std::size_t>(e.index)] < 0)
      return Bad(fmt::format("reads {} before it is computed; move its stage up", t.name), &e);
    for (const ExprPtr& index : e.args)
      if (index->type != DataType::kI64)
        return Bad(
            fmt::format("an index of {} is {}; cast it: i64(...)", t.name, Name(index->type)), &e);
    return true;
  }

  // Values of symbols at which indices are checked: all corners of their ranges. Bounds of indices
  // that are affine in each symbol take their extremes there.
  bool CheckRanges(const Stage& stage) {
    const std::size_t corners = std::size_t{1} << workload_.symbols.size();
    for (std::size_t corner = 0; corner < corners; ++corner) {
      symbols_.clear();
      for (std::size_t i = 0; i < workload_.symbols.size(); ++i)
        symbols_.push_back((corner >> i & 1) != 0 ? workload_.symbols[i].high
                                                  : workload_.symbols[i].low);
      RangeAnalysis analysis = Analysis(stage);
      if (!CheckIndices(*stage.body, analysis, false)) return false;
    }
    return true;
  }

  std::int64_t At(const Extent& extent) const {
    return extent.symbol < 0 ? extent.value : symbols_[static_cast<std::size_t>(extent.symbol)];
  }

  RangeAnalysis Analysis(const Stage& stage) const {
    std::vector<Interval> variables, symbols;
    for (const Axis& axis : stage.axes) variables.push_back({0, At(axis.extent) - 1});
    for (const std::int64_t value : symbols_) symbols.push_back({value, value});
    return RangeAnalysis(std::move(variables), std::move(symbols),
                         [this](const Expr& load) { return RangeOfValues(load.index, 0); });
  }

  // What the elements of an integer tensor can be.
  Interval RangeOfValues(int id, int depth) const {
    const Tensor& t = tensor(id);
    if (!IsInteger(t.type) || depth > 4) return {};
    if (HasRange(t.data)) {
      const auto low = static_cast<std::int64_t>(std::ceil(t.data.low));
      const auto high = static_cast<std::int64_t>(std::ceil(t.data.high)) - 1;
      if (t.data.density == 1) return {low, std::max(low, high)};
      return {std::min<std::int64_t>(low, 0), std::max<std::int64_t>({low, high, 0})};
    }
    if (t.data.kind == "mask") return {0, 1};
    const int producer = producers_[static_cast<std::size_t>(id)];
    if (producer < 0) return {};
    const Stage& stage = workload_.stages[static_cast<std::size_t>(producer)];
    switch (stage.combiner) {
      case Combiner::kArgMax:
      case Combiner::kArgMin: return {0, At(stage.axes.back().extent) - 1};
      case Combiner::kNone:
      case Combiner::kMax:
      case Combiner::kMin: {
        std::vector<Interval> variables, symbols;
        for (const Axis& axis : stage.axes) variables.push_back({0, At(axis.extent) - 1});
        for (const std::int64_t value : symbols_) symbols.push_back({value, value});
        const RangeAnalysis analysis(
            std::move(variables), std::move(symbols),
            [this, depth](const Expr& load) { return RangeOfValues(load.index, depth + 1); });
        return analysis.Of(*stage.body);
      }
      default: return {};
    }
  }

  static bool IsPlainIndexLoad(const Expr& e) {
    return e.op == Op::kCast ? IsPlainIndexLoad(*e.args[0]) : e.op == Op::kLoad;
  }

  bool CheckIndices(const Expr& e, RangeAnalysis& analysis, bool padded) {
    if (e.op == Op::kPadded)
      return CheckIndices(*e.args[0], analysis, true) && CheckIndices(*e.args[1], analysis, false);
    if (e.op == Op::kSelect) {
      if (!CheckIndices(*e.args[0], analysis, false)) return false;
      const std::size_t mark = analysis.Mark();
      for (const bool truth : {true, false}) {
        analysis.Assume(*e.args[0], truth);
        if (!CheckIndices(*e.args[truth ? 1 : 2], analysis, false)) return false;
        analysis.Restore(mark);
      }
      return true;
    }
    for (const ExprPtr& arg : e.args)
      if (!CheckIndices(*arg, analysis, false)) return false;
    if ((e.op == Op::kDiv || e.op == Op::kMod) && IsInteger(e.type) &&
        analysis.Of(*e.args[1]) == Interval{0, 0})
      return Bad("division by what is always zero", &e);
    if (e.op != Op::kLoad || padded) return true;
    const Tensor& t = tensor(e.index);
    for (std::size_t d = 0; d < e.args.size(); ++d) {
      const std::int64_t extent = At(t.shape[d]);
      const Interval range = analysis.Of(*e.args[d]);
      if (range.Inside(0, extent - 1)) continue;
      // Index data are valid by contract (schedules/inputs.h makes them so).
      if (IsPlainIndexLoad(*e.args[d]) && IsValidByContract(*e.args[d])) continue;
      const auto end = [](std::int64_t value) {
        return value <= -kUnbounded || value >= kUnbounded ? std::string("anything")
                                                           : std::to_string(value);
      };
      return Bad(fmt::format("index {} of {} can be {} to {}, outside 0 to {}; pad the read with "
                             "padded({}[...], value) or guard it with select(condition, ...)",
                             d + 1, t.name, end(range.low), end(range.high), extent - 1, t.name),
                 &e);
    }
    return true;
  }

  static bool HasRange(const DataSpec& data) {
    return data.kind == "index" || data.kind == "uniform";
  }

  bool IsValidByContract(const Expr& e) const {
    if (e.op == Op::kCast) return IsValidByContract(*e.args[0]);
    const Tensor& t = tensor(e.index);
    return (t.data.kind.empty() || t.data.kind == "file") &&
           (t.role == Role::kInput || t.role == Role::kWeight);
  }

  bool CheckOutputs() {
    bool any = false;
    for (std::size_t i = 0; i < workload_.tensors.size(); ++i) {
      const Tensor& t = workload_.tensors[i];
      if (t.role != Role::kOutput && t.role != Role::kTemporary) continue;
      any |= t.role == Role::kOutput;
      tensor_ = static_cast<int>(i);
      if (producers_[i] < 0) return Bad(fmt::format("{} is never computed", t.name));
    }
    tensor_ = -1;
    if (!any)
      return Bad("the workload has no output; write 'output' before the stage that is wanted");
    return true;
  }

  const Workload& workload_;
  std::optional<WorkloadFailure> failure_;
  std::set<std::string> names_;
  std::vector<int> producers_;  // stage per tensor, -1: not (yet) computed
  std::vector<std::int64_t> symbols_;
  int stage_ = -1;
  int tensor_ = -1;
};

}  // namespace

std::optional<WorkloadFailure> FindFailure(const Workload& workload) {
  return Checker(workload).Run();
}

Result<void> CheckWorkload(const Workload& workload) {
  if (auto failure = FindFailure(workload)) return std::move(failure->error);
  return {};
}

}  // namespace kindred
