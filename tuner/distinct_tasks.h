// What a run's inputs have in common: equal subgraphs are one task, alike ones share a family.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tuner/families.h"
#include "tuner/inputs.h"

namespace kindred {

// Where a task stands in one model.
struct TaskUse {
  std::string model;
  int count = 0;    // places
  double runs = 0;  // in one run of the model
};

// One task of all inputs together.
struct DistinctTask {
  CanonicalWorkload canonical;
  std::string key, name;
  std::vector<TaskUse> uses;
  double weight = 0;  // runs over all inputs, times their weights and priorities
  int models = 0;     // inputs that have it
  int count = 0;      // places in all inputs
  double runs = 0;    // in one run of each input
};

// In the order of first appearance.
std::vector<DistinctTask> MergeTasks(std::span<const TuningInput> inputs);

// Families of the distinct tasks; members are their indices. Tasks that stand at the same place of
// one model under different bindings of its dimensions share a family where their structure is the
// same. `cohorts`: as FormFamilies takes them.
std::vector<Family> FamiliesOf(std::span<const TuningInput> inputs,
                               std::span<const DistinctTask> tasks,
                               std::span<const int> cohorts = {});

// How much the inputs share. A "subgraph" is a place in a model, a task what is tuned for it.
struct ModelSharing {
  int subgraphs = 0;
  int tasks = 0;
  int shared = 0;    // of the tasks: in some other model too
  int families = 0;  // that its tasks are in
};
struct Sharing {
  std::vector<ModelSharing> models;  // in the order of the inputs
  ModelSharing all;                  // distinct tasks and families of all models together
  int saved = 0;                     // tasks of all models, one by one, less the distinct ones
};
// `families` as FamiliesOf gives them.
Sharing FindSharing(std::span<const TuningInput> inputs, std::span<const DistinctTask> tasks,
                    std::span<const Family> families);

}  // namespace kindred
