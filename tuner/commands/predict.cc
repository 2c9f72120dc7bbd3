// kindred predict: how long a computation takes at each width of a sweep, measured or predicted; or
// which schedules of a workload the models like best.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "database/sqlite_log.h"
#include "schedules/text_form.h"
#include "tuner/commands/commands.h"
#include "tuner/prediction.h"
#include "tuner/progress.h"
#include "tuner/record_mapping.h"
#include "tuner/report/table.h"
#include "tuner/sweep.h"
#include "tuner/targets.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

struct Point {
  std::int64_t value = 0;
  Workload workload;
};

Result<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code code;
  if (!file || std::filesystem::is_directory(path, code))
    return NotFound(path + ": cannot be read; predict takes a WORKLOAD.kd");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<std::vector<Point>> SweepPoints(const std::string& path, const Sweep& sweep) {
  KINDRED_TRY(const std::string text, ReadText(path));
  std::vector<Point> points;
  for (const std::int64_t value : sweep.values) {
    KINDRED_TRY(Workload workload, AtExtent(text, path, sweep.name, value));
    points.push_back({value, std::move(workload)});
  }
  return points;
}

TuningInput InputOf(const PredictCommand& command, const Sweep& sweep,
                    const std::vector<Point>& points, const std::vector<std::int64_t>& chosen) {
  const std::string stem = std::filesystem::path(command.workload).stem().string();
  std::vector<NamedWorkload> workloads;
  for (const Point& point : points)
    if (std::binary_search(chosen.begin(), chosen.end(), point.value))
      workloads.push_back({fmt::format("{} {}={}", stem, sweep.name, point.value), point.workload});
  TuningInput input =
      InputOfWorkloads(fmt::format("{}, sweep of {}", stem, sweep.name), std::move(workloads));
  input.path = command.workload;
  return input;
}

// Tunes points of the sweep into the log; the number of new trials.
Result<std::int64_t> MeasurePoints(const PredictCommand& command, const std::string& cache,
                                   TuningInput input, const Target& target, TuningLog& log) {
  RunnerSettings settings;
  settings.cache = cache;
  KINDRED_TRY(const auto runner, MakeRunner(target, settings));
  TuneOptions options;
  options.trials_per_task = command.trials;
  options.seed = command.seed;
  options.limits.run_s = settings.limits.run_timeout_s;
  std::vector<TuningInput> inputs;
  inputs.push_back(std::move(input));
  KINDRED_TRY(const auto session,
              TuningSession::Open(std::move(inputs), target, options, *runner, log));
  Progress progress(Progress::Style::kAuto);
  KINDRED_CHECK(session->Run([] { return false; }, progress));
  return session->new_trials();
}

json ToJson(std::int64_t value, const LatencyEstimate& estimate) {
  return {{"value", value},
          {"ns", estimate.ns},
          {"low_ns", estimate.low_ns},
          {"high_ns", estimate.high_ns},
          {"gflops", estimate.gflops},
          {"match", Name(estimate.match)},
          {"measured", estimate.measured()},
          {"key", estimate.key}};
}

void PrintPoints(const json& prediction) {
  Table table({{prediction.at("extent")},
               {"time"},
               {"from"},
               {"to"},
               {"GFLOP/s"},
               {"match", Table::Align::kLeft}});
  for (const json& point : prediction.at("points"))
    table.Row({std::to_string(point.at("value").get<std::int64_t>()), FormatNs(point.at("ns")),
               FormatNs(point.at("low_ns")), FormatNs(point.at("high_ns")),
               fmt::format("{:.1f}", point.at("gflops").get<double>()), point.at("match")});
  fmt::print("{}", table.Print());
}

// The log (none: nothing was ever measured), and the device as its predictions speak of it: as it
// was probed when the log was begun.
struct Source {
  std::unique_ptr<TuningLog> log;
  Target target;
  std::string cache;
};

Result<Source> OpenSource(const PredictCommand& command) {
  Source source;
  source.cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  KINDRED_TRY(source.target, ResolveTarget(command.target, source.cache));
  if (command.measure > 0) KINDRED_CHECK(CheckTimed(source.target));
  const bool implied = command.log.empty();
  const std::string path = implied ? "kindred.db" : command.log;
  std::error_code code;
  if (implied && command.measure == 0 && !std::filesystem::exists(path, code)) return source;
  const OpenMode mode = command.measure > 0 ? OpenMode::kReadWrite : OpenMode::kReadOnly;
  KINDRED_TRY(source.log, OpenSqliteLog(path, mode));
  KINDRED_TRY(const auto stored, source.log->FindTarget(ToRecord(source.target).id));
  if (stored) {
    KINDRED_TRY(source.target, ToTarget(*stored));
  }
  return source;
}

Result<void> PredictSweep(const PredictCommand& command) {
  KINDRED_TRY(const Sweep sweep, ParseSweep(command.sweep));
  KINDRED_TRY(const std::vector<Point> points, SweepPoints(command.workload, sweep));
  KINDRED_TRY(const Source source, OpenSource(command));
  std::int64_t trials = 0;
  if (command.measure > 0) {
    TuningInput input = InputOf(command, sweep, points, SpreadOver(sweep.values, command.measure));
    KINDRED_TRY(trials,
                MeasurePoints(command, source.cache, std::move(input), source.target, *source.log));
  }
  json out = {{"workload", command.workload},
              {"extent", sweep.name},
              {"target", source.target.id},
              {"new_trials", trials},
              {"points", json::array()}};
  for (const Point& point : points) {
    KINDRED_TRY(const LatencyEstimate estimate,
                EstimateLatency(source.log.get(), {point.workload, source.target, {}}));
    out["points"].push_back(ToJson(point.value, estimate));
  }
  if (command.json)
    fmt::print("{}\n", out.dump(2));
  else
    PrintPoints(out);
  return {};
}

Result<void> PredictSchedules(const PredictCommand& command) {
  if (command.measure > 0) return BadInput("--measure tunes points of a sweep; give --sweep too");
  KINDRED_TRY(const std::string text, ReadText(command.workload));
  KINDRED_TRY(const Workload workload, ParseWorkload(text, command.workload));
  KINDRED_TRY(const Source source, OpenSource(command));
  KINDRED_TRY(const auto ranked,
              RankSchedules(source.log.get(), {workload, source.target, {}}, command.schedules));
  const CanonicalWorkload canonical = Canonicalize(workload);
  json out = {{"workload", command.workload},
              {"key", canonical.key.Hex()},
              {"target", source.target.id},
              {"schedules", json::array()}};
  Table table({{"predicted"}, {"factor"}, {"prior alone"}, {"schedule", Table::Align::kLeft, 200}});
  for (const RankedSchedule& one : ranked) {
    const double prior_ns =
        PriorNs(ExtractFeatures(*one.candidate.program, canonical.workload, source.target),
                canonical.workload, source.target);
    const std::string schedule = PathToJson(one.candidate.path);
    table.Row({FormatNs(one.prediction.ns), fmt::format("{:.2f}", std::exp2(one.prediction.sigma)),
               FormatNs(prior_ns), schedule});
    out["schedules"].push_back({{"predicted_ns", one.prediction.ns},
                                {"sigma_log2", one.prediction.sigma},
                                {"prior_ns", prior_ns},
                                {"schedule", json::parse(schedule)}});
  }
  if (command.json)
    fmt::print("{}\n", out.dump(2));
  else
    fmt::print("{}", table.Print());
  return {};
}

}  // namespace

int RunPredict(const PredictCommand& command) {
  const auto done = command.sweep.empty() ? PredictSchedules(command) : PredictSweep(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
