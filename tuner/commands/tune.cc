// kindred tune: the main job.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "schedules/user/kernel_spec.h"
#include "tuner/check_schedules.h"
#include "tuner/commands/commands.h"
#include "tuner/profile_winners.h"
#include "tuner/record_mapping.h"
#include "tuner/report/tune_report.h"
#include "tuner/targets.h"

namespace kindred {
namespace {

constexpr std::int64_t kSchedulesChecked = 8;  // of each subgraph, where no number is given

// Of the memory there is, what a worker may take.
constexpr double kMemoryShare = 0.9;

volatile std::sig_atomic_t stop_requested = 0;

// The first Ctrl-C ends the run after the present trial; a second one ends the process.
void RequestStop(int signal_number) {
  stop_requested = 1;
  std::signal(signal_number, SIG_DFL);
}

// A description of a kernel, not a list of models.
bool IsKernel(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".json") return false;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return IsKernelSpec(text.str());
}

// The emulation has no times: schedules are checked, and there is nothing for a log.
Result<void> Check(const TuneCommand& command, std::vector<TuningInput> inputs,
                   const Target& target, Runner& runner, Progress& progress) {
  const auto schedules =
      command.options.trials_per_task > 0 ? command.options.trials_per_task : kSchedulesChecked;
  KINDRED_TRY(const auto checked,
              CheckSchedules(
                  std::move(inputs), target, static_cast<int>(schedules), command.options.seed,
                  runner, [] { return stop_requested != 0; }, progress));
  fmt::print("{}\n", command.json ? CheckedJson(checked, target) : CheckedText(checked, target));
  for (const CheckedTask& task : checked)
    if (!task.failures.empty())
      return Internal(fmt::format("{}: some schedules are not right", task.name));
  return {};
}

Result<void> Profile(const TuningSession& session, CudaProfiler& profiler, std::uint64_t seed,
                     TuningLog& log, Progress& progress) {
  std::vector<std::string> keys;
  for (const TuneTask& task : session.tasks()) keys.push_back(task.key);
  KINDRED_TRY(const int profiled, ProfileWinners(
                                      keys, ToRecord(session.target()).id, profiler, seed,
                                      [] { return stop_requested != 0; }, log, progress));
  progress.Note(fmt::format("hardware counters of {} kernels were read", profiled));
  return {};
}

Result<void> Tune(const TuneCommand& command) {
  if (std::any_of(command.inputs.begin(), command.inputs.end(), IsKernel)) {
    if (command.profile)
      return BadInput("--profile is for models and workloads, not for kernels' descriptions");
    std::signal(SIGINT, RequestStop);
    std::signal(SIGTERM, RequestStop);
    return TuneUserKernel(command, [] { return stop_requested != 0; });
  }
  if (command.options.searcher == "surrogate")
    return BadInput("the searcher 'surrogate' is for kernels' descriptions (SPEC.json) only");
  KINDRED_TRY(const InputOptions input_options, ToInputOptions(command.models));
  KINDRED_TRY(auto inputs, ReadInputs(command.inputs, input_options));
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  std::string target_name = command.target;
  if (command.threads > 1) {
    if (target_name != "cpu")
      return BadInput("--threads is shorthand for --target cpu:threads=N; give only one of them");
    target_name = fmt::format("cpu:threads={}", command.threads);
  }
  KINDRED_TRY(const Target target, ResolveTarget(target_name, cache));
  RunnerSettings settings;
  settings.cache = cache;
  settings.builders = command.builders;
  std::unique_ptr<CudaProfiler> profiler;
  if (command.profile) {
    KINDRED_TRY(profiler, MakeProfiler(target, settings));
  }
  KINDRED_TRY(const auto runner, MakeRunner(target, settings));
  Progress progress(command.quiet ? Progress::Style::kQuiet : Progress::Style::kAuto);
  std::signal(SIGINT, RequestStop);
  std::signal(SIGTERM, RequestStop);
  if (target.id == kEmulatedTarget)
    return Check(command, std::move(inputs), target, *runner, progress);
  // Last, so that what cannot be tuned here leaves no empty log.
  KINDRED_TRY(auto log, OpenSqliteLog(command.log, OpenMode::kReadWrite));

  TuneOptions options = command.options;
  options.limits.memory_bytes = kMemoryShare * MemoryBytes();
  options.limits.run_s = settings.limits.run_timeout_s;
  if (options.trials == 0 && options.trials_per_task == 0 && options.time_s == 0 &&
      options.until == 0)
    options.trials_per_task = kDefaultTrialsPerTask;
  KINDRED_TRY(const auto session,
              TuningSession::Open(std::move(inputs), target, options, *runner, *log));
  progress.Note(fmt::format("{} subgraphs in {} families on {} ({}); log {}, session {}",
                            session->tasks().size(), session->families().size(),
                            session->target().id, session->target().model, command.log,
                            session->id()));
  for (const std::string& sentence : session->TakenOver()) progress.Note(sentence);
  KINDRED_CHECK(session->Run([] { return stop_requested != 0; }, progress));
  if (profiler) KINDRED_CHECK(Profile(*session, *profiler, options.seed, *log, progress));
  if (command.json)
    fmt::print("{}\n", TuneReportJson(*session).dump(2));
  else
    fmt::print("{}", TuneReportText(*session));
  if (session->interrupted())
    progress.Note(
        "stopped; everything measured is in the log, and the same command goes on from here");
  return {};
}

}  // namespace

int RunTune(const TuneCommand& command) {
  const auto done = Tune(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
