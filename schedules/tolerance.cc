#include "schedules/tolerance.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "schedules/internal/error_bounds.h"
#include "schedules/internal/lower_common.h"
#include "schedules/internal/split_complex.h"

namespace kindred {
namespace {

// Expressions of a pointwise stage larger than this (nodes, written out as a tree) are stored in
// tensors.
constexpr double kLargeExpression = 1500;

ExprPtr F(double value) { return FloatExpr(value, DataType::kF64); }
ExprPtr Max(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMax, a, b); }
ExprPtr Abs(const ExprPtr& e) { return UnaryExpr(Op::kAbs, e); }
ExprPtr Number(const ExprPtr& e) { return CastExpr(DataType::kF64, e); }

// Sizes of expressions written out as trees, each node measured once.
class TreeSizes {
 public:
  double Of(const ExprPtr& e) {
    if (!e) return 0;
    const auto known = sizes_.find(e.get());
    if (known != sizes_.end()) return known->second.first;
    double size = 1;
    for (const ExprPtr& arg : e->args) size += Of(arg);
    sizes_.emplace(e.get(), std::pair(size, e));
    return size;
  }

 private:
  std::unordered_map<const Expr*, std::pair<double, ExprPtr>> sizes_;  // holds on to what it knows
};

class Builder {
 public:
  Builder(Workload workload, double safety) : original_(std::move(workload)), safety_(safety) {
    out_.workload = original_;
    out_.workload.stages.clear();
    out_.workload.contract = {};
    errors_.assign(original_.tensors.size(), -1);
    for (const Stage& stage : original_.stages) {
      DataType& type = TensorAt(stage.tensor).type;
      if (IsFloat(type)) type = DataType::kF64;
    }
  }

  ReferenceWorkload Run() {
    for (const Stage& stage : original_.stages) Convert(stage);
    return std::move(out_);
  }

 private:
  Tensor& TensorAt(int id) { return out_.workload.tensors[static_cast<std::size_t>(id)]; }

  void Convert(const Stage& stage) {
    stage_ = &stage;
    const Tensor& original = original_.tensors[static_cast<std::size_t>(stage.tensor)];
    output_ = original.role == Role::kOutput;
    ErrorAnalysis analysis(
        safety_,
        [this](int tensor) -> ErrorAnalysis::StoredError {
          const bool scaled = TensorAt(tensor).role == Role::kOutput;
          return {errors_[static_cast<std::size_t>(tensor)], scaled ? 1 / safety_ : 1};
        },
        [this](int tensor) { return TensorAt(tensor).type; },
        [this](BoundedExpr e) { return Materialize(std::move(e)); });
    const bool arg = internal::IsArg(stage.combiner);
    BoundedExpr body = analysis.Of(arg ? CastExpr(stage.accumulator, stage.body) : stage.body);
    switch (stage.combiner) {
      case Combiner::kNone: return Pointwise(std::move(body), original.type);
      case Combiner::kSum: return Sum(body, original.type);
      case Combiner::kProd: return Product(body, original.type);
      case Combiner::kMax:
      case Combiner::kMin: return Extremum(body, original.type);
      case Combiner::kArgMax:
      case Combiner::kArgMin: return ArgExtremum(body);
    }
  }

  // A large intermediate result of a pointwise stage gets tensors of its own.
  BoundedExpr Materialize(BoundedExpr e) {
    if (stage_->combiner != Combiner::kNone ||
        sizes_.Of(e.value) + sizes_.Of(e.error) < kLargeExpression)
      return e;
    return {ReadSpatial(AddSpatial("value", e.value)),
            e.error ? ReadSpatial(AddSpatial("error", e.error)) : nullptr};
  }

  int AddTensor(const std::string& suffix, Role role) {
    Tensor tensor;
    const Tensor& original = original_.tensors[static_cast<std::size_t>(stage_->tensor)];
    tensor.type = DataType::kF64;
    tensor.shape = original.shape;
    tensor.role = role;
    const std::string base = original.name + "_" + suffix;
    tensor.name = base;
    const auto taken = [this](const std::string& name) {
      return std::any_of(out_.workload.tensors.begin(), out_.workload.tensors.end(),
                         [&name](const Tensor& t) { return t.name == name; });
    };
    for (int i = 2; taken(tensor.name); ++i) tensor.name = base + std::to_string(i);
    errors_.push_back(-1);
    out_.workload.tensors.push_back(std::move(tensor));
    return static_cast<int>(out_.workload.tensors.size()) - 1;
  }

  // A stage over the axes of the stage at hand; without a combiner, over its spatial axes.
  void AddStage(int tensor, Combiner combiner, DataType accumulator, ExprPtr body) {
    Stage stage;
    stage.tensor = tensor;
    stage.axes = stage_->axes;
    stage.spatial = stage_->spatial;
    stage.combiner = combiner;
    stage.accumulator = accumulator;
    stage.body = std::move(body);
    if (combiner == Combiner::kNone) stage.axes.resize(static_cast<std::size_t>(stage.spatial));
    out_.workload.stages.push_back(std::move(stage));
  }

  int AddSpatial(const std::string& suffix, const ExprPtr& body) {
    const int tensor = AddTensor(suffix, Role::kTemporary);
    AddStage(tensor, Combiner::kNone, DataType::kF32, body);
    return tensor;
  }

  int AddReduced(const std::string& suffix, Combiner combiner, const ExprPtr& body) {
    const int tensor = AddTensor(suffix, Role::kTemporary);
    AddStage(tensor, combiner, DataType::kF64, body);
    return tensor;
  }

  ExprPtr ReadSpatial(int tensor) {
    std::vector<ExprPtr> indices;
    for (int a = 0; a < stage_->spatial; ++a) indices.push_back(VarExpr(a));
    return LoadExpr(tensor, std::move(indices), TensorAt(tensor).type);
  }

  ExprPtr ReadValue() { return Number(ReadSpatial(stage_->tensor)); }

  void AddValue(const ExprPtr& body) {
    const DataType accumulator = IsFloat(stage_->accumulator) && stage_->combiner != Combiner::kNone
                                     ? DataType::kF64
                                     : stage_->accumulator;
    AddStage(stage_->tensor, stage_->combiner, accumulator, body);
  }

  // Ends a stage: stores its error (nullptr: exact). Outputs get their safety factor here, but for
  // errors that are whole steps.
  void StoreError(ExprPtr error, bool steps = false) {
    if (!output_ && !error) return;
    const int tensor =
        AddTensor(output_ ? "bound" : "error", output_ ? Role::kOutput : Role::kTemporary);
    AddStage(tensor, Combiner::kNone, DataType::kF32,
             !error              ? F(0)
             : output_ && !steps ? error * F(safety_)
                                 : std::move(error));
    FinishError(tensor);
  }

  // Ends a stage whose value, of type `from`, is rounded where it is stored.
  void StoreNarrowed(const BoundedExpr& e, DataType from, DataType type) {
    const BoundedExpr stored = ErrorAnalysis::Narrowed(e, from, type, safety_);
    AddStage(stage_->tensor, Combiner::kNone, DataType::kF32, stored.value);
    StoreError(stored.error, true);
  }

  // Whether storing a value of type `from` rounds to 16 bits or fewer.
  static bool Narrows(DataType from, DataType type) {
    return IsFloat(type) && ByteSize(type) <= 2 && !Contains(type, from);
  }

  void StoreReducedError(Combiner combiner, ExprPtr term) {
    const int tensor =
        AddTensor(output_ ? "bound" : "error", output_ ? Role::kOutput : Role::kTemporary);
    AddStage(tensor, combiner, DataType::kF64, output_ ? term * F(safety_) : std::move(term));
    FinishError(tensor);
  }

  void FinishError(int tensor) {
    errors_[static_cast<std::size_t>(stage_->tensor)] = tensor;
    if (output_) out_.outputs.push_back({stage_->tensor, tensor, -1});
  }

  void Pointwise(BoundedExpr body, DataType type) {
    ExprPtr error = ErrorAnalysis::AsNumber(body);
    const DataType computed = stage_->body->type;
    if (Narrows(computed, type)) return StoreNarrowed({body.value, error}, computed, type);
    if (IsFloat(type) && !Contains(type, computed))
      error = ErrorAnalysis::Rounded(body.value, error, type);
    AddValue(body.value);
    StoreError(std::move(error));
  }

  void Sum(const BoundedExpr& body, DataType type) {
    ExprPtr term = ErrorAnalysis::AsNumber(body);
    const DataType accumulator = stage_->accumulator;
    if (IsFloat(accumulator)) {
      double length = 1;
      for (std::size_t a = static_cast<std::size_t>(stage_->spatial); a < stage_->axes.size(); ++a)
        length *= static_cast<double>(stage_->axes[a].extent.value);
      const ExprPtr rounding = BinaryExpr(Op::kMin, Abs(body.value), F(1e300)) *
                               F(UnitRoundoff(accumulator) * std::sqrt(length));
      term = term ? term + rounding : rounding;
    }
    if (Narrows(accumulator, type)) {
      const ExprPtr value = ReadSpatial(AddReduced("sum", Combiner::kSum, body.value));
      const ExprPtr error = ReadSpatial(AddReduced("sum_error", Combiner::kSum, term));
      return StoreNarrowed({value, error}, accumulator, type);
    }
    AddValue(body.value);
    if (!term) return StoreError(nullptr);
    if (!IsFloat(type) || Contains(type, accumulator))
      return StoreReducedError(Combiner::kSum, term);
    const int summed = AddReduced("sum_error", Combiner::kSum, term);
    StoreError(ErrorAnalysis::Rounded(ReadValue(), ReadSpatial(summed), type));
  }

  void Product(const BoundedExpr& body, DataType type) {
    ExprPtr relative = ErrorAnalysis::AsNumber(body);
    if (relative) relative = relative / Max(Abs(Number(body.value)), F(1e-30));
    const DataType accumulator = stage_->accumulator;
    if (IsFloat(accumulator)) {
      const ExprPtr unit = F(UnitRoundoff(accumulator));
      relative = relative ? relative + unit : unit;
    }
    const bool narrows = Narrows(accumulator, type);
    ExprPtr value;
    if (narrows)
      value = ReadSpatial(AddReduced("product", Combiner::kProd, body.value));
    else
      AddValue(body.value), value = ReadValue();
    if (!relative) return StoreError(nullptr);
    const int summed = AddReduced("relative_error", Combiner::kSum, relative);
    ExprPtr error = BinaryExpr(Op::kMin, Abs(value), F(1e300)) * ReadSpatial(summed);
    if (narrows) return StoreNarrowed({value, error}, accumulator, type);
    if (IsFloat(type) && !Contains(type, accumulator))
      error = ErrorAnalysis::Rounded(value, error, type);
    StoreError(std::move(error));
  }

  // The extremum of what the values may be, from above and from below.
  void Extremum(const BoundedExpr& body, DataType type) {
    const DataType computed = stage_->body->type;
    const DataType narrowest = Contains(type, stage_->accumulator) ? stage_->accumulator : type;
    const bool narrows = Narrows(computed, narrowest);
    ExprPtr value;
    if (narrows)
      value = ReadSpatial(AddReduced("extremum", stage_->combiner, body.value));
    else
      AddValue(body.value), value = ReadValue();
    ExprPtr error;
    if (const ExprPtr d = ErrorAnalysis::AsNumber(body)) {
      const ExprPtr v = Number(body.value);
      const ExprPtr high = ReadSpatial(AddReduced("high", stage_->combiner, v + d));
      const ExprPtr low = ReadSpatial(AddReduced("low", stage_->combiner, v - d));
      error = Max(high - value, value - low);
    }
    if (narrows) return StoreNarrowed({value, error}, computed, narrowest);
    if (IsFloat(type) && !(Contains(type, computed) && Contains(stage_->accumulator, computed)))
      error = ErrorAnalysis::Rounded(value, error, narrowest);
    StoreError(std::move(error));
  }

  // An index is right where its value may be as good as the best one certainly is.
  void ArgExtremum(const BoundedExpr& body) {
    AddValue(body.value);
    const ExprPtr d = ErrorAnalysis::AsNumber(body);
    if (!d) return StoreError(nullptr);
    const bool max = stage_->combiner == Combiner::kArgMax;
    const ExprPtr v = max ? Number(body.value) : UnaryExpr(Op::kNeg, Number(body.value));
    const ExprPtr margin = d * F(safety_);
    const ExprPtr best = ReadSpatial(AddReduced("best", Combiner::kMax, v - margin));
    const ExprPtr right = BinaryExpr(Op::kLessEqual, best, v + margin);
    const ExprPtr distance = Abs(Number(VarExpr(stage_->spatial)) - ReadValue());
    // Distances are no errors to be multiplied by the safety factor.
    StoreReducedError(Combiner::kMax,
                      SelectExpr(right, output_ ? distance * F(1 / safety_) : distance, F(0)));
    if (output_) out_.outputs.back().choices = AddChoices(right);
  }

  int AddChoices(const ExprPtr& right) {
    const int tensor = AddTensor("choices", Role::kOutput);
    TensorAt(tensor).type = DataType::kBool;
    TensorAt(tensor).shape.push_back(stage_->axes.back().extent);
    AddStage(tensor, Combiner::kNone, DataType::kF32, right);
    Stage& stage = out_.workload.stages.back();
    stage.axes = stage_->axes;
    stage.spatial = static_cast<int>(stage.axes.size());
    return tensor;
  }

  const Workload original_;
  double safety_;
  ReferenceWorkload out_;
  std::vector<int> errors_;  // per tensor of the result: where its error is stored, or -1
  TreeSizes sizes_;
  const Stage* stage_ = nullptr;  // of the original, at hand
  bool output_ = false;
};

}  // namespace

ReferenceWorkload WithErrorBounds(const Workload& workload, double safety) {
  const double factor = workload.contract.fast_math ? 2 : 1;
  return Builder(internal::SplitComplex(workload), safety * factor).Run();
}

}  // namespace kindred
