#include "schedules/internal/split_complex.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedules/internal/emit_context.h"

namespace kindred::internal {
namespace {

struct Parts {
  ExprPtr re, im;
};

ExprPtr F(double value) { return FloatExpr(value, DataType::kF32); }

class Splitter {
 public:
  explicit Splitter(const Workload& workload) : original_(workload), out_(workload) {
    out_.stages.clear();
    parts_.resize(workload.tensors.size());
    for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
      if (workload.tensors[t].type != DataType::kC64) continue;
      Tensor& tensor = out_.tensors[t];
      tensor.type = DataType::kF32;
      const bool whole = tensor.role != Role::kTemporary;  // both parts lie in it
      if (whole) tensor.shape.push_back({2, -1});
      if (workload.ProducerOf(static_cast<int>(t)) == nullptr) continue;
      parts_[t].re = whole ? AddTemporary(t, "real") : static_cast<int>(t);
      parts_[t].im = AddTemporary(t, "imag");
    }
  }

  Workload Run() {
    for (const Stage& stage : original_.stages) Split(stage);
    return std::move(out_);
  }

 private:
  int AddTemporary(std::size_t of, const char* part) {
    Tensor tensor = original_.tensors[of];
    tensor.type = DataType::kF32;
    tensor.role = Role::kTemporary;
    tensor.name += std::string("_") + part;
    const auto taken = [this](const std::string& name) {
      return std::any_of(out_.tensors.begin(), out_.tensors.end(),
                         [&name](const Tensor& t) { return t.name == name; });
    };
    while (taken(tensor.name)) tensor.name += "_";
    out_.tensors.push_back(std::move(tensor));
    return static_cast<int>(out_.tensors.size()) - 1;
  }

  void Split(const Stage& stage) {
    known_.clear();
    Stage part = stage;
    const auto id = static_cast<std::size_t>(stage.tensor);
    if (original_.tensors[id].type != DataType::kC64) {
      part.body = Real(stage.body);
      out_.stages.push_back(std::move(part));
      return;
    }
    if (stage.combiner != Combiner::kNone) part.accumulator = DataType::kF32;
    const Parts body = PartsOf(stage.body);
    for (const bool real : {true, false}) {
      part.tensor = real ? parts_[id].re : parts_[id].im;
      part.body = real ? body.re : body.im;
      out_.stages.push_back(part);
    }
    if (original_.tensors[id].role != Role::kOutput) return;
    Stage both;
    both.tensor = stage.tensor;
    both.axes.assign(stage.axes.begin(), stage.axes.begin() + stage.spatial);
    both.spatial = stage.spatial + 1;
    std::string name = "part";
    const auto taken = [&](const Axis& axis) { return axis.name == name; };
    while (std::any_of(both.axes.begin(), both.axes.end(), taken)) name += "_";
    both.axes.push_back({name, {2, -1}});
    std::vector<ExprPtr> at;
    for (int axis = 0; axis < stage.spatial; ++axis) at.push_back(VarExpr(axis));
    both.body = SelectExpr(BinaryExpr(Op::kEqual, VarExpr(stage.spatial), IntExpr(0)),
                           LoadExpr(parts_[id].re, at, DataType::kF32),
                           LoadExpr(parts_[id].im, at, DataType::kF32));
    out_.stages.push_back(std::move(both));
  }

  // An expression that is not complex itself, without what is complex in it.
  ExprPtr Real(const ExprPtr& e) {
    return Rewrite(e, [this](const ExprPtr& node) -> ExprPtr {
      const bool complex = !node->args.empty() && node->args[0]->type == DataType::kC64;
      if (!complex || node->type == DataType::kC64) return nullptr;
      const Parts z = PartsOf(node->args[0]);
      if (node->op == Op::kReal) return z.re;
      if (node->op == Op::kImag) return z.im;
      return UnaryExpr(Op::kSqrt, z.re * z.re + z.im * z.im);  // kAbs
    });
  }

  Parts PartsOf(const ExprPtr& e) {
    const auto found = known_.find(e.get());
    if (found != known_.end()) return found->second.second;
    Parts parts = Compute(*e);
    known_.emplace(e.get(), std::pair(e, parts));
    return parts;
  }

  Parts Compute(const Expr& e) {
    switch (e.op) {
      case Op::kFloat: return {F(e.number), F(0)};
      case Op::kLoad: return Load(e);
      case Op::kPadded: {
        const Parts load = Load(*e.args[0]), value = PartsOf(e.args[1]);
        return {PaddedExpr(load.re, value.re), PaddedExpr(load.im, value.im)};
      }
      case Op::kSelect: {
        const ExprPtr condition = Real(e.args[0]);
        const Parts a = PartsOf(e.args[1]), b = PartsOf(e.args[2]);
        return {SelectExpr(condition, a.re, b.re), SelectExpr(condition, a.im, b.im)};
      }
      case Op::kCast: return {Real(e.args[0]), F(0)};
      case Op::kComplex: return {Real(e.args[0]), Real(e.args[1])};
      default: break;
    }
    const Parts a = PartsOf(e.args[0]);
    if (e.op == Op::kConj) return {a.re, UnaryExpr(Op::kNeg, a.im)};
    if (e.op == Op::kNeg) return {UnaryExpr(Op::kNeg, a.re), UnaryExpr(Op::kNeg, a.im)};
    const Parts b = PartsOf(e.args[1]);
    if (e.op == Op::kAdd) return {a.re + b.re, a.im + b.im};
    if (e.op == Op::kSub) return {a.re - b.re, a.im - b.im};
    const bool real = IsRealNumber(*e.args[1]);
    if (e.op == Op::kMul) {
      if (real) return {a.re * b.re, a.im * b.re};
      if (IsRealNumber(*e.args[0])) return {a.re * b.re, a.re * b.im};
      return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    if (real) return {a.re / b.re, a.im / b.re};
    const ExprPtr n = b.re * b.re + b.im * b.im;
    return {(a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n};
  }

  Parts Load(const Expr& e) {
    std::vector<ExprPtr> at;
    for (const ExprPtr& index : e.args) at.push_back(Real(index));
    const auto& computed = parts_[static_cast<std::size_t>(e.index)];
    if (computed.re >= 0)
      return {LoadExpr(computed.re, at, DataType::kF32), LoadExpr(computed.im, at, DataType::kF32)};
    at.push_back(IntExpr(0));
    const ExprPtr re = LoadExpr(e.index, at, DataType::kF32);
    at.back() = IntExpr(1);
    return {re, LoadExpr(e.index, std::move(at), DataType::kF32)};
  }

  const Workload& original_;
  Workload out_;
  struct PartTensors {
    int re = -1, im = -1;
  };
  std::vector<PartTensors> parts_;  // of each computed c64 tensor
  // Holds on to the expressions that it knows.
  std::unordered_map<const Expr*, std::pair<ExprPtr, Parts>> known_;
};

}  // namespace

Workload SplitComplex(const Workload& workload) { return Splitter(workload).Run(); }

}  // namespace kindred::internal
