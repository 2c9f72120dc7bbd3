#include "tuner/kernel_answer.h"

#include "tuner/record_mapping.h"

namespace kindred {

Result<KernelPackage> AnswerKernel(const TuningLog& log, const WorkloadRecord& kernel,
                                   const Target& target, std::optional<std::int64_t> epoch) {
  const TargetRecord device = ToRecord(target);
  KINDRED_TRY(const auto trial, log.BestSchedule(kernel.key, device.id, epoch));
  if (!trial)
    return NotFound("the log has no right configuration of " + kernel.name + " on " + device.id +
                    "; `kindred tune` its description");
  KINDRED_TRY(const auto record, log.FindKernel(trial->kernel));
  if (!record)
    return Environment("the log lacks the kernel of trial " + std::to_string(trial->id) +
                       "; `kindred log verify` shows what else is damaged");
  KernelPackage package;
  package.key = kernel.key;
  package.target = target.id;
  package.match = MatchLevel::kExact;
  package.validated = trial->validated;
  package.schedule = nlohmann::ordered_json::parse(trial->schedule, nullptr, false);
  KINDRED_TRY(package.kernel, ToKernel(*record));
  package.arguments =
      nlohmann::json::parse(record->package, nullptr, false).value("arguments", nlohmann::json());
  package.statistics = {{"median_ns", trial->median_ns},
                        {"samples_ns", trial->samples},
                        {"control_ns", trial->control_ns},
                        {"cache_state", trial->cache_state}};
  package.provenance = {{"compiler", package.kernel.compiler},
                        {"compiler_version", trial->compiler},
                        {"flags", trial->flags},
                        {"version", trial->version},
                        {"worker", trial->worker},
                        {"session", trial->session},
                        {"trial", trial->id},
                        {"time_ms", trial->time_ms},
                        {"searcher", trial->searcher}};
  KINDRED_TRY(package.epoch, log.Epoch());
  return package;
}

}  // namespace kindred
