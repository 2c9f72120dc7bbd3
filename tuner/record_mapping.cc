#include "tuner/record_mapping.h"

#include <unistd.h>

#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/target_json.h"
#include "schedules/text_form.h"
#include "tuner/kernel_package.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using nlohmann::json;

std::string WorkerName() {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  return host;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::optional<Status> StatusNamed(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Status::kAbandoned); ++i)
    if (Name(static_cast<Status>(i)) == name) return static_cast<Status>(i);
  return std::nullopt;
}

json CpuFingerprint(const Target& t) {
  return {{"model", t.model},
          {"cores", t.cores},
          {"threads", t.threads},
          {"vector_bytes", t.vector_bytes},
          {"vector_registers", t.vector_registers},
          {"l1_bytes", t.l1_bytes},
          {"l2_bytes", t.l2_bytes}};
}

json CudaFingerprint(const Target& t) {
  return {{"model", t.model},
          {"arch", t.gpu.arch},
          {"sms", t.gpu.sms},
          {"shared_bytes_per_sm", t.gpu.shared_bytes_per_sm},
          {"l2_bytes", t.l2_bytes}};
}

}  // namespace

std::int64_t NowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

TargetRecord ToRecord(const Target& t) {
  const bool cuda = t.kind == DeviceKind::kCuda;
  TargetRecord record;
  const json fingerprint = cuda ? CudaFingerprint(t) : CpuFingerprint(t);
  record.cache_state = cuda ? "cold" : "hot";
  record.name = t.id;
  record.fingerprint = fingerprint.dump();
  record.description = TargetToJson(t).dump();
  record.id = t.id + "@" + HashOf(record.fingerprint).Hex().substr(0, 8);
  return record;
}

Result<Target> ToTarget(const TargetRecord& record) {
  auto target = TargetFromJson(json::parse(record.description, nullptr, false));
  if (!target)
    return BadInput("the log's description of target " + record.id +
                    " cannot be used: " + target.error().message);
  return target;
}

WorkloadRecord ToRecord(const CanonicalWorkload& canonical, const std::string& name) {
  WorkloadRecord record;
  record.key = canonical.key.Hex();
  record.structure = DescribeFamily(canonical.workload).structure.Hex();
  record.name = name;
  record.text = PrintWorkload(canonical.workload);
  record.json = WorkloadToJson(canonical.workload).dump();
  record.flop = Flop(canonical.workload);
  record.bytes = CompulsoryBytes(canonical.workload);
  return record;
}

KernelRecord ToRecord(const KernelSource& kernel, const Workload& canonical) {
  KernelRecord record;
  record.code = kernel.code;
  json package;
  package["language"] = LanguageName(kernel);
  package["steps"] = StepsToJson(kernel);
  package["arguments"] = ArgumentsToJson(kernel, canonical);
  package["workspace_bytes"] = kernel.workspace_bytes;
  package["compiler"] = kernel.compiler;
  package["flags"] = kernel.flags;
  record.package = package.dump();
  record.hash = KernelHash(record.code, record.package);
  return record;
}

Result<KernelSource> ToKernel(const KernelRecord& record) {
  const json package = json::parse(record.package, nullptr, false);
  try {
    KernelSource kernel;
    kernel.code = record.code;
    kernel.language = package.at("language") == "cuda" ? KernelSource::Language::kCuda
                                                       : KernelSource::Language::kC;
    KINDRED_CHECK(StepsFromJson(package.at("steps"), kernel));
    KINDRED_TRY(kernel.arguments, ArgumentsFromJson(package.at("arguments")));
    kernel.workspace_bytes = package.at("workspace_bytes");
    kernel.compiler = package.at("compiler");
    kernel.flags = package.at("flags").get<std::vector<std::string>>();
    return kernel;
  } catch (const json::exception& error) {
    return BadInput("the log's kernel " + record.hash + " is damaged: " + error.what());
  }
}

TrialRecord ToRecord(const TrialOrigin& origin, const Candidate& candidate,
                     const KernelSource& kernel, const Outcome& outcome) {
  TrialRecord r;
  r.session = origin.session;
  r.round = origin.round;
  r.position = origin.position;
  r.workload = origin.workload;
  r.target = origin.target;
  r.searcher = origin.searcher;
  r.sketch = candidate.path.empty() ? "" : candidate.path.front().label;
  r.schedule_key = candidate.key.Hex();
  r.schedule = PathToJson(candidate.path);
  r.status = Name(outcome.status);
  r.message = outcome.message;
  r.median_ns = outcome.median_ns;
  r.samples = outcome.samples;
  r.control_ns = outcome.control_ns;
  r.predicted_ns = origin.predicted_ns;
  r.validated = outcome.validated;
  r.build_s = outcome.build_s;
  r.run_s = outcome.run_s;
  r.build_facts = json{{"code_bytes", outcome.facts.code_bytes},
                       {"registers", outcome.facts.registers},
                       {"spill_bytes", outcome.facts.spill_bytes},
                       {"shared_bytes", outcome.facts.shared_bytes}}
                      .dump();
  r.cache_state = outcome.Timed() ? (outcome.cold ? "cold" : "hot") : origin.cache_state;
  json conditions = json::object();
  if (!outcome.timer.empty())
    conditions = {{"timer", outcome.timer},
                  {"sm_clock_mhz", outcome.sm_clock_mhz},
                  {"throttled", outcome.throttled}};
  if (outcome.interleaved_passes > 0) conditions["interleaved_passes"] = outcome.interleaved_passes;
  r.conditions = conditions.dump();
  r.kernel = origin.kernel;
  r.compiler = outcome.compiler.empty() ? kernel.compiler : outcome.compiler;
  r.flags = Joined(kernel.flags);
  r.driver = outcome.driver;
  r.version = Version();
  r.worker = WorkerName();
  r.time_ms = NowMs();
  return r;
}

ProfileRecord ToRecord(std::int64_t trial, const std::map<std::string, double>& metrics, bool cold,
                       const std::string& driver) {
  return {trial,  json(metrics).dump(),   cold ? "cold" : "hot",
          driver, std::string(Version()), WorkerName(),
          NowMs()};
}

Result<Outcome> ToOutcome(const TrialRecord& record) {
  Outcome outcome;
  const auto status = StatusNamed(record.status);
  if (!status)
    return Unsupported(fmt::format(
        "trial {} of the log has the status '{}', which this version of Kindred does not know: is "
        "the log of a newer one? Use that, or another log (--log)",
        record.id, record.status));
  outcome.status = *status;
  outcome.message = record.message;
  outcome.median_ns = record.median_ns;
  outcome.samples = record.samples;
  outcome.validated = record.validated;
  outcome.control_ns = record.control_ns;
  outcome.build_s = record.build_s;
  outcome.run_s = record.run_s;
  outcome.compiler = record.compiler;
  outcome.driver = record.driver;
  const json facts = json::parse(record.build_facts, nullptr, false);
  if (facts.is_object()) {
    outcome.facts.code_bytes = facts.value("code_bytes", std::int64_t{0});
    outcome.facts.registers = facts.value("registers", std::int64_t{0});
    outcome.facts.spill_bytes = facts.value("spill_bytes", std::int64_t{0});
    outcome.facts.shared_bytes = facts.value("shared_bytes", std::int64_t{0});
  }
  outcome.cold = record.cache_state == "cold";
  const json conditions = json::parse(record.conditions, nullptr, false);
  if (conditions.is_object()) {
    outcome.timer = conditions.value("timer", "");
    outcome.sm_clock_mhz = conditions.value("sm_clock_mhz", 0.0);
    outcome.throttled = conditions.value("throttled", "");
    outcome.interleaved_passes = conditions.value("interleaved_passes", 0);
  }
  return outcome;
}

bool IsRemeasurement(const TrialRecord& record) {
  if (record.conditions == "{}") return false;
  const json conditions = json::parse(record.conditions, nullptr, false);
  return conditions.is_object() && conditions.value("interleaved_passes", 0) > 0;
}

}  // namespace kindred
