#include "schedules/emit_kernel.h"

#include "schedules/emit_c.h"
#include "schedules/emit_cuda.h"

namespace kindred {

KernelSource EmitKernel(const Program& program, const Workload& workload, const Target& target) {
  return target.kind == DeviceKind::kCuda ? EmitCuda(program, workload)
                                          : EmitC(program, workload, target);
}

}  // namespace kindred
