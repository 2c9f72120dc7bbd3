// kindred replay: a search over a recorded space, without the device that it was recorded on.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tuner/commands/commands.h"
#include "tuner/replay.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kPoints[] = {25, 50, 100, 200};

json OrNull(double ratio) { return ratio > 0 ? json(ratio) : json(nullptr); }

json ToJson(const ReplayCommand& command, const RecordedSpace& recorded,
            const std::vector<ReplayRun>& runs, double wall_s) {
  json out = {{"space", command.space},         {"searcher", command.searcher},
              {"transfer", command.transfer},   {"noise", command.noise},
              {"budget", command.budget},       {"configurations", recorded.space.size()},
              {"optimum", recorded.optimum_ms}, {"runs", json::array()},
              {"median", json::object()},       {"wall_s", wall_s}};
  for (const ReplayRun& run : runs) {
    json ratio = json::array();
    for (const double value : run.ratio) ratio.push_back(OrNull(value));
    out["runs"].push_back({{"seed", run.seed}, {"ratio", std::move(ratio)}});
  }
  for (const std::size_t point : kPoints)
    if (point <= static_cast<std::size_t>(command.budget))
      out["median"][std::to_string(point)] = OrNull(MedianRatio(runs, point));
  return out;
}

void PrintText(const ReplayCommand& command, const RecordedSpace& recorded,
               const std::vector<ReplayRun>& runs) {
  fmt::print("{} configurations, the fastest takes {:.6g} ms\n", recorded.space.size(),
             recorded.optimum_ms);
  Table table({{"evaluations"}, {"median over optimum"}});
  std::vector<std::size_t> points;
  for (const std::size_t point : kPoints)
    if (point < static_cast<std::size_t>(command.budget)) points.push_back(point);
  points.push_back(static_cast<std::size_t>(command.budget));
  for (const std::size_t point : points) {
    const double ratio = MedianRatio(runs, point);
    table.Row({std::to_string(point), ratio > 0 ? fmt::format("{:.4f}", ratio) : "-"});
  }
  fmt::print("{}", table.Print());
}

void WarnOfRecording(const std::string& path, const Recording& recording) {
  if (recording.truncated)
    fmt::print(stderr, "{}: its end is missing; {} configurations before it are used\n", path,
               recording.trials.size());
  if (recording.not_finite > 0)
    fmt::print(stderr, "{}: {} times are not finite; these configurations count as failures\n",
               path, recording.not_finite);
}

void Warn(const ReplayCommand& command, const Recording& recording, const RecordedSpace& recorded) {
  WarnOfRecording(command.space, recording);
  if (recorded.recorded < recording.trials.size())
    fmt::print(stderr, "{}: {} recorded configurations are not legal by {}; they are left out\n",
               command.space, recording.trials.size() - recorded.recorded, command.spec);
  if (recorded.recorded < recorded.space.size())
    fmt::print(stderr, "{}: {} legal configurations are not recorded; they count as failures\n",
               command.space, recorded.space.size() - recorded.recorded);
}

Result<void> Run(const ReplayCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  KINDRED_TRY(const Recording recording, ReadRecording(command.space));
  std::optional<T1Space> spec;
  if (!command.spec.empty()) {
    bool truncated = false;
    KINDRED_TRY(const std::string text, ReadMaybeGzipped(command.spec, &truncated));
    KINDRED_TRY(spec, ParseT1Space(text, command.spec));
  }
  KINDRED_TRY(const RecordedSpace recorded, MakeRecordedSpace(recording, spec));
  Warn(command, recording, recorded);
  ReplayOptions options;
  options.searcher = command.searcher;
  options.budget = command.budget;
  options.noise = command.noise;
  if (command.noise && std::all_of(recorded.samples_ms.begin(), recorded.samples_ms.end(),
                                   [](const auto& samples) { return samples.empty(); }))
    return BadInput(command.space + ": has no samples to draw from; leave --noise out");
  for (const std::string& path : command.transfer) {
    KINDRED_TRY(const Recording other, ReadRecording(path));
    WarnOfRecording(path, other);
    auto times = TimesOf(other, recorded.space);
    if (!times) return BadInput(path + ": " + times.error().message);
    options.elsewhere.push_back(std::move(*times));
  }
  std::vector<ReplayRun> runs;
  for (int i = 0; i < command.seeds; ++i) {
    KINDRED_TRY(ReplayRun run,
                Replay(recorded, options, command.first_seed + static_cast<std::uint64_t>(i)));
    runs.push_back(std::move(run));
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  if (command.json)
    fmt::print("{}\n", ToJson(command, recorded, runs, wall.count()).dump());
  else
    PrintText(command, recorded, runs);
  return {};
}

}  // namespace

int RunReplay(const ReplayCommand& command) {
  const auto done = Run(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
