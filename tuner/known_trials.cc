#include "tuner/known_trials.h"

#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "tuner/record_mapping.h"

namespace kindred {

TaskSamples KnownTrials::Samples() const {
  TaskSamples samples;
  for (std::size_t i = 0; i < ns.size(); ++i)
    if (ns[i] > 0) samples.Add(features[i], roofline_ns, ns[i]);
  return samples;
}

Result<KnownTrials> ReadKnownTrials(const TuningLog& log, const Workload& canonical,
                                    const Target& device, const KnownTrialsQuery& query) {
  KnownTrials known;
  known.roofline_ns = RooflineNs(canonical, device);
  TrialFilter filter;
  filter.workload = query.workload;
  filter.target = query.target;
  KINDRED_TRY(auto trials, log.Trials(filter));
  std::erase_if(trials, [&](const TrialRecord& trial) {
    return trial.id > query.epoch || trial.session == query.except_session;
  });
  if (trials.empty()) return known;
  const auto space = query.space(canonical, device);
  const FeatureExtractor extractor(canonical, device);
  const std::size_t step = (trials.size() + query.most - 1) / query.most;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialRecord& trial = trials[i];
    const bool better = trial.status == "ok" && trial.validated &&
                        (known.best_ns == 0 || trial.median_ns < known.best_ns);
    if (!better && i % step != 0) continue;
    const auto path = PathFromJson(*space, trial.schedule);
    if (!path) continue;
    const auto candidate = space->Lower(*path);
    if (!candidate) continue;
    KINDRED_TRY(const Outcome outcome, ToOutcome(trial));
    known.features.push_back(extractor.Extract(*candidate->program));
    known.ns.push_back(outcome.Timed() ? outcome.median_ns : 0);
    if (!better) continue;
    known.best_ns = trial.median_ns;
    known.best = *path;
  }
  return known;
}

}  // namespace kindred
