#include "tuner/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "schedules/base/seed.h"

namespace kindred {
namespace {

// Where each of the recording's parameters stands in the space, and its values there.
struct Translation {
  std::size_t parameter = 0;
  std::vector<std::optional<std::uint16_t>> values;
};

Result<std::vector<Translation>> Translate(const Recording& recording, const ParameterSpace& space,
                                           std::string_view space_name) {
  std::vector<Translation> translations;
  for (const TunableParameter& parameter : space.parameters()) {
    const auto found = std::find_if(
        recording.parameters.begin(), recording.parameters.end(),
        [&](const TunableParameter& recorded) { return recorded.name == parameter.name; });
    if (found == recording.parameters.end())
      return BadInput(fmt::format("the parameter '{}' of the {} is not in the recording",
                                  parameter.name, space_name));
  }
  for (const TunableParameter& parameter : recording.parameters) {
    const auto found =
        std::find_if(space.parameters().begin(), space.parameters().end(),
                     [&](const TunableParameter& p) { return p.name == parameter.name; });
    if (found == space.parameters().end())
      return BadInput(fmt::format("the parameter '{}' of the recording is not in the {}",
                                  parameter.name, space_name));
    Translation translation;
    translation.parameter = static_cast<std::size_t>(found - space.parameters().begin());
    for (const Value& value : parameter.values) {
      auto& index = translation.values.emplace_back();
      for (std::size_t i = 0; i < found->values.size(); ++i)
        if (Equal(found->values[i], value)) index = static_cast<std::uint16_t>(i);
    }
    translations.push_back(std::move(translation));
  }
  return translations;
}

// The space's configuration of a trial; nullopt: it has none.
std::optional<std::size_t> IndexOf(const RecordedTrial& trial,
                                   const std::vector<Translation>& translations,
                                   const ParameterSpace& space) {
  std::vector<std::uint16_t> row(translations.size());
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const auto value = translations[i].values[trial.configuration[i]];
    if (!value) return std::nullopt;
    row[translations[i].parameter] = *value;
  }
  return space.Find(row);
}

}  // namespace

Result<RecordedSpace> MakeRecordedSpace(const Recording& recording,
                                        const std::optional<T1Space>& spec) {
  RecordedSpace result;
  if (spec) {
    KINDRED_TRY(result.space, ParameterSpace::Make(spec->parameters, spec->conditions));
  } else {
    std::vector<std::vector<std::uint16_t>> rows;
    for (const RecordedTrial& trial : recording.trials) rows.push_back(trial.configuration);
    KINDRED_TRY(result.space, ParameterSpace::Of(recording.parameters, std::move(rows)));
  }
  KINDRED_TRY(const auto translations, Translate(recording, result.space, "description"));
  result.ms.assign(result.space.size(), 0);
  result.samples_ms.resize(result.space.size());
  result.optimum_ms = std::numeric_limits<double>::infinity();
  for (const RecordedTrial& trial : recording.trials) {
    const auto index = IndexOf(trial, translations, result.space);
    if (!index) continue;
    ++result.recorded;
    result.ms[*index] = trial.ms;
    result.samples_ms[*index] = trial.samples_ms;
    if (trial.ms > 0) result.optimum_ms = std::min(result.optimum_ms, trial.ms);
  }
  if (result.recorded == 0)
    return BadInput("no configuration of the recording satisfies the description");
  if (result.optimum_ms == std::numeric_limits<double>::infinity())
    return BadInput("every configuration of the recording failed");
  return result;
}

Result<std::vector<double>> TimesOf(const Recording& elsewhere, const ParameterSpace& space) {
  KINDRED_TRY(const auto translations, Translate(elsewhere, space, "space"));
  std::vector<double> logs(space.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<std::size_t> failed;
  double slowest = -std::numeric_limits<double>::infinity();
  for (const RecordedTrial& trial : elsewhere.trials) {
    const auto index = IndexOf(trial, translations, space);
    if (!index) continue;
    if (trial.ms > 0) {
      logs[*index] = std::log2(trial.ms);
      slowest = std::max(slowest, logs[*index]);
    } else {
      failed.push_back(*index);
    }
  }
  if (!std::isfinite(slowest))
    return BadInput("it has no time of any configuration of the space that is searched");
  for (const std::size_t index : failed) logs[index] = slowest;
  return logs;
}

Result<ReplayRun> Replay(const RecordedSpace& recorded, const ReplayOptions& options,
                         std::uint64_t seed) {
  KINDRED_TRY(const auto searcher,
              MakeConfigurationSearcher(options.searcher, recorded.space, seed, options.elsewhere));
  ReplayRun run{seed, {}};
  Random random(DeriveSeed(seed, "recorded samples"));
  double best_ms = 0, least_ms = 0;
  while (run.ratio.size() < static_cast<std::size_t>(options.budget)) {
    const std::vector<Candidate> batch = searcher->Propose(1);
    if (const auto errors = searcher->TakeErrors(); !errors.empty()) return errors[0];
    if (batch.empty()) break;
    const auto index = recorded.space.IndexOf(batch[0].path);
    if (!index) return Internal("a searcher proposed what is not in its space");
    Outcome outcome;
    const double ms = recorded.ms[*index];
    if (ms > 0) {
      const auto& samples = recorded.samples_ms[*index];
      const double seen =
          options.noise && !samples.empty() ? samples[random.Below(samples.size())] : ms;
      outcome.median_ns = seen * 1e6;
      if (least_ms == 0 || seen < least_ms) {
        least_ms = seen;
        best_ms = ms;
      }
    } else {
      outcome.status = Status::kRunError;
    }
    searcher->Observe(batch, std::span(&outcome, 1));
    run.ratio.push_back(best_ms / recorded.optimum_ms);
  }
  return run;
}

double MedianRatio(const std::vector<ReplayRun>& runs, std::size_t evaluations) {
  std::vector<double> ratios;
  for (const ReplayRun& run : runs) {
    const std::size_t at = std::min(evaluations, run.ratio.size());
    const double ratio = at == 0 ? 0 : run.ratio[at - 1];
    ratios.push_back(ratio > 0 ? ratio : std::numeric_limits<double>::infinity());
  }
  if (ratios.empty()) return 0;
  std::sort(ratios.begin(), ratios.end());
  const double high = ratios[ratios.size() / 2], low = ratios[(ratios.size() - 1) / 2];
  const double median = (low + high) / 2;
  return median == std::numeric_limits<double>::infinity() ? 0 : median;
}

}  // namespace kindred
