// How well models choose among the schedules of a workload they have seen little or nothing of:
// leave-one-shape-out on recordings of real schedules. Prints one JSON object, and a table on
// standard error.
//
//   model_quality [--seeds 0,1,2] [--samples 0,16,64,256] RECORDING.json.gz...
//
// Each recording in turn is held out: models learn from all others, and from some of its own
// schedules drawn at random; they are judged on the rest of its schedules. Rows are
//   prior    the analytic estimate alone
//   pooled   one ensemble of all recordings
//   family   one ensemble per family on top of the pooled one (what tuning does)
//   own      an ensemble that saw the workload's own samples alone
//   ceiling  family, trained on four fifths of every recording's schedules, its own too: as good as
//            it gets with these features (each fifth is judged by models that did not see it)
// and tell, over the recordings (medians over the seeds first):
//   recall   share of the k truly fastest that are among the k predicted fastest, mean
//   best     the fastest of the k predicted fastest over the fastest of all, geometric mean
//   rank     Spearman's rank correlation, mean
// Of the ceiling also, over the schedules at most a fifth slower than the best of their recording:
//   spread, unexplained   standard deviations of log2(time), and of what is left of it beside the
//                         prediction, means over the recordings
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/evaluate.h"
#include "cost_model/family_models.h"
#include "cost_model/features.h"
#include "measure/timing.h"
#include "schedules/base/seed.h"
#include "schedules/sketch.h"
#include "tests/bench/bench_main.h"
#include "tuner/families.h"
#include "tuner/schedule_recording.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;

constexpr int kTops[] = {1, 8, 32};

struct Recorded {
  std::string name;
  Workload workload;
  int family = 0;
  // In an order that tells nothing (equal predictions keep it).
  std::vector<Candidate> candidates;
  std::vector<std::vector<float>> features;
  std::vector<double> ns;  // infinity: failed
};

struct Quality {
  std::vector<double> recall, best;  // one per k of kTops
  double rank = 0;
};

struct Options {
  std::vector<std::string> recordings;
  std::vector<std::uint64_t> seeds = {0, 1, 2};
  std::vector<std::size_t> samples = {0, 16, 64, 256};
};

// `samples` of `count` indices, in random order.
std::vector<std::size_t> Draw(std::size_t count, std::size_t samples, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  samples = std::min(samples, count);
  for (std::size_t i = 0; i < samples; ++i) std::swap(order[i], order[i + random.Below(count - i)]);
  order.resize(samples);
  return order;
}

Result<std::vector<Recorded>> Read(const std::vector<std::string>& paths, Target& target) {
  std::vector<Recorded> all;
  std::vector<FamilyDescriptor> descriptors;
  for (const std::string& path : paths) {
    KINDRED_TRY(const ScheduleRecording recording, ReadScheduleRecording(path));
    if (!all.empty() && recording.target.model != target.model)
      return BadInput(path + " was recorded on another device than " + all.front().name);
    target = recording.target;
    Recorded& one = all.emplace_back();
    one.name = recording.name;
    one.workload = recording.workload;
    const auto space = MakeSpace(recording.workload, recording.target);
    const FeatureExtractor extractor(recording.workload, recording.target);
    for (const std::size_t i : Draw(recording.schedules.size(), recording.schedules.size(), 0)) {
      const RecordedSchedule& schedule = recording.schedules[i];
      const auto decisions = PathFromJson(*space, schedule.schedule);
      auto candidate = decisions ? space->Lower(*decisions) : Result<Candidate>(decisions.error());
      if (!candidate) continue;  // of a version that offered other options
      one.features.push_back(extractor.Extract(*candidate->program));
      one.candidates.push_back(std::move(*candidate));
      const Outcome& outcome = schedule.outcome;
      one.ns.push_back(outcome.Timed() ? outcome.median_ns
                                       : std::numeric_limits<double>::infinity());
    }
    if (one.candidates.empty())
      return BadInput(path + ": this version of Kindred offers none of its schedules");
    descriptors.push_back(DescribeFamily(recording.workload));
  }
  const std::vector<Family> families = FormFamilies(descriptors);
  for (std::size_t f = 0; f < families.size(); ++f)
    for (const int member : families[f].members)
      all[static_cast<std::size_t>(member)].family = static_cast<int>(f);
  return all;
}

// What models are taught by recorded schedules, and say of them.
class Pupil {
 public:
  Pupil(const std::vector<Recorded>& all, const Target& target, FamilyModels::Options options)
      : all_(all), models_(target, options) {
    for (const Recorded& one : all) models_.AddTask(one.workload, one.family);
  }
  void Observe(std::size_t task, std::size_t i) {
    const double ns = all_[task].ns[i];
    models_.Observe({static_cast<int>(task), all_[task].features[i], std::isinf(ns) ? 0 : ns});
  }
  Result<void> Train() { return models_.Train(); }
  // ns of each schedule.
  std::vector<double> Predict(std::size_t task) const {
    std::vector<const Candidate*> candidates;
    for (const Candidate& candidate : all_[task].candidates) candidates.push_back(&candidate);
    std::vector<double> ns;
    for (const Prediction& prediction :
         models_.ForTask(static_cast<int>(task))->Predict(candidates))
      ns.push_back(prediction.ns);
    return ns;
  }

 private:
  const std::vector<Recorded>& all_;
  FamilyModels models_;
};

// Of models that saw all others and, of the held out one, the candidates in `seen`.
Result<std::vector<double>> Predicted(const std::vector<Recorded>& all, std::size_t held_out,
                                      std::span<const std::size_t> seen, const Target& target,
                                      FamilyModels::Options options, bool others) {
  Pupil pupil(all, target, options);
  for (std::size_t task = 0; others && task < all.size(); ++task)
    for (std::size_t i = 0; task != held_out && i < all[task].ns.size(); ++i)
      pupil.Observe(task, i);
  for (const std::size_t i : seen) pupil.Observe(held_out, i);
  if (others || !seen.empty()) KINDRED_CHECK(pupil.Train());
  return pupil.Predict(held_out);
}

// By task: what models that saw the other four fifths of all schedules say of each.
Result<std::vector<std::vector<double>>> CrossValidated(const std::vector<Recorded>& all,
                                                        const Target& target, std::uint64_t seed) {
  constexpr std::size_t kFolds = 5;
  std::vector<std::vector<double>> predicted(all.size());
  std::vector<std::vector<std::size_t>> fold(all.size());
  for (std::size_t task = 0; task < all.size(); ++task) {
    predicted[task].resize(all[task].ns.size());
    fold[task] = Draw(all[task].ns.size(), all[task].ns.size(), seed + task);
    for (std::size_t& one : fold[task]) one %= kFolds;
  }
  FamilyModels::Options options;
  options.seed = seed;
  for (std::size_t left_out = 0; left_out < kFolds; ++left_out) {
    Pupil pupil(all, target, options);
    for (std::size_t task = 0; task < all.size(); ++task)
      for (std::size_t i = 0; i < all[task].ns.size(); ++i)
        if (fold[task][i] != left_out) pupil.Observe(task, i);
    KINDRED_CHECK(pupil.Train());
    for (std::size_t task = 0; task < all.size(); ++task) {
      const std::vector<double> said = pupil.Predict(task);
      for (std::size_t i = 0; i < said.size(); ++i)
        if (fold[task][i] == left_out) predicted[task][i] = said[i];
    }
  }
  return predicted;
}

double Deviation(std::span<const double> values) {
  double mean = 0, square = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) square += (value - mean) * (value - mean);
  return std::sqrt(square / static_cast<double>(values.size()));
}

Quality Judge(std::span<const double> predicted, std::span<const double> measured) {
  Quality quality;
  for (const int k : kTops) {
    quality.recall.push_back(TopRecall(predicted, measured, k));
    quality.best.push_back(1 / BestOfRatio(predicted, measured, k));
  }
  quality.rank = RankCorrelation(predicted, measured);
  return quality;
}

Quality MedianOf(const std::vector<Quality>& runs) {
  const auto median = [&](auto&& get) {
    std::vector<double> values;
    for (const Quality& run : runs) values.push_back(get(run));
    return Median(values);
  };
  Quality out;
  for (std::size_t k = 0; k < std::size(kTops); ++k) {
    out.recall.push_back(median([&](const Quality& q) { return q.recall[k]; }));
    out.best.push_back(median([&](const Quality& q) { return q.best[k]; }));
  }
  out.rank = median([](const Quality& q) { return q.rank; });
  return out;
}

double Rounded(double value) { return std::round(value * 1000) / 1000; }

ordered_json Summary(const std::string& model, std::size_t samples,
                     const std::vector<std::pair<std::string, Quality>>& by_recording) {
  ordered_json row = {{"model", model}, {"samples", samples}};
  const auto count = static_cast<double>(by_recording.size());
  std::string shown = fmt::format("{:7} {:4}", model, samples);
  for (std::size_t k = 0; k < std::size(kTops); ++k) {
    double recall = 0, best = 0;
    for (const auto& [name, quality] : by_recording) {
      recall += quality.recall[k] / count;
      best += std::log(quality.best[k]) / count;
    }
    const std::string top = std::to_string(kTops[k]);
    row["recall"][top] = Rounded(recall);
    row["best"][top] = Rounded(std::exp(best));
    shown += fmt::format("  top {}: recall {:.3f} best {:.3f}", top, recall, std::exp(best));
  }
  double rank = 0;
  for (const auto& [name, quality] : by_recording) rank += quality.rank / count;
  row["rank"] = Rounded(rank);
  fmt::print(stderr, "{}  rank {:.3f}\n", shown, rank);
  for (const auto& [name, quality] : by_recording)
    row["recordings"][name] = {{"recall_8", Rounded(quality.recall[1])},
                               {"best_8", Rounded(quality.best[1])},
                               {"rank", Rounded(quality.rank)}};
  return row;
}

Result<void> AddCeiling(const std::vector<Recorded>& all, const Target& target, std::uint64_t seed,
                        ordered_json& rows) {
  constexpr double kFast = 1.2;
  KINDRED_TRY(const auto predicted, CrossValidated(all, target, seed));
  std::vector<std::pair<std::string, Quality>> by_recording;
  double spread = 0, unexplained = 0;
  for (std::size_t task = 0; task < all.size(); ++task) {
    const std::vector<double>& measured = all[task].ns;
    by_recording.emplace_back(all[task].name, Judge(predicted[task], measured));
    const double best = *std::min_element(measured.begin(), measured.end());
    std::vector<double> times, misses;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (measured[i] > kFast * best) continue;
      times.push_back(std::log2(measured[i]));
      misses.push_back(std::log2(measured[i] / predicted[task][i]));
    }
    spread += Deviation(times) / static_cast<double>(all.size());
    unexplained += Deviation(misses) / static_cast<double>(all.size());
  }
  ordered_json row = Summary("ceiling", 0, by_recording);
  row.erase("samples");
  row["spread"] = Rounded(spread);
  row["unexplained"] = Rounded(unexplained);
  fmt::print(stderr, "within a fifth of the best: spread {:.3f}, unexplained {:.3f}\n", spread,
             unexplained);
  rows.push_back(std::move(row));
  return {};
}

Result<std::string> Evaluate(const Options& options) {
  Target target;
  KINDRED_TRY(const std::vector<Recorded> all, Read(options.recordings, target));
  struct Kind {
    const char* name;
    bool others, families;
  };
  const Kind kinds[] = {{"prior", false, true},
                        {"own", false, true},
                        {"pooled", true, false},
                        {"family", true, true}};
  ordered_json rows = ordered_json::array();
  for (const Kind& kind : kinds)
    for (const std::size_t samples : options.samples) {
      const std::string name = kind.name;
      if (name == "prior" ? samples > 0 : name == "own" && samples == 0) continue;
      std::vector<std::pair<std::string, Quality>> by_recording;
      for (std::size_t held_out = 0; held_out < all.size(); ++held_out) {
        std::vector<Quality> runs;
        for (const std::uint64_t seed : options.seeds) {
          const auto seen = Draw(all[held_out].ns.size(), samples, seed * all.size() + held_out);
          FamilyModels::Options model_options;
          model_options.families = kind.families;
          model_options.seed = seed;
          KINDRED_TRY(const auto predicted,
                      Predicted(all, held_out, seen, target, model_options, kind.others));
          std::vector<bool> known(predicted.size());
          for (const std::size_t i : seen) known[i] = true;
          std::vector<double> judged, measured;
          for (std::size_t i = 0; i < predicted.size(); ++i)
            if (!known[i]) {
              judged.push_back(predicted[i]);
              measured.push_back(all[held_out].ns[i]);
            }
          runs.push_back(Judge(judged, measured));
          if (samples == 0) break;  // nothing was drawn
        }
        by_recording.emplace_back(all[held_out].name, MedianOf(runs));
      }
      rows.push_back(Summary(name, samples, by_recording));
    }
  KINDRED_CHECK(AddCeiling(all, target, options.seeds.front(), rows));
  ordered_json recordings = ordered_json::array();
  for (const Recorded& one : all)
    recordings.push_back(
        {{"name", one.name}, {"schedules", one.ns.size()}, {"family", one.family}});
  const ordered_json report = {{"target", target.model},
                               {"seeds", options.seeds},
                               {"recordings", std::move(recordings)},
                               {"models", std::move(rows)}};
  return report.dump(1);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("How well models choose among schedules of a workload left out of their training");
  app.add_option("recordings", options.recordings, "NAME.json.gz, made by `kindred record`")
      ->required();
  AddSeeds(app, options.seeds);
  AddList(app, "--samples", options.samples,
          "Schedules of the workload itself that models learn from, with commas between")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  return ParseAndReport(app, argc, argv, "model_quality", [&] { return Evaluate(options); });
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) { return kindred::bench::Main(argc, argv); }
