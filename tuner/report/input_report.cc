#include "tuner/report/input_report.h"

#include <algorithm>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kindred {
namespace {

// Reasons without the names of single nodes and values. What only reads a node that is left out is
// one group, whatever its operator.
std::pair<std::string, std::string> Grouped(const LeftOutNode& node) {
  if (node.reason.ends_with("which is left out"))
    return {"", "an input comes from a node that is left out"};
  static const std::regex name(R"(\b(input|output|node|value|tensor) '[^']*')");
  return {node.op, std::regex_replace(node.reason, name, "$1")};
}

std::string Counted(int number, const std::string& noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

using json = nlohmann::ordered_json;

std::vector<LeftOutReason> LeftOutByReason(std::span<const TuningInput> inputs) {
  std::map<std::pair<std::string, std::string>, LeftOutReason> reasons;
  for (const TuningInput& input : inputs) {
    std::map<std::pair<std::string, std::string>, int> here;
    for (const LeftOutNode& node : input.model.left_out) ++here[Grouped(node)];
    for (const auto& [key, nodes] : here) {
      LeftOutReason& reason = reasons[key];
      std::tie(reason.op, reason.reason) = key;
      reason.nodes += nodes;
      ++reason.models;
    }
  }
  std::vector<LeftOutReason> sorted;
  for (auto& [key, reason] : reasons) sorted.push_back(std::move(reason));
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const LeftOutReason& a, const LeftOutReason& b) { return a.nodes > b.nodes; });
  return sorted;
}

std::string LeftOutText(std::span<const TuningInput> inputs) {
  std::string text;
  for (const LeftOutReason& reason : LeftOutByReason(inputs))
    text += fmt::format("left out: {}{}: {}\n",
                        reason.op.empty() ? Counted(reason.nodes, "node")
                                          : fmt::format("{} {}", reason.nodes, reason.op),
                        inputs.size() == 1 ? "" : " in " + Counted(reason.models, "model"),
                        reason.reason);
  return text;
}

std::string CoverageText(const ImportedModel& model) {
  if (model.nodes == 0) return "-";
  // Never rounded up to a whole that it is not.
  const double tenths = 1000.0 * model.tunable / model.nodes;
  return fmt::format("{:.1f}%", static_cast<int>(tenths) / 10.0);
}

std::string SharingText(const Sharing& sharing, const std::string& saved) {
  return fmt::format(
      "{} in {}, {} of them different, in {}; {}\n", Counted(sharing.all.subgraphs, "subgraph"),
      Counted(static_cast<int>(sharing.models.size()), "model"), sharing.all.tasks,
      sharing.all.families == 1 ? "1 family" : fmt::format("{} families", sharing.all.families),
      sharing.all.shared == 0
          ? "none stands in two models"
          : fmt::format("{} of these in two or more models, {}", sharing.all.shared, saved));
}

json SharingJson(const ModelSharing& sharing) {
  return {{"subgraphs", sharing.subgraphs},
          {"tasks", sharing.tasks},
          {"shared", sharing.shared},
          {"families", sharing.families}};
}

json CoverageJson(const TuningInput& input) {
  json reasons = json::array();
  for (const LeftOutReason& reason : LeftOutByReason({&input, 1}))
    reasons.push_back({{"op", reason.op}, {"reason", reason.reason}, {"nodes", reason.nodes}});
  return {{"nodes", input.model.nodes},
          {"tunable", input.model.tunable},
          {"reasons", std::move(reasons)}};
}

json ImportCostJson(const TuningInput& input) {
  return {{"seconds", input.import_s}, {"peak_bytes", input.import_peak_bytes}};
}

}  // namespace kindred
