// A tuning log of any size without tuning: the subgraphs of models, schedules of a random search
// with their kernels, and times that are made up (log-normal around a speed of each schedule, some
// failures). For benchmarks of what reads logs: `kindred analyze`, `kindred serve`.
//
//   make_log LOG TRIALS MODEL.onnx|WORKLOAD.kd|ZOO.json...
//
// Schedules are lowered once and measured by several sessions; their keys differ between sessions,
// as if each were another schedule. The device is this machine. `kindred log verify` finds nothing
// wrong with such a log.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <numbers>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/prior.h"
#include "database/sqlite_log.h"
#include "measure/runner.h"
#include "schedules/base/seed.h"
#include "schedules/emit_c.h"
#include "search/searcher.h"
#include "tuner/distinct_tasks.h"
#include "tuner/inputs.h"
#include "tuner/record_mapping.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using nlohmann::json;

constexpr int kSchedules = 64;              // lowered for each workload
constexpr std::int64_t kPerSession = 2000;  // trials
constexpr int kBatch = 8;                   // trials of a round
constexpr int kSamples = 34;                // of a trial
constexpr double kFailures = 0.06;          // of all trials

double Normal(Random& random) {
  const double u = 1 - random.Uniform(), v = random.Uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

struct Schedules {
  std::vector<Candidate> candidates;
  std::vector<KernelSource> kernels;
  std::vector<std::string> hashes;
  std::vector<double> ns;  // expected
  double predicted_ns = 0;
};

Schedules MakeSchedules(const DistinctTask& task, const Target& target, Random& random,
                        LogBatch& batch) {
  Schedules s;
  const auto space = MakeSpace(task.canonical.workload, target);
  s.candidates = MakeRandomSearcher(*space, random())->Propose(kSchedules);
  const double roofline = std::max(RooflineNs(task.canonical.workload, target), 100.0);
  s.predicted_ns = 2 * roofline;
  for (const Candidate& candidate : s.candidates) {
    s.kernels.push_back(EmitC(*candidate.program, task.canonical.workload, target));
    batch.kernels.push_back(ToRecord(s.kernels.back(), task.canonical.workload));
    s.hashes.push_back(batch.kernels.back().hash);
    s.ns.push_back(roofline * (1.1 + std::exp(0.8 * Normal(random))));
  }
  return s;
}

Outcome MakeOutcome(double expected_ns, Random& random) {
  Outcome outcome;
  outcome.build_s = 0.08;
  if (random.Uniform() < kFailures) {
    static constexpr std::pair<Status, const char*> kCauses[] = {
        {Status::kBuildError, "the compiler refused the kernel"},
        {Status::kCrash, "signal 11 (SIGSEGV)"},
        {Status::kWrongAnswer, "element 17 is 1.5, not 2.5"},
        {Status::kRunTimeout, "no answer within 20 s"}};
    const auto& [status, message] = kCauses[random.Below(std::size(kCauses))];
    outcome.status = status;
    outcome.message = message;
    return outcome;
  }
  const double level = expected_ns * std::exp(0.03 * Normal(random));
  const double noise = 0.002 * std::exp(0.7 * Normal(random));
  for (int i = 0; i < kSamples; ++i)
    outcome.samples.push_back(std::round(10 * level * std::exp(noise * Normal(random))) / 10);
  std::vector<double> sorted = outcome.samples;
  std::sort(sorted.begin(), sorted.end());
  outcome.median_ns = (sorted[kSamples / 2 - 1] + sorted[kSamples / 2]) / 2;
  outcome.validated = true;
  outcome.control_ns = 1000;
  outcome.run_s = 0.05;
  return outcome;
}

SessionRecord MakeSession(std::int64_t number, const std::string& target,
                          const std::vector<TuningInput>& inputs) {
  SessionRecord session;
  session.id = fmt::format("{:016x}", number + 1);
  session.target = target;
  json models = json::array();
  for (const TuningInput& input : inputs) {
    json tasks = json::array();
    for (const ImportedTask& task : input.model.tasks)
      tasks.push_back({task.canonical.key.Hex(), task.runs()});
    models.push_back({{"model", input.model.name}, {"tasks", std::move(tasks)}});
  }
  session.inputs = models.dump();
  session.seed = static_cast<std::uint64_t>(number);
  session.version = Version();
  session.state = "finished";
  session.started_ms = session.updated_ms = NowMs();
  session.summary = json{{"last_run", {{"wall_s", 300}, {"build_s", 160}, {"run_s", 100}}}}.dump();
  return session;
}

// Everything but sessions and trials.
LogBatch FixedRows(const std::vector<TuningInput>& inputs, const std::vector<DistinctTask>& tasks,
                   const Target& target) {
  LogBatch batch;
  batch.targets.push_back(ToRecord(target));
  for (const DistinctTask& task : tasks)
    batch.workloads.push_back(ToRecord(task.canonical, task.name));
  for (const Family& family : FamiliesOf(inputs, tasks)) {
    FamilyRecord record;
    record.id = family.id;
    record.structure = family.structure.Hex();
    for (const int member : family.members)
      record.members.push_back(tasks[static_cast<std::size_t>(member)].key);
    batch.families.push_back(std::move(record));
  }
  return batch;
}

Result<void> Make(const std::string& path, std::int64_t trials,
                  const std::vector<std::string>& models) {
  if (std::filesystem::exists(path)) return BadInput(path + " exists; give a new file");
  KINDRED_TRY(const auto inputs, ReadInputs(models, {}));
  const std::vector<DistinctTask> tasks = MergeTasks(inputs);
  KINDRED_TRY(const Target target, ProbeCpuTarget("cpu", ""));
  KINDRED_TRY(const auto log, OpenSqliteLog(path, OpenMode::kReadWrite));
  LogBatch batch = FixedRows(inputs, tasks, target);
  const std::string target_id = batch.targets[0].id;
  Random random(1);
  std::vector<Schedules> schedules;
  for (const DistinctTask& task : tasks)
    schedules.push_back(MakeSchedules(task, target, random, batch));
  for (std::int64_t first = 0, number = 0; first < trials; first += kPerSession, ++number) {
    const SessionRecord session = MakeSession(number, target_id, inputs);
    batch.sessions.push_back(session);
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      TaskRecord row;
      row.session = session.id;
      row.workload = tasks[t].key;
      row.position = static_cast<std::int64_t>(t);
      row.name = tasks[t].name;
      row.untuned_ns = 20 * schedules[t].predicted_ns;
      batch.tasks.push_back(std::move(row));
    }
    for (std::int64_t i = 0; i < std::min(kPerSession, trials - first); ++i) {
      const auto t = static_cast<std::size_t>(i / kBatch) % tasks.size();
      const Schedules& own = schedules[t];
      const std::size_t chosen = random.Below(own.candidates.size());
      TrialRecord trial = ToRecord({session.id, i / kBatch, i % kBatch, tasks[t].key, target_id,
                                    "mcts", own.predicted_ns, own.hashes[chosen]},
                                   own.candidates[chosen], own.kernels[chosen],
                                   MakeOutcome(own.ns[chosen], random));
      trial.schedule_key =
          HashOf(trial.schedule_key + std::to_string(number) + std::to_string(i)).Hex();
      batch.trials.push_back(std::move(trial));
    }
    KINDRED_CHECK(log->Append(batch));
    batch = {};
  }
  return {};
}

}  // namespace
}  // namespace kindred

int main(int argc, char** argv) {
  char* end = nullptr;
  const std::int64_t trials = argc > 3 ? std::strtoll(argv[2], &end, 10) : 0;
  if (trials <= 0 || *end != '\0') {
    fmt::print(stderr, "usage: {} LOG TRIALS MODEL.onnx|WORKLOAD.kd|ZOO.json...\n", argv[0]);
    return 2;
  }
  const auto made = kindred::Make(argv[1], trials, {argv + 3, argv + argc});
  if (made) return 0;
  fmt::print(stderr, "make_log: {}\n", made.error().message);
  return kindred::ExitCode(made.error());
}
