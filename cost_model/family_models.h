// One XGBoost ensemble per family, boosted on top of a pooled one, on top of the analytic prior.
//
// The target of every model is log2(t_roofline / t), minus the layer below (base_margin). Training
// happens only in Train(), between rounds; predictions are deterministic for the same observations
// in the same order. Not thread-safe: the tuner calls it between rounds; CostModels made by
// ForTask() read it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"
#include "schedules/base/result.h"

namespace kindred {

struct Observation {
  int task = 0;                 // index given by AddTask
  std::vector<float> features;  // ExtractFeatures
  double ns = 0;                // measured median; 0: failed
};

class FamilyModels {
 public:
  struct Options {
    int pooled_rounds = 60;
    int family_rounds = 40;
    int minimum_samples =
        16;  // fewer in a family: the pooled model alone; fewer overall: the prior alone
    bool families = true;  // false: one pooled model for everything
    bool prior = true;     // false: the roofline stands in for the prior (ablations)
    std::uint64_t seed = 0;
  };
  FamilyModels(Target target, Options options);
  ~FamilyModels();

  // `family` groups tasks that share an ensemble. Returns the task's index.
  int AddTask(const Workload& canonical, int family);
  // A task on another device. `source` (from 1) numbers devices, whose observations have a weight
  // of their own: less than one made here, and nothing for good once models that learned from them
  // alone rank what was measured here worse than the prior does.
  int AddForeignTask(const Workload& canonical, int family, const Target& device, int source);
  // The weight of a device's observations, from 0 to 1.
  double Trust(int source) const;
  void SetFamily(int task, int family);
  void Observe(Observation observation);
  // Refits what has new observations. Error kEnvironment: XGBoost failed, with its message.
  Result<void> Train();
  // Valid as long as this object.
  std::unique_ptr<CostModel> ForTask(int task) const;
  // Whether there were observations enough for an ensemble; else the prior (and the tasks' offsets)
  // predicts alone.
  bool trained() const;
  double train_seconds() const;

  // Serialised ensembles for the log and back (features version checked).
  std::string Save() const;
  Result<void> Load(std::string_view blob);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kindred
