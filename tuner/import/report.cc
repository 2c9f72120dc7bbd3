#include "tuner/import/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"

namespace kindred {
namespace {

// 1234567 -> "1.23M"
std::string Short(double number) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (number >= 999.5 && unit + 1 < std::size(kUnits)) {
    number /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}{}", number, kUnits[unit]);
}

}  // namespace

std::string DescribeImport(const ImportedModel& model) {
  std::size_t width = 8;
  for (const ImportedTask& task : model.tasks)
    width = std::max(width, std::min<std::size_t>(task.name.size(), 60));
  std::string text = fmt::format("{}\n{:<{}}  {:<12}  {:>5}  {:>7}  {:>7}\n", model.name,
                                 "subgraph", width, "key", "count", "FLOP", "bytes");
  double flop = 0;
  int count = 0;
  for (const ImportedTask& task : model.tasks) {
    const auto work = static_cast<double>(Flop(task.workload));
    flop += work * task.runs();
    count += task.count();
    text += fmt::format("{:<{}}  {:<12}  {:>5}  {:>7}  {:>7}\n", task.name, width,
                        task.canonical.key.Hex().substr(0, 12), task.count(), Short(work),
                        Short(static_cast<double>(CompulsoryBytes(task.workload))));
  }
  for (const ImportedTask& task : model.tasks) text += "\n" + PrintWorkload(task.workload);
  text += fmt::format("\n{} subgraphs, {} of them different, {} FLOP\n", count, model.tasks.size(),
                      Short(flop));
  text += fmt::format(
      "coverage: {} of {} compute nodes{}\n", model.tunable, model.nodes,
      model.nodes > 0 ? fmt::format(" ({:.1f}%)", 100.0 * model.tunable / model.nodes) : "");
  for (const LeftOutNode& node : model.left_out)
    text += fmt::format("left out: {} ({}): {}\n", node.node, node.op, node.reason);
  if (!model.unused.empty())
    text += fmt::format("no output depends on: {}\n", fmt::join(model.unused, ", "));
  return text;
}

nlohmann::json ImportToJson(const ImportedModel& model) {
  nlohmann::json left_out = nlohmann::json::array(), tasks = nlohmann::json::array();
  for (const LeftOutNode& node : model.left_out)
    left_out.push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
  for (const ImportedTask& task : model.tasks)
    tasks.push_back({{"key", task.canonical.key.Hex()},
                     {"name", task.name},
                     {"count", task.count()},
                     {"runs", task.runs()},
                     {"flop", Flop(task.workload)},
                     {"bytes", CompulsoryBytes(task.workload)},
                     {"text", PrintWorkload(task.workload)}});
  return {{"model", model.name},
          {"dims", model.dims},
          {"coverage",
           {{"nodes", model.nodes}, {"tunable", model.tunable}, {"left_out", std::move(left_out)}}},
          {"tasks", std::move(tasks)}};
}

}  // namespace kindred
