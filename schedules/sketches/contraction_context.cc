#include "schedules/sketches/contraction_context.h"

#include "schedules/sketches/contraction_panel.h"

namespace kindred {
namespace {

ExprPtr ValueOf(const Affine& affine, std::span<const ExprPtr> variables) {
  ExprPtr sum;
  for (std::size_t i = 0; i < affine.coefficients.size(); ++i) {
    if (affine.coefficients[i] == 0) continue;
    ExprPtr term = variables[i] * affine.coefficients[i];
    sum = sum ? sum + term : term;
  }
  return sum ? sum + affine.constant : IntExpr(affine.constant);
}

}  // namespace

ContractionContext::ContractionContext(const Workload& the_workload,
                                       const ContractionPattern& the_pattern,
                                       const ContractionPlan& the_plan, const Target& the_target)
    : workload(the_workload),
      pattern(the_pattern),
      plan(the_plan),
      target(the_target),
      lowering(the_workload),
      columns(ColumnsOf(the_pattern, the_plan.row_blocks)),
      copy_b(the_pattern.b_slides && !the_pattern.b.weight),
      accumulator(the_pattern.accumulator),
      n_tiles(CeilDiv(columns.length, the_plan.TileColumns())),
      m_tiles(CeilDiv(the_pattern.Extent(the_pattern.m), the_plan.rows)),
      k0_blocks(CeilDiv(the_pattern.Extent(the_pattern.k.front()), the_plan.k_block)),
      axes(the_pattern.extents.size(), IntExpr(0)) {}

std::string ContractionContext::AxisName(int axis) const {
  const Stage& stage = workload.stages[static_cast<std::size_t>(pattern.anchor)];
  return axis < 0 ? "1" : stage.axes[static_cast<std::size_t>(axis)].name;
}

AxisValues ContractionContext::FullReduction() const {
  AxisValues extents;
  for (const int axis : pattern.k) extents.push_back(IntExpr(pattern.Extent(axis)));
  return extents;
}

void ContractionContext::SetReduction(AxisValues& at, std::span<const ExprPtr> k,
                                      const ExprPtr& k0_start) const {
  for (std::size_t i = 0; i < k.size(); ++i)
    at[static_cast<std::size_t>(pattern.k[i])] = i == 0 ? k0_start + k[i] : k[i];
}

Scratch ContractionContext::AddScratch(std::string name, std::int64_t elements) {
  const std::int64_t padded = RoundUp(elements, 64 / ByteSize(accumulator));
  const int buffer = program().AddBuffer(
      {std::move(name), accumulator, padded * parallel_parts, Scope::kWorkspace, -1, ""});
  return {buffer, parallel_index ? parallel_index * padded : IntExpr(0)};
}

ExprPtr ContractionContext::FlatIndexOf(const OperandAccess& operand,
                                        std::span<const ExprPtr> at) const {
  AxisValues indices;
  indices.reserve(operand.index.size());
  for (const Affine& index : operand.index) indices.push_back(ValueOf(index, at));
  return internal::FlatIndex(workload.tensors[static_cast<std::size_t>(operand.tensor)], indices);
}

ExprPtr ContractionContext::Element(const OperandAccess& operand, std::span<const ExprPtr> at) {
  return CastExpr(accumulator, LoadExpr(lowering.BufferOf(operand.tensor),
                                        {FlatIndexOf(operand, at)}, operand.type));
}

StepFunction ContractionContext::StrideStep(const OperandAccess& operand) const {
  std::vector<std::int64_t> strides;
  for (const int axis : pattern.k) strides.push_back(operand.Stride(axis));
  return [strides](std::span<const ExprPtr> k) {
    ExprPtr sum = IntExpr(0);
    for (std::size_t i = 0; i < k.size(); ++i) sum = sum + k[i] * strides[i];
    return sum;
  };
}

StepFunction ContractionContext::PanelStep(std::int64_t width) const {
  return [extents = FullReduction(), width](std::span<const ExprPtr> k) {
    return LinearStep(k, extents) * width;
  };
}

std::int64_t ContractionContext::OuterCount(const OperandAccess& operand) const {
  std::int64_t count = 1;
  for (const int axis : pattern.outer)
    if (operand.Uses(axis)) count *= pattern.Extent(axis);
  return count;
}

ExprPtr ContractionContext::OuterIndex(const OperandAccess& operand) {
  ExprPtr index = IntExpr(0);
  for (const int axis : pattern.outer)
    if (operand.Uses(axis)) index = index * pattern.Extent(axis) + Axis(axis);
  return index;
}

}  // namespace kindred
