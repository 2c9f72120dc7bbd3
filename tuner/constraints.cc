#include "tuner/constraints.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kindred {

std::string Constraints::Text() const {
  std::string text = fmt::format("{} {} {} {}", workspace_bytes.value_or(-1),
                                 fmt::join(dialects, ","), plain_layouts, deterministic);
  if (allow)
    text += fmt::format(" {}{}{}{}", int{allow->tf32}, int{allow->winograd}, int{allow->atomics},
                        int{allow->fast_math});
  return text;
}

Result<Workload> Constraints::Narrow(Workload workload, const Target& target) const {
  const std::string own = target.kind == DeviceKind::kCuda ? "cuda" : "c";
  if (!dialects.empty() && std::find(dialects.begin(), dialects.end(), own) == dialects.end())
    return Unsupported(fmt::format("there are no kernels for {} of the dialects '{}'; there is {}",
                                   target.id, fmt::join(dialects, "', '"), own));
  NumericContract& contract = workload.contract;
  if (allow) {
    contract.tf32 = contract.tf32 && allow->tf32;
    contract.winograd = contract.winograd && allow->winograd;
    contract.atomics = contract.atomics && allow->atomics;
    contract.fast_math = contract.fast_math && allow->fast_math;
  }
  if (deterministic) contract.atomics = false;
  return workload;
}

bool Constraints::Admit(const KernelSource& kernel) const {
  if (workspace_bytes && kernel.workspace_bytes > *workspace_bytes) return false;
  return !plain_layouts || kernel.prepare_entry.empty();
}

}  // namespace kindred
