// How well what some tasks' times taught ranks the candidates of another: the measure by which
// families are corrected and other devices' times are trusted.
//
// Ranks are Spearman's correlations with what was measured, from -1 to 1. Speeds are in
// log2(roofline / time), as in FamilyModels. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cost_model/booster.h"
#include "schedules/base/result.h"

namespace kindred {

// The timed candidates of one task on one target.
struct TaskSamples {
  std::size_t columns = 0;
  std::vector<float> features;  // flat
  std::vector<double> priors;   // speeds that the roofline prior expects
  std::vector<double> speeds;   // measured

  std::size_t size() const { return speeds.size(); }
  void Add(std::span<const float> row, double roofline_ns, double ns);
};

// Of the prior alone.
double PriorRank(const TaskSamples& pupil);

// An ensemble on the prior, which has seen the teachers' samples and nothing else.
class Teacher {
 public:
  // At most some hundred samples in all, evenly from the teachers. Error kEnvironment: XGBoost's.
  static Result<Teacher> Train(std::span<const TaskSamples* const> teachers, std::uint64_t seed);
  Result<double> Rank(const TaskSamples& pupil) const;

 private:
  Booster booster_;
};

}  // namespace kindred
