// kindred benchmark: how long a model takes from end to end with the best schedules of the log.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "measure/cuda/cuda_sequence.h"
#include "schedules/text_form.h"
#include "tuner/commands/commands.h"
#include "tuner/model_sequence.h"
#include "tuner/record_mapping.h"
#include "tuner/report/table.h"
#include "tuner/targets.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

// Kernels in one graph: drivers take about a microsecond of launching for each.
constexpr std::size_t kMostSubgraphs = 20000;

struct Sequence {
  std::vector<SequencedKernel> kernels;
  std::vector<int> order;            // of kernels
  double sum_ns = 0;                 // of the log's times
  std::vector<std::string> missing;  // subgraphs without a schedule in the log
};

Result<Sequence> SequenceFrom(const ImportedModel& model, const std::string& target,
                              const TuningLog& log) {
  Sequence sequence;
  std::vector<int> kernel_of;  // by task; -1: none
  std::vector<double> ns;
  for (const ImportedTask& task : model.tasks) {
    const std::string key = task.canonical.key.Hex();
    KINDRED_TRY(const auto best, log.BestSchedule(key, target));
    kernel_of.push_back(best ? static_cast<int>(sequence.kernels.size()) : -1);
    ns.push_back(best ? best->median_ns : 0);
    if (!best) {
      sequence.missing.push_back(task.name);
      continue;
    }
    KINDRED_TRY(const auto kernel, log.FindKernel(best->kernel));
    if (!kernel)
      return Environment(fmt::format(
          "trial {} refers to a kernel that the log does not have; see `kindred log verify`",
          best->id));
    SequencedKernel& one = sequence.kernels.emplace_back();
    one.workload = task.canonical.workload;
    KINDRED_TRY(one.kernel, ToKernel(*kernel));
  }
  KINDRED_TRY(const std::vector<int> tasks, SequenceOf(model, kMostSubgraphs));
  for (const int task : tasks) {
    const auto at = static_cast<std::size_t>(task);
    if (kernel_of[at] < 0) continue;
    sequence.order.push_back(kernel_of[at]);
    sequence.sum_ns += ns[at];
  }
  return sequence;
}

json ToJson(const ImportedModel& model, const Sequence& sequence, const SequenceTimes& times) {
  return {{"model", model.name},
          {"complete", sequence.missing.empty() && model.left_out.empty()},
          {"subgraphs", sequence.order.size()},
          {"kernels", times.launches},
          {"graph_ns", times.graph_ns},
          {"launched_ns", times.launched_ns},
          {"kernels_ns", times.kernels_ns > 0 ? json(times.kernels_ns) : json()},
          {"sum_ns", sequence.sum_ns},
          {"samples", times.graph_samples},
          {"driver", times.driver},
          {"missing", sequence.missing},
          {"left_out_nodes", model.left_out.size()}};
}

void PrintText(const json& models) {
  Table table({{"model", Table::Align::kLeft, 52},
               {"subgraphs"},
               {"kernels"},
               {"as a graph"},
               {"one by one"},
               {"kernels alone"},
               {"sum of the log"}});
  std::string notes;
  for (const json& m : models) {
    const auto ns = [&](const char* name) {
      return m.at(name).is_null() ? std::string("-") : FormatNs(m.at(name).get<double>());
    };
    table.Row({m.at("model").get<std::string>(), m.at("subgraphs").dump(), m.at("kernels").dump(),
               ns("graph_ns"), ns("launched_ns"), ns("kernels_ns"), ns("sum_ns")});
    for (const json& name : m.at("missing"))
      notes +=
          fmt::format("no schedule in the log, not in the time: {}\n", name.get<std::string>());
    if (m.at("left_out_nodes") != 0)
      notes += fmt::format("{}: {} nodes stand in no subgraph, and are not in the time\n",
                           m.at("model").get<std::string>(), m.at("left_out_nodes").dump());
  }
  fmt::print("{}{}", table.Print(), notes);
}

Result<void> Benchmark(const BenchmarkCommand& command) {
  KINDRED_TRY(const InputOptions input_options, ToInputOptions(command.models));
  KINDRED_TRY(const auto inputs, ReadInputs(command.inputs, input_options));
  const std::string cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  KINDRED_TRY(const Target target, ResolveTarget(command.target, cache));
  KINDRED_TRY(const auto log, OpenSqliteLog(command.log, OpenMode::kReadOnly));
  RunnerSettings settings;
  settings.cache = cache;
  KINDRED_TRY(const CudaRunnerOptions options, CudaDeviceOptions(target, settings));
  json models = json::array();
  for (const TuningInput& input : inputs) {
    KINDRED_TRY(const Sequence sequence, SequenceFrom(input.model, ToRecord(target).id, *log));
    if (sequence.order.empty())
      return NotFound(fmt::format(
          "{} has no schedule for {} on {}: tune it first, with `kindred "
          "tune {} --target {} --log {}`",
          command.log, input.model.name, target.id, input.path, target.id, command.log));
    KINDRED_TRY(const SequenceTimes times,
                ReplaySequence(target, options, sequence.kernels, sequence.order, command.seed));
    models.push_back(ToJson(input.model, sequence, times));
    if (!times.untraced.empty())
      fmt::print(stderr, "{}: the kernels are not timed alone: {}\n", input.model.name,
                 times.untraced);
  }
  if (command.json)
    fmt::print("{}\n", json{{"target", target.id}, {"models", std::move(models)}}.dump(2));
  else
    PrintText(models);
  return {};
}

}  // namespace

int RunBenchmark(const BenchmarkCommand& command) {
  const auto done = Benchmark(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
