#include "tuner/report/import_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/import/report.h"
#include "tuner/report/input_report.h"
#include "tuner/report/table.h"
#include "tuner/session.h"

namespace kindred {
namespace {

Sharing SharingOf(std::span<const TuningInput> inputs) {
  const std::vector<DistinctTask> tasks = MergeTasks(inputs);
  return FindSharing(inputs, tasks, FamiliesOf(inputs, tasks));
}

void AddRow(Table& table, const ImportedModel& model, const ModelSharing& sharing,
            const std::string& seconds, const std::string& memory) {
  table.Row({model.name, fmt::format("{}", model.nodes), fmt::format("{}", model.tunable),
             CoverageText(model), fmt::format("{}", sharing.subgraphs),
             fmt::format("{}", sharing.tasks), fmt::format("{}", sharing.shared),
             fmt::format("{}", sharing.families), seconds, memory});
}

}  // namespace

std::string ImportReportText(std::span<const TuningInput> inputs) {
  if (inputs.size() == 1) return DescribeImport(inputs[0].model);
  const Sharing sharing = SharingOf(inputs);
  Table table({{"model", Table::Align::kLeft, 48},
               {"nodes"},
               {"tunable"},
               {"coverage"},
               {"subgraphs"},
               {"different"},
               {"shared"},
               {"families"},
               {"import"},
               {"memory"}});
  ImportedModel all;
  all.name = "all models";
  double seconds = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TuningInput& input = inputs[i];
    AddRow(
        table, input.model, sharing.models[i], fmt::format("{:.2f} s", input.import_s),
        input.import_peak_bytes > 0 ? fmt::format("{} MiB", input.import_peak_bytes >> 20) : "-");
    all.nodes += input.model.nodes;
    all.tunable += input.model.tunable;
    seconds += input.import_s;
  }
  AddRow(table, all, sharing.all, fmt::format("{:.2f} s", seconds), "");
  return table.Print() + "\n" +
         SharingText(sharing, fmt::format("which saves the tuning of {} ({} trials at {} each)",
                                          sharing.saved, sharing.saved * kDefaultTrialsPerTask,
                                          kDefaultTrialsPerTask)) +
         LeftOutText(inputs);
}

nlohmann::ordered_json ImportReportJson(std::span<const TuningInput> inputs) {
  using json = nlohmann::ordered_json;
  const Sharing sharing = SharingOf(inputs);
  json models = json::array();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TuningInput& input = inputs[i];
    json model = ImportToJson(input.model);
    model["path"] = input.path;
    model["coverage"]["reasons"] = CoverageJson(input)["reasons"];
    model["sharing"] = SharingJson(sharing.models[i]);
    model["import"] = ImportCostJson(input);
    models.push_back(std::move(model));
  }
  json shared = SharingJson(sharing.all);
  shared["saved_tasks"] = sharing.saved;
  return {{"models", std::move(models)}, {"sharing", std::move(shared)}};
}

}  // namespace kindred
