// kindred query: the best kernel for a workload, or for each subgraph of a model; never empty.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "measure/cuda/nvrtc_builder.h"
#include "schedules/text_form.h"
#include "tuner/answer.h"
#include "tuner/commands/commands.h"
#include "tuner/kernel_answer.h"
#include "tuner/progress.h"
#include "tuner/report/table.h"
#include "tuner/targets.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

bool IsKey(const std::string& text) {
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c); });
}

Result<Workload> AskedWorkload(const std::string& asked, const TuningLog* log) {
  if (!IsKey(asked)) {
    std::error_code code;
    if (std::filesystem::is_directory(asked, code))
      return BadInput(fmt::format("{}: is a directory, not a workload", asked));
    std::ifstream file(asked);
    if (!file)
      return NotFound(fmt::format(
          "{}: no such file; query takes a WORKLOAD.kd, a MODEL.onnx or a key of 32 hexadecimal "
          "digits",
          asked));
    std::stringstream text;
    text << file.rdbuf();
    return ParseWorkload(text.str(), asked);
  }
  std::string key = asked;
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  std::optional<WorkloadRecord> record;
  if (log != nullptr) {
    KINDRED_TRY(record, log->FindWorkload(key));
  }
  if (!record)
    return NotFound(fmt::format(
        "key {} is not in the log; give the workload itself (a .kd file), then there is always an answer",
        key));
  return ParseWorkload(record->text, "the log's workload " + key);
}

// What every answer is taken from.
struct Source {
  std::unique_ptr<TuningLog> log;  // none: nothing was ever measured
  Target target;
  std::optional<std::int64_t> epoch;

  Result<KernelPackage> Answer(Workload workload) const {
    return AnswerQuery(log.get(), {std::move(workload), target, epoch});
  }
  // Of a workload's file or key, or of the key of a user's kernel.
  Result<KernelPackage> Package(const std::string& asked) const {
    if (log != nullptr) {
      KINDRED_TRY(const auto record, log->FindWorkload(asked));
      if (record && IsUserKernel(*record)) return AnswerKernel(*log, *record, target, epoch);
    }
    KINDRED_TRY(Workload workload, AskedWorkload(asked, log.get()));
    return Answer(std::move(workload));
  }
};

Result<Source> OpenSource(const QueryCommand& command) {
  Source source;
  source.epoch = command.epoch;
  const bool implied = command.log.empty();
  const std::string path = implied ? "kindred.db" : command.log;
  std::error_code code;
  if (!implied || std::filesystem::exists(path, code)) {
    KINDRED_TRY(source.log, OpenSqliteLog(path, OpenMode::kReadOnly));
  }
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  KINDRED_TRY(source.target, ResolveTarget(command.target, cache));
  return source;
}

// " grid 16x1x1 block 256x1x1".
std::string LaunchText(const KernelStep& step) {
  const bool fixed = std::all_of(step.grid.begin(), step.grid.end(),
                                 [](const ExprPtr& size) { return size->op == Op::kInt; });
  return fmt::format(" grid {} block {},",
                     fixed ? fmt::format("{}", fmt::join(GridOf(step, {}), "x")) : "of the extents",
                     fmt::join(step.block, "x"));
}

void PrintPackage(const KernelPackage& package) {
  fmt::print("workload   {}\ntarget     {}\nmatch      {}{}\n", package.key, package.target,
             Name(package.match), package.validated ? ", validated" : ", not run");
  if (package.statistics.contains("median_ns"))
    fmt::print("time       {} ({}median of {} samples)\n",
               FormatNs(package.statistics["median_ns"].get<double>()),
               package.statistics.contains("gflops")
                   ? fmt::format("{:.1f} GFLOP/s, ", package.statistics["gflops"].get<double>())
                   : "",
               package.statistics["samples_ns"].size());
  else
    fmt::print("time       {} predicted\n",
               FormatNs(package.statistics["predicted_ns"].get<double>()));
  fmt::print("schedule   {}\n", package.schedule.dump());
  fmt::print("build      {} {}\n", package.provenance.value("compiler", ""),
             package.provenance.value("flags", ""));
  for (const KernelStep& step : package.kernel.steps)
    fmt::print("launch     {}{} shared memory {} bytes\n", step.entry, LaunchText(step),
               step.shared_bytes);
  for (const auto& a : package.arguments)
    fmt::print("buffer {:<3} {} {} {}  {}\n", a["position"].get<int>(),
               a["access"].get<std::string>(), a["type"].get<std::string>(),
               a["name"].get<std::string>() + a["shape"].dump(), a["layout"].get<std::string>());
  fmt::print("workspace  {} bytes\nepoch      {}\n\n{}", package.kernel.workspace_bytes,
             package.epoch, package.kernel.code);
}

json UsesToJson(const ImportedTask& task) {
  json uses = json::array();
  for (const SubgraphUse& use : task.uses) {
    json preparations = json::array();
    for (const WeightPreparation& preparation : use.preparations)
      preparations.push_back({{"produces", preparation.produces},
                              {"text", preparation.text},
                              {"inputs", preparation.inputs}});
    uses.push_back({{"nodes", use.nodes},
                    {"tensors", use.tensors},
                    {"times", use.times},
                    {"preparations", std::move(preparations)}});
  }
  return uses;
}

json LeftOutToJson(const ImportedModel& model) {
  json left_out = json::array();
  for (const LeftOutNode& node : model.left_out)
    left_out.push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
  return left_out;
}

// One answer per task. A subgraph that has no kernels is named with the reason.
Result<void> AnswerModel(const Source& source, const TuningInput& input, json& model) {
  json answers = json::array();
  for (const ImportedTask& task : input.model.tasks) {
    json answer = {{"name", task.name}, {"uses", UsesToJson(task)}};
    const auto package = source.Answer(task.workload);
    if (package)
      answer["answer"] = ToJson(*package);
    else if (package.error().kind == ErrorKind::kUnsupported)
      answer["error"] = package.error().message;
    else
      return package.error();
    answers.push_back(std::move(answer));
  }
  model = {{"model", input.model.name},
           {"path", input.path},
           {"dims", input.model.dims},
           {"nodes", input.model.nodes},
           {"tunable", input.model.tunable},
           {"answers", std::move(answers)},
           {"left_out", LeftOutToJson(input.model)}};
  return {};
}

void PrintModel(const json& model) {
  Table table({{"subgraph", Table::Align::kLeft, 56},
               {"places"},
               {"match", Table::Align::kLeft},
               {"time"},
               {"key", Table::Align::kLeft}});
  for (const json& one : model["answers"]) {
    const std::string places = fmt::format("{}", one["uses"].size());
    if (!one.contains("answer")) {
      table.Row({one["name"], places, "-", "-", one["error"]});
      continue;
    }
    const json& statistics = one["answer"]["statistics"];
    const bool measured = statistics.contains("median_ns");
    const double ns = statistics[measured ? "median_ns" : "predicted_ns"];
    table.Row({one["name"], places, one["answer"]["match"],
               FormatNs(ns) + (measured ? "" : " predicted"), one["answer"]["key"]});
  }
  fmt::print("{}: {} of {} compute nodes are in subgraphs\n{}", model["model"].get<std::string>(),
             model["tunable"].get<int>(), model["nodes"].get<int>(), table.Print());
  for (const json& node : model["left_out"])
    fmt::print("left out: {} ({}): {}\n", node["node"].get<std::string>(),
               node["op"].get<std::string>(), node["reason"].get<std::string>());
}

Result<void> AskModel(const QueryCommand& command) {
  if (!command.cubin.empty())
    return BadInput("--cubin is for one workload (WORKLOAD.kd or a key), not for a model");
  KINDRED_TRY(const InputOptions options, ToInputOptions(command.models));
  KINDRED_TRY(const auto inputs, ReadInputs({command.asked}, options));
  KINDRED_TRY(const Source source, OpenSource(command));
  json models = json::array();
  for (const TuningInput& input : inputs) {
    json model;
    KINDRED_CHECK(AnswerModel(source, input, model));
    if (!command.json) PrintModel(model);
    models.push_back(std::move(model));
  }
  if (command.json) fmt::print("{}\n", json{{"models", std::move(models)}}.dump(2));
  return {};
}

// Builds the package's kernels for the target's architecture into a file.
Result<void> WriteCubin(const KernelPackage& package, const Target& target,
                        const QueryCommand& command) {
  if (package.kernel.language != KernelSource::Language::kCuda)
    return BadInput(fmt::format(
        "--cubin: the kernel for {} is C, not CUDA; name a GPU with --target", target.id));
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  NvrtcBuilderOptions options;
  options.cache_directory = cache + "/cubin";
  options.architecture = target.gpu.arch;
  options.program = "/proc/self/exe";
  options.jobs = 1;
  KINDRED_TRY(const auto builder, NvrtcBuilder::Make(options));
  KINDRED_TRY(const auto built, builder->Build({&package.kernel, 1}));
  if (built.front().status != Status::kOk)
    return Internal("the kernel does not compile: " + built.front().message);
  std::error_code code;
  std::filesystem::copy_file(built.front().library, command.cubin,
                             std::filesystem::copy_options::overwrite_existing, code);
  if (code)
    return BadInput(
        fmt::format("--cubin {}: cannot be written: {}", command.cubin, code.message()));
  return {};
}

Result<void> AskWorkload(const QueryCommand& command) {
  const ModelOptions unused;
  if (!command.models.dims.empty() || command.models.merge != unused.merge ||
      command.models.trips != unused.trips)
    return BadInput(
        fmt::format("{}: --dim, --merge and --trips are for models (MODEL.onnx)", command.asked));
  KINDRED_TRY(const Source source, OpenSource(command));
  KINDRED_TRY(const KernelPackage package, source.Package(command.asked));
  if (!command.cubin.empty()) KINDRED_CHECK(WriteCubin(package, source.target, command));
  if (command.json)
    fmt::print("{}\n", ToJson(package).dump(2));
  else
    PrintPackage(package);
  return {};
}

}  // namespace

int RunQuery(const QueryCommand& command) {
  const bool model = std::filesystem::path(command.asked).extension() == ".onnx";
  const auto done = model ? AskModel(command) : AskWorkload(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
