#include "tuner/command_line.h"

#include <charconv>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/commands/commands.h"
#include "tuner/targets.h"
#include "tuner/version.h"

namespace kindred {
namespace {

// "90", "90s", "10m", "2h" in seconds.
std::string ReadDuration(std::string& text, double& seconds) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !(value > 0))
    return "'" + text + "' is not a duration; write e.g. 90s, 10m or 2h";
  seconds = value * scale;
  return {};
}

// "1%" as a share.
std::string ReadPercentage(const std::string& text, double& share) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || std::string(end) != "%" || !(value > 0 && value < 100))
    return "'" + text + "' is not a percentage above 0% and below 100%; write e.g. 1% or 0.5%";
  share = value / 100;
  return {};
}

// What CLI11 reads as an unsigned number may wrap around or be cut off: the digits are checked
// first.
CLI::Validator WholeNumber(std::uint64_t highest) {
  return {
      [highest](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
        if (parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && value <= highest)
          return {};
        return fmt::format("'{}' is not a whole number from 0 to {}", text, highest);
      },
      "WHOLE NUMBER"};
}

void AddModelOptions(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--dim", options.dims,
                  "Bind a symbolic dimension: NAME=NUMBER, or NAME=NUMBER,NUMBER for several "
                  "values, each a model of its own")
      ->allow_extra_args(false);
  command
      .add_option("--trips", options.trips,
                  "Runs of a loop's body where the model does not fix their number")
      ->check(CLI::Range(1e-9, 1e18))
      ->capture_default_str();
  command
      .add_option(
          "--merge", options.merge,
          "Run so many instances of each model, with weights and inputs of their own, as one")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
}

void AddCommon(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json,
                   "Print one JSON object on standard output and nothing else there");
  command.add_option(
      "--cache", options.cache,
      "Directory of built kernels and reference outputs (default: $KINDRED_CACHE or ~/.cache/kindred)");
}

void AddTune(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand("tune", "Tune models and workloads; results go into the log");
  auto o = std::make_shared<TuneCommand>();
  command
      ->add_option("inputs", o->inputs,
                   "MODEL.onnx, WORKLOAD.kd, ZOO.json, or SPEC.json of a kernel or a command (T1)")
      ->required();
  auto* target = command->add_option("--target", o->target, TargetNames())->capture_default_str();
  command->add_option("--threads", o->threads, "Shorthand for --target cpu:threads=N")
      ->check(CLI::Range(1, 1024));
  command->add_option("--trials", o->options.trials, "Total number of trials over all subgraphs")
      ->check(CLI::Range(1, 1000000000));
  command
      ->add_option("--trials-per-task", o->options.trials_per_task,
                   "Trials of each subgraph (64 if no bound is given)")
      ->check(CLI::Range(1, 1000000000));
  auto time = std::make_shared<std::string>();
  command->add_option("--time", *time, "Wall-clock bound, e.g. 90s, 10m, 2h");
  auto until = std::make_shared<std::string>();
  command->add_option("--until", *until,
                      "End when another round of every subgraph is expected to gain less than this "
                      "share of the inputs' time, e.g. 1%");
  command
      ->add_option("--log", o->log,
                   "Tuning log (SQLite); the same command on the same log goes on where it was")
      ->capture_default_str();
  command->add_option("--seed", o->options.seed, "Seed of every random choice")
      ->check(WholeNumber(UINT64_MAX))
      ->capture_default_str();
  auto* searcher =
      command
          ->add_option(
              "--searcher", o->options.searcher,
              "Search algorithm; surrogate is for kernels' descriptions, and their default")
          ->check(CLI::IsMember({"mcts", "evolution", "random", "surrogate"}))
          ->capture_default_str();
  command
      ->add_option(
          "--scheduler", o->options.scheduler,
          "Which subgraph is next: by expected gain per second, by Ansor's rule, or in turn")
      ->check(CLI::IsMember({"gain", "ansor", "round-robin"}))
      ->capture_default_str();
  auto choice = std::make_shared<std::string>("on");
  command
      ->add_option("--final-choice", *choice,
                   "Measure the fastest schedules again before the run ends, interleaved, for at "
                   "most 2% of the trials' seconds; not for kernels' descriptions")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  auto families = std::make_shared<std::string>("on");
  command->add_option("--families", *families, "Share models and winners within families")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  auto transfer = std::make_shared<std::string>("on");
  command
      ->add_option("--transfer", *transfer,
                   "Begin with what the log knows of other workloads of the same structure and of "
                   "other devices, and let it correct the families; what misranks is not followed")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  AddModelOptions(*command, o->models);
  command
      ->add_option("--batch", o->options.batch,
                   "Trials of a round; a task's first rounds are smaller")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--builders", o->builders, "Compilers at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_flag("--profile", o->profile,
                    "CUDA devices: run the best kernel of each subgraph once more in the end, for "
                    "its hardware counters; `kindred explain` shows them");
  command->add_flag("--quiet", o->quiet, "No progress on standard error");
  AddCommon(*command, *o);
  command->callback([o, time, until, choice, families, transfer, searcher, target, &run] {
    o->options.families = *families == "on";
    o->options.transfer = *transfer == "on";
    o->options.choice_share = *choice == "on" ? kChoiceShare : 0;
    o->searcher_given = searcher->count() > 0;
    o->target_given = target->count() > 0;
    if (!time->empty()) {
      const std::string problem = ReadDuration(*time, o->options.time_s);
      if (!problem.empty()) throw CLI::ValidationError("--time", problem);
    }
    if (!until->empty()) {
      const std::string problem = ReadPercentage(*until, o->options.until);
      if (!problem.empty()) throw CLI::ValidationError("--until", problem);
    }
    run = [o] { return RunTune(*o); };
  });
}

void AddQuery(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "query", "The best kernel for a workload: measured, or predicted and marked so");
  auto o = std::make_shared<QueryCommand>();
  command
      ->add_option("asked", o->asked,
                   "WORKLOAD.kd, MODEL.onnx (an answer for each of its subgraphs), or a key of 32 "
                   "hexadecimal digits that the log knows")
      ->required();
  AddModelOptions(*command, o->models);
  command->add_option("--log", o->log, "Tuning log (default: kindred.db where that exists)");
  command->add_option("--target", o->target, TargetNames())->capture_default_str();
  command->add_option(
      "--cubin", o->cubin,
      "Write what NVRTC makes of the kernel for the GPU's architecture to this file");
  auto epoch = std::make_shared<std::int64_t>(-1);
  command->add_option("--epoch", *epoch, "Answer as of this epoch of the log")
      ->check(WholeNumber(INT64_MAX));
  AddCommon(*command, *o);
  command->callback([o, epoch, &run] {
    if (*epoch >= 0) o->epoch = *epoch;
    run = [o] { return RunQuery(*o); };
  });
}

void AddBenchmark(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "benchmark",
      "CUDA devices: the end-to-end time of models with the log's best kernels, as one CUDA graph");
  auto o = std::make_shared<BenchmarkCommand>();
  command->add_option("inputs", o->inputs, "MODEL.onnx, WORKLOAD.kd or ZOO.json")->required();
  AddModelOptions(*command, o->models);
  command->add_option("--log", o->log, "Tuning log")->capture_default_str();
  command->add_option("--target", o->target, "cuda:N")->capture_default_str();
  command->add_option("--seed", o->seed, "Seed of the test data")
      ->check(WholeNumber(UINT64_MAX))
      ->capture_default_str();
  command->footer(
      "Each subgraph has buffers of its own with random data: nothing is handed from one to the "
      "next, and nothing is checked. Caches are warm, while the log's times are from cold ones.");
  AddCommon(*command, *o);
  command->callback([o, &run] { run = [o] { return RunBenchmark(*o); }; });
}

void AddServe(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "serve", "Answer compilers over HTTP, and tune the models that they queue");
  auto o = std::make_shared<ServeCommand>();
  command->add_option("--log", o->log, "Tuning log (SQLite), created where there is none")
      ->capture_default_str();
  command->add_option("--listen", o->listen, "Loopback address and port; port 0 takes any free one")
      ->capture_default_str();
  command->add_option("--target", o->target, "Probed before the first request: " + TargetNames())
      ->capture_default_str();
  command->add_option(
      "--cache", o->cache,
      "Directory of built kernels and reference outputs (default: $KINDRED_CACHE or "
      "~/.cache/kindred)");
  command->callback([o, &run] { run = [o] { return RunServe(*o); }; });
}

void AddImport(CLI::App& app, std::function<int()>& run) {
  auto* command =
      app.add_subcommand("import", "Show the subgraphs of models, and what is left out and why");
  auto o = std::make_shared<ImportCommand>();
  command
      ->add_option("inputs", o->inputs,
                   "MODEL.onnx, WORKLOAD.kd or ZOO.json; of several, what each has and what they "
                   "share")
      ->required();
  AddModelOptions(*command, o->models);
  command->add_option("--strip", o->strip,
                      "Write MODEL.onnx without its weights to this file: the same subgraphs, and "
                      "nothing that the model has learned");
  AddCommon(*command, *o);
  command->callback([o, &run] { run = [o] { return RunImport(*o); }; });
}

void AddAnalyze(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "analyze", "Where time goes, what won and why, what is left to gain, what is noisy");
  auto o = std::make_shared<AnalyzeCommand>();
  command->add_option("log", o->log, "Tuning log")->required();
  command->add_option("--html", o->html, "Write one self-contained page");
  command->add_option("--compare", o->compare,
                      "Another log: which subgraphs became faster or slower");
  command->add_flag("--json", o->json,
                    "Print one JSON object on standard output and nothing else there");
  command->callback([o, &run] { run = [o] { return RunAnalyze(*o); }; });
}

void AddExplain(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "explain", "Why a workload's best schedule is the best, what comes next, how sure that is");
  auto o = std::make_shared<ExplainCommand>();
  command->add_option("key", o->key, "The workload's key")->required();
  command->add_option("--log", o->log, "Tuning log")->capture_default_str();
  command
      ->add_option("--target", o->target, "A target's name, or a device of the log (cpu@1f0c2d3e)")
      ->capture_default_str();
  command->add_flag("--json", o->json,
                    "Print one JSON object on standard output and nothing else there");
  command->callback([o, &run] { run = [o] { return RunExplain(*o); }; });
}

void AddPredict(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "predict",
      "How long a computation takes at each width of a sweep, with error bars; without --sweep, the "
      "schedules of a workload that the cost models like best");
  auto o = std::make_shared<PredictCommand>();
  command->add_option("workload", o->workload, "WORKLOAD.kd")->required();
  command->add_option(
      "--sweep", o->sweep,
      "NAME=FIRST..LAST:STEP (both included) or NAME=8,16,100. NAME is a symbolic "
      "extent of the text; else an extent written NAME=NUMBER in its brackets; else an "
      "axis of a stage, with all that plain indices tie to it. Other numbers of the "
      "text stay as they are");
  command
      ->add_option("-k,--schedules", o->schedules,
                   "Without --sweep: rank so many schedules; none is built or run")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--measure", o->measure,
                   "First tune so many points, evenly spread over the sweep, into the log")
      ->check(CLI::Range(1, 4096));
  command->add_option("--trials", o->trials, "Trials of each point that is tuned")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "Seed of every random choice of the tuning")
      ->check(WholeNumber(UINT64_MAX))
      ->capture_default_str();
  command->add_option("--log", o->log,
                      "Tuning log (default: kindred.db where that exists, or with --measure)");
  command->add_option("--target", o->target, TargetNames())->capture_default_str();
  command->footer(
      "Error bars: a measured median lies in its own with 95% confidence; a predicted time with 90%, "
      "as far as the cost models' errors so far tell. Of ranked schedules, the factor that one "
      "standard deviation of these errors makes.");
  AddCommon(*command, *o);
  command->callback([o, &run] { run = [o] { return RunPredict(*o); }; });
}

void AddReplay(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "replay", "Search a space that was measured elsewhere; the recording answers for the device");
  auto o = std::make_shared<ReplayCommand>();
  command
      ->add_option("space", o->space, "Cache of Kernel Tuner or results in T4, .json or .json.gz")
      ->required();
  command->add_option("--spec", o->spec,
                      "T1 description: its legal configurations are searched, not only those that "
                      "are recorded");
  command->add_option("--searcher", o->searcher, "surrogate, mcts, evolution or random")
      ->capture_default_str();
  command
      ->add_option("--transfer", o->transfer,
                   "Recording of the same space on another device, to learn from; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--noise", o->noise,
                    "An evaluation draws one of the recorded samples, not their mean");
  command->add_option("--budget", o->budget, "Evaluations of each run; failures count")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seeds", o->seeds, "Runs")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--seed", o->first_seed, "Seed of the first run; the next ones count on")
      ->check(WholeNumber(UINT64_MAX))
      ->capture_default_str();
  AddCommon(*command, *o);
  command->callback([o, &run] { run = [o] { return RunReplay(*o); }; });
}

void AddRecord(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "record", "Write the schedules that a log knows, with all samples, to replay searches on");
  auto o = std::make_shared<RecordCommand>();
  command->add_option("log", o->log, "Tuning log")->required();
  command->add_option("out", o->out, "Folder, made if absent: one NAME.json.gz per workload")
      ->required();
  command->add_option("--target", o->target, "Where the log has several");
  command->add_option("--least", o->least, "Schedules of a workload that are worth a file")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  AddCommon(*command, *o);
  command->callback([o, &run] { run = [o] { return RunRecord(*o); }; });
}

void AddLog(CLI::App& app, std::function<int()>& run) {
  auto* command =
      app.add_subcommand("log", "Look into a tuning log, export it, import into it, verify it");
  command->require_subcommand(1);
  struct Action {
    const char* name;
    const char* help;
    const char* argument;
    const char* argument_help;
    bool required;
  };
  static constexpr Action kActions[] = {
      {"ls", "Sessions and counts", nullptr, nullptr, false},
      {"show", "The best schedule of each workload, or all trials of one", "key", "Workload key",
       false},
      {"export", "One JSON line per trial on standard output", nullptr, nullptr, false},
      {"t4", "The trials of one workload on standard output, as results in T4", "key",
       "Workload key", true},
      {"import", "Take over exported trials", "file", "File of JSON lines, or - for standard input",
       true},
      {"verify", "Check the log's integrity; exit code 1 if something is wrong", nullptr, nullptr,
       false}};
  for (const Action& action : kActions) {
    auto* sub = command->add_subcommand(action.name, action.help);
    auto o = std::make_shared<LogCommand>();
    o->action = action.name;
    sub->add_option("log", o->log, "Tuning log")->required();
    if (action.argument != nullptr) {
      auto* option = sub->add_option(action.argument, o->argument, action.argument_help);
      if (action.required) option->required();
    }
    if (o->action == "t4") sub->add_option("--target", o->target, "Where there are several");
    if (o->action != "export" && o->action != "t4")
      sub->add_flag("--json", o->json,
                    "Print one JSON object on standard output and nothing else there");
    sub->callback([o, &run] { run = [o] { return RunLog(*o); }; });
  }
}

void AddFamilies(CLI::App& app, std::function<int()>& run) {
  auto* command = app.add_subcommand(
      "families", "The families of a log, how well their models serve, and corrections of them");
  command->require_subcommand(1);
  struct Action {
    const char* name;
    const char* help;
    const char* others;  // what is named beside the family; nullptr: nothing
    const char* others_help;
  };
  static constexpr Action kActions[] = {
      {"ls", "All families: members, trials, how well members predict each other", nullptr,
       nullptr},
      {"show", "One family, its members, and what evidence changed", nullptr, nullptr},
      {"merge", "Make one family of several of the same structure", "families",
       "Families that become part of the first"},
      {"split", "Let members stand apart, as a family of their own", "keys",
       "Keys of members, or how they begin"},
      {"pin", "Keep the members together, whatever measurements say", nullptr, nullptr},
      {"unpin", "Forget what was said of the members", nullptr, nullptr}};
  for (const Action& action : kActions) {
    auto* sub = command->add_subcommand(action.name, action.help);
    auto o = std::make_shared<FamiliesCommand>();
    o->action = action.name;
    sub->add_option("log", o->log, "Tuning log")->required();
    if (o->action != "ls")
      sub->add_option("family", o->family, "The family's id, as in `families ls`")->required();
    if (action.others != nullptr)
      sub->add_option(action.others, o->others, action.others_help)->required();
    if (o->action == "ls" || o->action == "show")
      sub->add_option("--target", o->target,
                      "Whose trials count: a target of the log (default: that with most)");
    sub->add_flag("--json", o->json,
                  "Print one JSON object on standard output and nothing else there");
    sub->callback([o, &run] { run = [o] { return RunFamilies(*o); }; });
  }
}

void AddDevice(CLI::App& app, std::function<int()>& run) {
  auto* command =
      app.add_subcommand("device", "What the target offers: cores or SMs, vectors, caches, peaks");
  auto o = std::make_shared<DeviceCommand>();
  command->add_option("target,--target", o->target, TargetNames())->capture_default_str();
  command->add_flag("--probe", o->probe,
                    "Measure the peaks anew, e.g. after a first time on a busy machine; logs that "
                    "know the target keep theirs");
  AddCommon(*command, *o);
  command->callback([o, &run] { run = [o] { return RunDevice(*o); }; });
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  CLI::App app(
      "Kindred finds fast kernels for tensor programs and keeps them where every compiler can ask.");
  app.name("kindred");
  app.set_version_flag("--version", "kindred " + std::string(Version()));
  app.require_subcommand(1);
  app.fallthrough(false);
  std::function<int()> run;
  AddTune(app, run);
  AddQuery(app, run);
  AddBenchmark(app, run);
  AddServe(app, run);
  AddAnalyze(app, run);
  AddExplain(app, run);
  AddPredict(app, run);
  AddReplay(app, run);
  AddRecord(app, run);
  AddImport(app, run);
  AddLog(app, run);
  AddFamilies(app, run);
  AddDevice(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run();
}

}  // namespace kindred
