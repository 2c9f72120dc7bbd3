// kindred tune SPEC.json: a kernel that a user brings.
#include <filesystem>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "measure/command_runner.h"
#include "measure/verifying_runner.h"
#include "tuner/commands/commands.h"
#include "tuner/kernel_session.h"
#include "tuner/targets.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;

double ObjectiveOf(const KernelTuneReport& r) {
  return r.maximise ? kNsPerMs / r.best_ns : r.best_ns / kNsPerMs;
}

json ToJson(const KernelTuneReport& r) {
  const auto number = [](double value) { return value > 0 ? json(value) : json(nullptr); };
  json out = {{"kernel", r.name},
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
  if (r.command)
    out["objective"] = {{"unit", r.unit},
                        {"direction", r.maximise ? "maximise" : "minimise"},
                        {"best", number(r.best_ns > 0 ? ObjectiveOf(r) : 0)}};
  return out;
}

void PrintText(const KernelTuneReport& r) {
  fmt::print("{}: {} of {} configurations tried, {} of them now, {} failed\n", r.name, r.trials,
             r.configurations, r.new_trials, r.failed);
  for (const auto& [status, count] : r.failures) fmt::print("  {:<16} {}\n", status, count);
  if (!r.reference.empty())
    fmt::print("reference  {}{}\n", r.reference,
               r.reference_ns > 0 ? ": " + FormatNs(r.reference_ns) : "");
  if (r.best_ns > 0) {
    fmt::print("best       {}{}\n           {}\n",
               r.command ? fmt::format("{:g} {}", ObjectiveOf(r), r.unit) : FormatNs(r.best_ns),
               r.reference_ns > 0 ? fmt::format(" ({:.2f}x)", r.reference_ns / r.best_ns) : "",
               r.best);
  } else {
    fmt::print("best       none: no configuration was right\n");
  }
  fmt::print("key        {}\n", r.key);
}

// Kernels in C and C++ run on the processor, those in CUDA on the first GPU if nothing is said.
Result<std::string> TargetOf(const TuneCommand& command, const KernelInput& input) {
  const bool cuda = input.spec.language == KernelSpec::Language::kCuda;
  if (command.threads > 0 && (cuda || command.target_given))
    return BadInput(
        "--threads is shorthand for --target cpu:threads=N; give only one of them, and neither for "
        "a kernel in CUDA");
  if (command.threads > 1) return fmt::format("cpu:threads={}", command.threads);
  if (cuda && !command.target_given) return std::string("cuda:0");
  if (input.spec.language == KernelSpec::Language::kCommand) return command.target;
  if (cuda != command.target.starts_with("cuda:"))
    return BadInput(fmt::format("{}: kernels in {} run on {}, not on '{}'", input.path,
                                cuda ? "CUDA" : "C and C++", cuda ? "cuda:N" : "cpu",
                                command.target));
  return command.target;
}

Result<std::unique_ptr<KernelRunner>> RunnerOf(const KernelInput& input, const Target& target,
                                               std::uint64_t seed, const RunnerSettings& settings) {
  if (input.spec.language == KernelSpec::Language::kCommand) {
    const SpecCommand& of = input.spec.command;
    return MakeCommandRunner({input.folder, of.timeout_s, of.maximise, of.unit});
  }
  KINDRED_TRY(KernelTask task, TaskOf(input, seed));
  if (input.spec.verifier.empty()) return MakeKernelRunner(target, std::move(task), settings);
  KINDRED_TRY(task.save_to, MakeOutputsFolder());
  const std::string outputs = task.save_to;
  auto runner = MakeKernelRunner(target, std::move(task), settings);
  if (!runner) {
    std::error_code ignored;
    std::filesystem::remove(outputs, ignored);
    return runner.error();
  }
  VerifierOptions options;
  options.command.words = input.spec.verifier;
  options.folder = input.folder;
  return MakeVerifyingRunner(std::move(*runner), outputs, std::move(options));
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
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  KINDRED_TRY(const std::string target_name, TargetOf(command, input));
  KINDRED_TRY(const Target target, ResolveTarget(target_name, cache));
  RunnerSettings settings;
  settings.cache = cache;
  settings.builders = command.builders;
  KINDRED_TRY(const auto runner, RunnerOf(input, target, command.options.seed, settings));
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
