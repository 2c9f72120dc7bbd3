// KernelPackage: the answer to "what is the best kernel for this workload on this target?".
//
// It is self-contained: the source, how to call it (steps and arguments, in the asker's own tensor
// names), and how far it can be trusted (match level, validated, statistics, provenance).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "schedules/canonical.h"
#include "schedules/kernel.h"

namespace kindred {

enum class MatchLevel : std::uint8_t {
  kExact,      // measured for this workload on this target
  kDevice,     // measured for this workload on a like device
  kSibling,    // a family member's winner, carried over to this shape
  kPredicted,  // best by the cost models
  kDefault,    // best by the analytic prior
};
std::string_view Name(MatchLevel level);

struct KernelPackage {
  std::string key;
  std::string target;
  MatchLevel match = MatchLevel::kDefault;
  bool validated = false;
  nlohmann::ordered_json schedule;
  KernelSource kernel;
  nlohmann::json arguments;
  nlohmann::json statistics;
  nlohmann::json provenance;
  std::int64_t epoch = 0;
};

std::string_view LanguageName(const KernelSource& kernel);  // "c", "cuda", "command"

// {"key", "target", "match", "validated", "schedule", "language", "source", "steps", "arguments",
//  "workspace_bytes", "statistics", "provenance", "epoch"}
nlohmann::ordered_json ToJson(const KernelPackage& package);

// [{"kind": "prepare" | "launch", "entry", "when"}], in order. CUDA: launches, one after the other
// on one stream, with "grid" and "block" (x, y, z), "shared_bytes" (dynamic) and "parameters"
// [{"kind": "argument" | "workspace" | "extent", "value"}]: the buffer's place, the offset in the
// workspace in bytes, the place of the symbolic extent (64-bit). A size that depends on extents is
// {"extent": I} or {"op", "args"}, dividing towards minus infinity.
nlohmann::json StepsToJson(const KernelSource& kernel);
// Fills entries and steps of a kernel whose language is set.
Result<void> StepsFromJson(const nlohmann::json& steps, KernelSource& kernel);

// One object per buffer of the entry, in order: {"position", "name", "access", "type", "shape",
// "elements", "layout", "tensor"}. Names and shapes are those of `workload`, which the kernel's
// tensor ids refer to.
nlohmann::json ArgumentsToJson(const KernelSource& kernel, const Workload& workload);
Result<std::vector<KernelArgument>> ArgumentsFromJson(const nlohmann::json& arguments);

// The same in the names and shapes of the asker, whose canonical form the kernel was made for.
nlohmann::json AskersArguments(const KernelSource& kernel, const Workload& asker,
                               const CanonicalWorkload& canonical);

}  // namespace kindred
