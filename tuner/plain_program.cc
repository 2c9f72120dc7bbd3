#include "tuner/plain_program.h"

#include "schedules/lower_naive.h"
#include "schedules/space.h"

namespace kindred {

Result<Program> PlainProgram(const Workload& canonical, const Target& target) {
  if (target.kind == DeviceKind::kCpu) return LowerNaive(canonical);
  const auto space = MakeSpace(canonical, target);
  KINDRED_TRY(const Candidate candidate,
              space->Lower(space->Adapt({{"sketch", 0, "generic"}, {"inline", 0, ""}})));
  return *candidate.program;
}

std::string_view PlainProgramName(const Target& target) {
  return target.kind == DeviceKind::kCpu ? "the plain loop nest" : "the plain kernel";
}

}  // namespace kindred
