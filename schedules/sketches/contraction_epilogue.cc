#include "schedules/sketches/contraction_epilogue.h"

#include <algorithm>

#include "schedules/sketches/contraction_build.h"

namespace kindred {

Epilogue::Epilogue(internal::Lowering& lowering, const PointwiseChain& chain)
    : lowering_(lowering), chain_(chain) {
  const Workload& workload = *lowering_.workload;
  const std::size_t count = chain_.after.size() + 1;
  loaded_later_.assign(count, false);
  std::map<int, std::size_t> position_of;
  for (std::size_t i = 0; i < count; ++i) position_of[StageAt(i).tensor] = i;

  const int axes = StageAt(0).spatial;
  std::vector<ExprPtr> variables;
  for (int axis = 0; axis < axes; ++axis) variables.push_back(VarExpr(axis));
  const auto record = [&](const ExprPtr& flat, bool store) {
    Access access;
    access.store = store;
    if (const auto affine = AsAffine(*flat, axes)) access.steps = affine->coefficients;
    accesses_.push_back(std::move(access));
  };
  bodies_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Stage& stage = StageAt(i);
    std::vector<ExprPtr> point = variables;
    if (i > 0) {
      bodies_[i] = internal::GuardPadding(workload, stage);
      const auto& order = chain_.after_axes[i - 1];
      for (std::size_t s = 0; s < order.size(); ++s)
        point[s] = variables[static_cast<std::size_t>(order[s])];
      internal::LowerBody(
          bodies_[i], point,
          [&](int tensor, std::span<const ExprPtr> indices, DataType type) -> ExprPtr {
            if (const auto found = position_of.find(tensor); found != position_of.end()) {
              loaded_later_[found->second] = true;
              return Constant(1, type);
            }
            record(internal::FlatIndex(workload.tensors[static_cast<std::size_t>(tensor)], indices),
                   false);
            return LoadExpr(
                lowering_.BufferOf(tensor),
                {internal::FlatIndex(workload.tensors[static_cast<std::size_t>(tensor)], indices)},
                type);
          });
    }
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(stage.tensor)];
    if (tensor.role == Role::kOutput) record(internal::FlatIndex(tensor, point), true);
  }
}

const Stage& Epilogue::StageAt(std::size_t position) const {
  const int stage = position == 0 ? chain_.anchor : chain_.after[position - 1];
  return lowering_.workload->stages[static_cast<std::size_t>(stage)];
}

bool Epilogue::VectorAlong(int x) const {
  return std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& access) {
    if (access.steps.empty()) return false;
    const std::int64_t step = access.steps[static_cast<std::size_t>(x)];
    return step == 1 || (step == 0 && !access.store);
  });
}

bool Epilogue::Joins(int y, int x, std::int64_t extent_x) const {
  return std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& access) {
    return !access.steps.empty() && access.steps[static_cast<std::size_t>(y)] ==
                                        access.steps[static_cast<std::size_t>(x)] * extent_x;
  });
}

int Epilogue::Registers(int tensor, std::int64_t lanes) {
  const auto [found, fresh] = registers_.try_emplace({tensor, lanes}, -1);
  if (fresh) {
    const Tensor& t = lowering_.workload->tensors[static_cast<std::size_t>(tensor)];
    found->second = lowering_.AddRegisters(t.name + "_value", t.type, lanes);
  }
  return found->second;
}

StmtPtr Epilogue::Emit(std::span<const ExprPtr> axes, int x, std::int64_t lanes,
                       const std::function<ExprPtr(const ExprPtr&)>& value) {
  const Workload& workload = *lowering_.workload;
  const auto statements = [&](const ExprPtr& lane) {
    std::vector<StmtPtr> body;
    std::map<int, ExprPtr> values;
    std::vector<ExprPtr> at(axes.begin(), axes.end());
    at[static_cast<std::size_t>(x)] = at[static_cast<std::size_t>(x)] + lane;
    for (std::size_t i = 0; i <= chain_.after.size(); ++i) {
      const Stage& stage = StageAt(i);
      const Tensor& tensor = workload.tensors[static_cast<std::size_t>(stage.tensor)];
      std::vector<ExprPtr> point(at.begin(), at.begin() + StageAt(0).spatial);
      ExprPtr result;
      if (i == 0) {
        result = value(lane);
      } else {
        const auto& order = chain_.after_axes[i - 1];
        for (std::size_t s = 0; s < order.size(); ++s)
          point[s] = at[static_cast<std::size_t>(order[s])];
        result = internal::LowerBody(
            bodies_[i], point,
            [&](int id, std::span<const ExprPtr> indices, DataType type) -> ExprPtr {
              if (const auto found = values.find(id); found != values.end()) return found->second;
              return LoadExpr(
                  lowering_.BufferOf(id),
                  {internal::FlatIndex(workload.tensors[static_cast<std::size_t>(id)], indices)},
                  type);
            });
      }
      result = CastExpr(tensor.type, result);
      const bool output = tensor.role == Role::kOutput;
      const bool plain = result->op == Op::kLoad || result->op == Op::kVar;
      if (!plain && loaded_later_[i]) {
        const int registers = Registers(stage.tensor, lanes);
        body.push_back(Store(registers, lane, result));
        result = LoadExpr(registers, {lane}, tensor.type);
      }
      if (loaded_later_[i]) values[stage.tensor] = result;
      if (output)
        body.push_back(
            Store(lowering_.BufferOf(stage.tensor), internal::FlatIndex(tensor, point), result));
    }
    return Block(std::move(body));
  };
  if (lanes == 1) return statements(IntExpr(0));
  return Loop(lowering_.program, "l", lanes, LoopKind::kVectorized, statements);
}

}  // namespace kindred
