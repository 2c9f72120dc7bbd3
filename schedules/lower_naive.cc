#include "schedules/lower_naive.h"

#include "schedules/internal/lower_common.h"

namespace kindred {

Program LowerNaive(const Workload& workload) {
  internal::Lowering lowering(workload);
  lowering.program.name = "plain";
  lowering.program.plain = true;
  std::vector<StmtPtr> stages;
  for (const Stage& stage : workload.stages)
    stages.push_back(internal::PlainStage(lowering, stage));
  lowering.program.head_comment = "plain loop nest";
  lowering.program.body = Block(std::move(stages));
  return std::move(lowering.program);
}

}  // namespace kindred
