// kindred tune SPEC.json: a kernel that a user brings.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "tuner/commands/commands.h"
#include "tuner/kernel_session.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

json ToJson(const KernelTuneReport& r) {
  const auto number = [](double value) { return value > 0 ? json(value) : json(nullptr); };
  return {{"kernel", r.name},
          {"key", r.key},
          {"family", r.family},
          {"target", r.target},
          {"session", r.session},
          {"configurations", r.configurations},
          {"trials", r.trials},
          {"new_trials", r.new_trials},
          {"failed", r.failed},
          {"failures", r.failures},
          {"reference", r.reference},
          {"reference_ns", number(r.reference_ns)},
          {"best_ns", number(r.best_ns)},
          {"best", r.best.empty() ? json(nullptr) : json::parse(r.best)},
          {"interrupted", r.interrupted},
          {"exhausted", r.exhausted},
          {"wall_s", r.wall_s}};
}

void PrintText(const KernelTuneReport& r) {
  fmt::print("{}: {} of {} configurations tried, {} of them now, {} failed\n", r.name, r.trials,
             r.configurations, r.new_trials, r.failed);
  for (const auto& [status, count] : r.failures) fmt::print("  {:<16} {}\n", status, count);
  if (!r.reference.empty())
    fmt::print("reference  {}{}\n", r.reference,
               r.reference_ns > 0 ? ": " + FormatNs(r.reference_ns) : "");
  if (r.best_ns > 0) {
    fmt::print("best       {}{}\n           {}\n", FormatNs(r.best_ns),
               r.reference_ns > 0 ? fmt::format(" ({:.2f}x)", r.reference_ns / r.best_ns) : "",
               r.best);
  } else {
    fmt::print("best       none: no configuration was right\n");
  }
  fmt::print("key        {}\n", r.key);
}

}  // namespace

Result<void> TuneUserKernel(const TuneCommand& command, const std::function<bool()>& stop) {
  if (command.inputs.size() > 1)
    return BadInput(
        "a kernel's description is tuned alone; give it as the only input of `kindred tune`");
  const ModelOptions unused;
  if (!command.models.dims.empty() || command.models.merge != unused.merge ||
      command.models.trips != unused.trips)
    return BadInput(command.inputs[0] + ": --dim, --merge and --trips are for models (MODEL.onnx)");
  if (command.options.until > 0)
    return BadInput(
        command.inputs[0] +
        ": --until is for models and workloads; bound a kernel with --trials or --time");
  KINDRED_TRY(const KernelInput input, ReadKernelInput(command.inputs[0]));
  if (input.spec.language == KernelSpec::Language::kCuda)
    return Unsupported(input.path +
                       ": kernels in CUDA cannot be run by this version of Kindred; C and C++ can");
  std::string target_name = command.target;
  if (command.threads > 1) target_name = fmt::format("cpu:threads={}", command.threads);
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  KINDRED_TRY(const Target target, ProbeCpuTarget(target_name, cache));
  CpuRunnerOptions runner_options;
  runner_options.cache_directory = cache;
  runner_options.worker_program = "/proc/self/exe";
  KINDRED_TRY(const auto runner,
              MakeKernelRunner(target, TaskOf(input, command.options.seed), runner_options));
  KINDRED_TRY(const auto log, OpenSqliteLog(command.log, OpenMode::kReadWrite));

  KernelTuneOptions options;
  options.trials =
      command.options.trials > 0 ? command.options.trials : command.options.trials_per_task;
  options.time_s = command.options.time_s;
  if (options.trials == 0 && options.time_s == 0) options.trials = kDefaultTrialsPerTask;
  options.seed = command.options.seed;
  options.batch = command.options.batch;
  if (command.searcher_given) options.searcher = command.options.searcher;
  Progress progress(command.quiet ? Progress::Style::kQuiet : Progress::Style::kAuto);
  progress.Note(fmt::format("{}: {} configurations", input.name, input.space.size()));
  KINDRED_TRY(const KernelTuneReport report,
              TuneKernel(input, target, options, *runner, *log, stop, progress));
  if (command.json)
    fmt::print("{}\n", ToJson(report).dump(2));
  else
    PrintText(report);
  if (report.interrupted)
    progress.Note(
        "stopped; everything measured is in the log, and the same command goes on from here");
  return {};
}

}  // namespace kindred
