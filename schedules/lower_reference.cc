#include "schedules/lower_reference.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/lower_common.h"

namespace kindred {
namespace {

// Elements side by side: what they read of a matrix with long rows still fits into a first-level
// cache.
constexpr std::int64_t kBlock = 512;

StmtPtr BlockedStage(internal::Lowering& lowering, const Stage& stage) {
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  std::vector<internal::LoopSpec> loops;
  std::vector<ExprPtr> values;
  for (const Axis& axis : stage.axes) {
    const int var = lowering.program.AddVar(axis.name);
    loops.push_back({var, internal::ExtentValue(axis.extent)});
    values.push_back(VarExpr(var));
  }
  // The last axis becomes blocks and the elements of a block.
  internal::LoopSpec& blocks = loops[spatial - 1];
  const ExprPtr extent = blocks.extent;
  const ExprPtr begin = VarExpr(blocks.var) * kBlock;
  blocks.extent = (extent + (kBlock - 1)) / IntExpr(kBlock);
  const int element = lowering.program.AddVar("e");
  const ExprPtr count = BinaryExpr(Op::kMin, IntExpr(kBlock), extent - begin);
  values[spatial - 1] = begin + VarExpr(element);
  const auto over_block = [&](StmtPtr body) {
    return For(element, count, LoopKind::kSerial, std::move(body));
  };

  const auto out = std::span<const ExprPtr>(values).first(spatial);
  const Tensor& tensor = lowering.workload->tensors[static_cast<std::size_t>(stage.tensor)];
  const ExprPtr sum =
      lowering.Load(lowering.BufferOf(stage.tensor), internal::FlatIndex(tensor, out));
  const ExprPtr initial = internal::InitialValue(stage.combiner, stage.accumulator);
  const ExprPtr step = internal::Combine(stage.combiner, sum, lowering.Body(stage, values));
  const std::span<const internal::LoopSpec> all(loops);
  return internal::Nest(all.first(spatial),
                        Block({over_block(lowering.StoreResult(stage, out, initial)),
                               internal::Nest(all.subspan(spatial), over_block(lowering.StoreResult(
                                                                        stage, out, step)))}));
}

}  // namespace

Program LowerReference(const Workload& workload) {
  internal::Lowering lowering(workload);
  lowering.program.name = "reference";
  std::vector<StmtPtr> stages;
  for (const Stage& stage : workload.stages) {
    const DataType stored = workload.tensors[static_cast<std::size_t>(stage.tensor)].type;
    const bool blocked = stage.combiner != Combiner::kNone && !internal::IsArg(stage.combiner) &&
                         stage.spatial > 0 && stage.accumulator == stored;
    stages.push_back(blocked ? BlockedStage(lowering, stage)
                             : internal::PlainStage(lowering, stage));
  }
  lowering.program.head_comment = "reference";
  lowering.program.body = Block(std::move(stages));
  return std::move(lowering.program);
}

}  // namespace kindred
