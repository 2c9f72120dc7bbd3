#include "tuner/distinct_tasks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace kindred {
namespace {

std::map<std::string, int> IndexByKey(std::span<const DistinctTask> tasks) {
  std::map<std::string, int> index;
  for (const DistinctTask& task : tasks) index.emplace(task.key, static_cast<int>(index.size()));
  return index;
}

// Pairs of tasks that stand at one place under different bindings. Where a place (an operator that
// became several subgraphs) has several tasks of one structure, which is which cannot be told.
std::vector<std::pair<int, int>> SamePlaces(std::span<const TuningInput> inputs,
                                            std::span<const DistinctTask> tasks,
                                            std::span<const FamilyDescriptor> descriptors) {
  using Place = std::tuple<std::string, std::vector<std::string>, std::string>;
  const std::map<std::string, int> index = IndexByKey(tasks);
  std::map<Place, std::vector<std::set<int>>> standing;  // by input, its tasks there
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (const ImportedTask& imported : inputs[i].model.tasks) {
      const int task = index.at(imported.canonical.key.Hex());
      const std::string structure = descriptors[static_cast<std::size_t>(task)].structure.Hex();
      for (const SubgraphUse& use : imported.uses) {
        auto& at = standing[{inputs[i].path, use.nodes, structure}];
        at.resize(inputs.size());
        at[i].insert(task);
      }
    }
  }
  std::vector<std::pair<int, int>> pairs;
  for (const auto& [place, by_input] : standing) {
    std::set<int> linked;
    if (std::any_of(by_input.begin(), by_input.end(),
                    [](const std::set<int>& at) { return at.size() > 1; }))
      continue;
    for (const std::set<int>& at : by_input) linked.insert(at.begin(), at.end());
    for (const int task : linked) pairs.emplace_back(*linked.begin(), task);
  }
  return pairs;
}

}  // namespace

std::vector<DistinctTask> MergeTasks(std::span<const TuningInput> inputs) {
  std::vector<DistinctTask> tasks;
  std::map<std::string, std::size_t> by_key;
  for (const TuningInput& input : inputs) {
    for (const ImportedTask& imported : input.model.tasks) {
      const std::string key = imported.canonical.key.Hex();
      const auto [place, fresh] = by_key.try_emplace(key, tasks.size());
      if (fresh) {
        DistinctTask& task = tasks.emplace_back();
        task.canonical = imported.canonical;
        task.key = key;
        task.name = imported.name;
      }
      DistinctTask& task = tasks[place->second];
      task.weight += input.weight * input.priority * imported.runs();
      ++task.models;
      task.count += imported.count();
      task.runs += imported.runs();
      auto use = std::find_if(task.uses.begin(), task.uses.end(),
                              [&](const TaskUse& u) { return u.model == input.model.name; });
      if (use == task.uses.end()) use = task.uses.insert(use, TaskUse{.model = input.model.name});
      use->count += imported.count();
      use->runs += imported.runs();
    }
  }
  return tasks;
}

std::vector<Family> FamiliesOf(std::span<const TuningInput> inputs,
                               std::span<const DistinctTask> tasks, std::span<const int> cohorts) {
  std::vector<FamilyDescriptor> descriptors;
  for (const DistinctTask& task : tasks)
    descriptors.push_back(DescribeFamily(task.canonical.workload));
  return FormFamilies(descriptors, SamePlaces(inputs, tasks, descriptors), cohorts);
}

Sharing FindSharing(std::span<const TuningInput> inputs, std::span<const DistinctTask> tasks,
                    std::span<const Family> families) {
  const std::map<std::string, int> index = IndexByKey(tasks);
  std::vector<int> family_of(tasks.size());
  for (std::size_t f = 0; f < families.size(); ++f)
    for (const int task : families[f].members)
      family_of[static_cast<std::size_t>(task)] = static_cast<int>(f);
  Sharing sharing;
  for (const TuningInput& input : inputs) {
    ModelSharing& model = sharing.models.emplace_back();
    std::set<int> in;
    for (const ImportedTask& imported : input.model.tasks) {
      const auto task = static_cast<std::size_t>(index.at(imported.canonical.key.Hex()));
      model.subgraphs += imported.count();
      ++model.tasks;
      model.shared += tasks[task].models > 1;
      in.insert(family_of[task]);
    }
    model.families = static_cast<int>(in.size());
    sharing.all.subgraphs += model.subgraphs;
    sharing.saved += model.tasks;
  }
  sharing.all.tasks = static_cast<int>(tasks.size());
  sharing.all.families = static_cast<int>(families.size());
  sharing.all.shared = static_cast<int>(std::count_if(
      tasks.begin(), tasks.end(), [](const DistinctTask& task) { return task.models > 1; }));
  sharing.saved -= sharing.all.tasks;
  return sharing;
}

}  // namespace kindred
