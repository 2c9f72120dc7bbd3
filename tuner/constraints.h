// What an asker can do with: conditions on the kernel of an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/kernel.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

struct Constraints {
  std::optional<std::int64_t> workspace_bytes;  // at most
  std::vector<std::string> dialects;            // kinds of kernel that will do; empty: any
  bool plain_layouts = false;                   // no weights that must be packed ahead of time
  // The same bits in every run. All kernels of workloads that do not allow atomics are.
  bool deterministic = false;
  // Narrows what the workload itself allows.
  std::optional<NumericContract> allow;

  bool empty() const { return *this == Constraints(); }
  bool operator==(const Constraints&) const = default;
  // The same text for equal constraints.
  std::string Text() const;

  // The workload under the narrower contract. Error (kUnsupported): kernels for the target are in
  // none of these dialects.
  Result<Workload> Narrow(Workload workload, const Target& target) const;
  // Whether the kernel, of a workload that Narrow gave, will do.
  bool Admit(const KernelSource& kernel) const;
};

}  // namespace kindred
