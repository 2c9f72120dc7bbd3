#include "schedules/internal/lower_common.h"

#include <cmath>
#include <limits>
#include <utility>

namespace kindred::internal {
namespace {

ExprPtr Less(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kLess, a, b); }

// 0 <= index < extent without what always holds; nullptr: always inside.
ExprPtr InsideGuard(const ExprPtr& index, const Extent& extent, const RangeOf& range) {
  ExprPtr guard;
  const ExprPtr conditions[2] = {BinaryExpr(Op::kLessEqual, IntExpr(0), index),
                                 Less(index, ExtentValue(extent))};
  for (const ExprPtr& c : conditions) {
    if (Decide(*c, range).value_or(false)) continue;
    guard = guard ? BinaryExpr(Op::kAnd, guard, c) : c;
  }
  return guard;
}

}  // namespace

ExprPtr ExtentValue(const Extent& extent) {
  return extent.symbol >= 0 ? ExtentExpr(extent.symbol) : IntExpr(extent.value);
}

std::int64_t CapacityOf(const Workload& workload, const Extent& extent) {
  return extent.symbol >= 0 ? workload.symbols[static_cast<std::size_t>(extent.symbol)].high
                            : extent.value;
}

std::int64_t CapacityOf(const Workload& workload, const Tensor& tensor) {
  std::int64_t elements = 1;
  for (const Extent& e : tensor.shape) elements *= CapacityOf(workload, e);
  return elements;
}

ExprPtr FlatIndex(const Tensor& tensor, std::span<const ExprPtr> indices) {
  // Constant strides as long as no symbolic extent lies to the right.
  ExprPtr flat = IntExpr(0), stride = IntExpr(1);
  for (std::size_t d = indices.size(); d-- > 0;) {
    flat = indices[d] * stride + flat;
    if (d > 0) stride = stride * ExtentValue(tensor.shape[d]);
  }
  return flat;
}

RangeOf AxisRanges(const Workload& workload, const Stage& stage) {
  return [&workload, &stage](int index, bool extent) -> std::optional<Bounds> {
    const auto i = static_cast<std::size_t>(index);
    if (extent) return Bounds{workload.symbols[i].low, workload.symbols[i].high};
    if (i >= stage.axes.size()) return std::nullopt;
    return Bounds{0, CapacityOf(workload, stage.axes[i].extent) - 1};
  };
}

ExprPtr GuardPadding(const Workload& workload, const Stage& stage) {
  const RangeOf range = AxisRanges(workload, stage);
  return Rewrite(stage.body, [&](const ExprPtr& node) -> ExprPtr {
    if (node->op != Op::kPadded) return nullptr;
    const ExprPtr& load = node->args[0];
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(load->index)];
    ExprPtr guard;
    for (std::size_t d = 0; d < load->args.size(); ++d)
      if (ExprPtr inside = InsideGuard(load->args[d], tensor.shape[d], range))
        guard = guard ? BinaryExpr(Op::kAnd, guard, inside) : inside;
    return guard ? SelectExpr(guard, load, node->args[1]) : load;
  });
}

ExprPtr LowerBody(const ExprPtr& body, std::span<const ExprPtr> axis_values, const LoadRule& rule) {
  return Rewrite(body, [&](const ExprPtr& node) -> ExprPtr {
    if (node->op == Op::kVar) return axis_values[static_cast<std::size_t>(node->index)];
    if (node->op == Op::kLoad) return rule(node->index, node->args, node->type);
    return nullptr;
  });
}

Lowering::Lowering(const Workload& w) : workload(&w), buffer_of_tensor(w.tensors.size(), -1) {
  program.variables.reserve(64);
  program.buffers.reserve(16);
  const std::vector<int> arguments = ArgumentTensors(w);
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    const auto id = static_cast<std::size_t>(arguments[a]);
    const Tensor& t = w.tensors[id];
    buffer_of_tensor[id] = program.AddBuffer(
        {t.name, t.type, CapacityOf(w, t), Scope::kArgument, static_cast<int>(a), ""});
  }
}

int Lowering::BufferOf(int tensor) {
  const auto id = static_cast<std::size_t>(tensor);
  if (buffer_of_tensor[id] < 0) {
    const Tensor& t = workload->tensors[id];
    buffer_of_tensor[id] =
        program.AddBuffer({t.name, t.type, CapacityOf(*workload, t), Scope::kWorkspace, -1, ""});
  }
  return buffer_of_tensor[id];
}

LoadRule Lowering::RowMajor() {
  return [this](int tensor, std::span<const ExprPtr> indices, DataType type) {
    const Tensor& t = workload->tensors[static_cast<std::size_t>(tensor)];
    return LoadExpr(BufferOf(tensor), {FlatIndex(t, indices)}, type);
  };
}

ExprPtr Lowering::Body(const Stage& stage, std::span<const ExprPtr> axis_values) {
  return LowerBody(GuardPadding(*workload, stage), axis_values, RowMajor());
}

StmtPtr Lowering::StoreResult(const Stage& stage, std::span<const ExprPtr> indices, ExprPtr value) {
  const Tensor& t = workload->tensors[static_cast<std::size_t>(stage.tensor)];
  return Store(BufferOf(stage.tensor), FlatIndex(t, indices), CastExpr(t.type, std::move(value)));
}

int Lowering::AddRegisters(std::string name, DataType type, std::int64_t elements) {
  return program.AddBuffer({std::move(name), type, elements, Scope::kRegister, -1, ""});
}

ExprPtr Lowering::Load(int buffer, ExprPtr index) const {
  return LoadExpr(buffer, {std::move(index)},
                  program.buffers[static_cast<std::size_t>(buffer)].type);
}

ExprPtr InitialValue(Combiner combiner, DataType accumulator) {
  const bool is_float = !IsInteger(accumulator);
  const auto constant = [&](double f, std::int64_t i) {
    return is_float ? FloatExpr(f, accumulator) : IntExpr(i, accumulator);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  switch (combiner) {
    case Combiner::kProd: return constant(1, 1);
    case Combiner::kMax: return constant(-infinity, is_float ? 0 : IntegerLowest(accumulator));
    case Combiner::kMin: return constant(infinity, is_float ? 0 : IntegerHighest(accumulator));
    default: return constant(0, 0);
  }
}

ExprPtr Combine(Combiner combiner, const ExprPtr& accumulated, const ExprPtr& value) {
  const ExprPtr v = CastExpr(accumulated->type, value);
  switch (combiner) {
    case Combiner::kProd: return BinaryExpr(Op::kMul, accumulated, v);
    case Combiner::kMax: return BinaryExpr(Op::kMax, accumulated, v);
    case Combiner::kMin: return BinaryExpr(Op::kMin, accumulated, v);
    default: return BinaryExpr(Op::kAdd, accumulated, v);
  }
}

bool IsArg(Combiner combiner) {
  return combiner == Combiner::kArgMax || combiner == Combiner::kArgMin;
}

ArgRegisters AddArgRegisters(Lowering& lowering, const Stage& stage, std::int64_t slots) {
  // As wide as the values, so that both have the same lanes.
  const DataType type = stage.accumulator;
  const bool wide =
      ByteSize(DefaultAccumulator(type)) > 4 ||
      CapacityOf(*lowering.workload, stage.axes.back().extent) > IntegerHighest(DataType::kI32);
  return {lowering.AddRegisters("best", type, slots),
          lowering.AddRegisters("position", wide ? DataType::kI64 : DataType::kI32, slots)};
}

StmtPtr ArgStart(const Lowering& lowering, const ArgRegisters& registers, Combiner combiner,
                 const ExprPtr& slot) {
  const DataType type = lowering.Load(registers.best, slot)->type;
  const DataType index = lowering.Load(registers.position, slot)->type;
  const Combiner extremum = combiner == Combiner::kArgMax ? Combiner::kMax : Combiner::kMin;
  return Block({Store(registers.best, slot, InitialValue(extremum, type)),
                Store(registers.position, slot, IntExpr(0, index))});
}

StmtPtr ArgStep(const Lowering& lowering, const ArgRegisters& registers, Combiner combiner,
                const ExprPtr& slot, const ExprPtr& value, const ExprPtr& position) {
  const ExprPtr best = lowering.Load(registers.best, slot);
  const ExprPtr found = lowering.Load(registers.position, slot);
  const ExprPtr v = CastExpr(best->type, value);
  const ExprPtr beats = combiner == Combiner::kArgMax ? Less(best, v) : Less(v, best);
  return Block(
      {Store(registers.position, slot, SelectExpr(beats, CastExpr(found->type, position), found)),
       Store(registers.best, slot, SelectExpr(beats, v, best))});
}

StmtPtr Nest(std::span<const LoopSpec> loops, StmtPtr body) {
  for (std::size_t i = loops.size(); i-- > 0;)
    body = For(loops[i].var, loops[i].extent, loops[i].kind, std::move(body), loops[i].unroll);
  return body;
}

StmtPtr PlainStage(Lowering& lowering, const Stage& stage) {
  std::vector<LoopSpec> loops;
  std::vector<ExprPtr> values;
  for (const Axis& axis : stage.axes) {
    const int var = lowering.program.AddVar(axis.name);
    loops.push_back({var, ExtentValue(axis.extent)});
    values.push_back(VarExpr(var));
  }
  const std::span<const LoopSpec> all(loops);
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  const auto out = std::span<const ExprPtr>(values).first(spatial);
  const ExprPtr body = lowering.Body(stage, values);
  if (stage.combiner == Combiner::kNone) return Nest(all, lowering.StoreResult(stage, out, body));
  const ExprPtr zero = IntExpr(0);
  std::vector<StmtPtr> point;
  if (IsArg(stage.combiner)) {
    const ArgRegisters registers = AddArgRegisters(lowering, stage, 1);
    point = {ArgStart(lowering, registers, stage.combiner, zero),
             Nest(all.subspan(spatial),
                  ArgStep(lowering, registers, stage.combiner, zero, body, values[spatial])),
             lowering.StoreResult(stage, out, lowering.Load(registers.position, zero))};
  } else {
    const int acc = lowering.AddRegisters("acc", stage.accumulator, 1);
    point = {Store(acc, zero, InitialValue(stage.combiner, stage.accumulator)),
             Nest(all.subspan(spatial),
                  Store(acc, zero, Combine(stage.combiner, lowering.Load(acc, zero), body))),
             lowering.StoreResult(stage, out, lowering.Load(acc, zero))};
  }
  return Nest(all.first(spatial), Block(std::move(point)));
}

}  // namespace kindred::internal
