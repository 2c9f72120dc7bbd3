#include <algorithm>

#include <fmt/format.h>

#include "tuner/progress.h"
#include "tuner/report/analysis.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

std::string Ns(const json& value) { return value.is_null() ? "-" : FormatNs(value.get<double>()); }

// "timed with cold caches: 120 trials by cupti; clocks were slowed in 2"; nothing for CPUs.
std::string TimingText(const json& timing) {
  std::string by;
  for (const auto& [timer, trials] : timing.at("timers").items())
    by +=
        fmt::format("{}{} trials by {}", by.empty() ? "" : ", ", trials.get<std::int64_t>(), timer);
  if (by.empty()) return by;
  const auto throttled = timing.at("throttled").get<std::int64_t>();
  return fmt::format("timed with {} caches: {}{}\n", timing.at("cache_state").get<std::string>(),
                     by, throttled > 0 ? fmt::format("; clocks were slowed in {}", throttled) : "");
}

void TargetText(const json& target, std::string& text) {
  text += fmt::format("\n{}: {}\n", target.at("id").get<std::string>(),
                      target.at("model").get<std::string>());
  text += TimingText(target.at("timing"));
  for (const json& model : target.at("models"))
    text += fmt::format(
        "{}: untuned {}, best {}{}, roofline {}\n", model.at("name").get<std::string>(),
        Ns(model.at("untuned_ns")), Ns(model.at("best_ns")),
        model.at("complete").get<bool>() ? "" : " (incomplete)", Ns(model.at("roofline_ns")));
  constexpr auto kLeft = Table::Align::kLeft;
  Table table({{"subgraph", kLeft, 48},
               {"untuned"},
               {"best"},
               {"roofline"},
               {"left"},
               {"trials"},
               {"failed"},
               {"winner", kLeft}});
  std::vector<const json*> subgraphs;
  for (const json& subgraph : target.at("subgraphs")) subgraphs.push_back(&subgraph);
  const auto left = [](const json& s) {
    return s.at("best_ns").is_null() || s.at("roofline_ns").is_null()
               ? 0.0
               : s.at("best_ns").get<double>() - s.at("roofline_ns").get<double>();
  };
  std::stable_sort(subgraphs.begin(), subgraphs.end(),
                   [&](const json* a, const json* b) { return left(*a) > left(*b); });
  for (const json* s : subgraphs)
    table.Row({s->at("name"), Ns(s->at("untuned_ns")), Ns(s->at("best_ns")),
               Ns(s->at("roofline_ns")), left(*s) > 0 ? FormatNs(left(*s)) : "-",
               std::to_string(s->at("trials").get<std::int64_t>()),
               std::to_string(s->at("failed").get<std::int64_t>()),
               s->at("winner").is_null() ? "-" : s->at("winner").at("sketch").get<std::string>()});
  text += table.Print();
}

}  // namespace

std::string AnalysisText(const json& analysis) {
  const json& counts = analysis.at("counts");
  std::string text = fmt::format(
      "{}: {} trials, {} failed; {} workloads in {} families, {} sessions\n",
      analysis.at("log").get<std::string>(), counts.at("trials").get<std::int64_t>(),
      counts.at("failed").get<std::int64_t>(), counts.at("workloads").get<std::int64_t>(),
      counts.at("families").get<std::int64_t>(), counts.at("sessions").get<std::int64_t>());
  for (const json& target : analysis.at("targets")) TargetText(target, text);
  if (!analysis.at("failures").empty()) text += "\n";
  for (const json& failure : analysis.at("failures"))
    text += fmt::format("{} {}: {}\n", failure.at("trials").get<std::int64_t>(),
                        failure.at("status").get<std::string>(),
                        failure.at("example").get<std::string>());
  return text;
}

}  // namespace kindred
