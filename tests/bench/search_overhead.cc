// What searching costs beside building and running, on one core. Times are CPU time of the thread,
// so other processes disturb them little. Prints one JSON object:
//   candidates_per_second   uniform draws of a real space, lowered, described, predicted and
//   dropped in batches of
//                           64 by models as they are after 256 trials: the median of 9 passes over
//                           2048 draws
//   draw_us, lower_us, features_us, predict_us, drop_us   the parts, per candidate
//   propose_ms              one Propose(16) of each searcher, mean over rounds of made-up outcomes
//   proposal_us             the same for each candidate that the searcher lowered and scored
//   train_ms                one Train() per round beside it
// Usage: search_overhead [rounds]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cost_model/family_models.h"
#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"
#include "schedules/canonical.h"
#include "schedules/text_form.h"
#include "search/path_sampling.h"
#include "search/searcher.h"

namespace kindred {
namespace {

// Seconds of CPU that this thread has used.
double Now() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Counts the candidates that a searcher lowers.
class CountingSpace final : public Space {
 public:
  explicit CountingSpace(const Space& space) : space_(space) {}
  std::optional<Decision> Next(const Path& path) const override { return space_.Next(path); }
  Result<Candidate> Lower(const Path& path) const override {
    ++lowered_;
    return space_.Lower(path);
  }
  int lowered() const { return lowered_; }

 private:
  const Space& space_;
  mutable int lowered_ = 0;
};

constexpr char kGemm[] = R"(input X: f32[128,768]
weight W: f32[768,3072]
weight b: f32[3072]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n] = max(T[m,n] + b[n], 0)
)";

Target ServerCore() {
  Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.compilers = {"gcc", "clang"};
  target.l1_bytes = 48 << 10;
  target.l2_bytes = 2 << 20;
  target.peak_f32_gflops = 170;
  target.l1_gbps = 350;
  target.l2_gbps = 120;
  target.memory_gbps = 12;
  return target;
}

int Run(int rounds) {
  const Result<Workload> parsed = ParseWorkload(kGemm);
  if (!parsed) {
    std::fprintf(stderr, "%s\n", parsed.error().message.c_str());
    return 1;
  }
  const Workload workload = Canonicalize(*parsed).workload;
  const Target target = ServerCore();
  const std::unique_ptr<Space> space = MakeSpace(workload, target);

  // Models trained on as many rows as a short tuning run has.
  FamilyModels models(target, {});
  const int task = models.AddTask(workload, 0);
  PathSampler sampler(*space);
  Random random(1);
  constexpr std::size_t kCandidates = 2048, kTrials = 256, kBatch = 64;
  constexpr int kPasses = 9;
  std::vector<SampledPath> paths;
  double start = Now();
  for (std::size_t i = 0; i < kCandidates; ++i) paths.push_back(*sampler.DrawRandom(random));
  const double draw = Now() - start;
  for (std::size_t i = 0; i < kTrials; ++i) {
    const Result<Candidate> candidate = space->Lower(paths[i].path);
    if (!candidate) {
      std::fprintf(stderr, "%s\n", candidate.error().message.c_str());
      return 1;
    }
    std::vector<float> row = ExtractFeatures(*candidate->program, workload, target);
    const double ns = PriorNs(row, workload, target) * (1 + random.Uniform());
    models.Observe({task, std::move(row), ns});
  }
  if (const Result<void> trained = models.Train(); !trained) {
    std::fprintf(stderr, "%s\n", trained.error().message.c_str());
    return 1;
  }
  const FeatureExtractor extractor(workload, target);
  std::vector<double> totals, lowers, features, predicts, drops;
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::unique_ptr<CostModel> model = models.ForTask(task);
    double lower = 0, score = 0, extract = 0, predict = 0, drop = 0;
    for (std::size_t first = 0; first < kCandidates; first += kBatch) {
      start = Now();
      std::vector<Candidate> batch;
      for (std::size_t i = first; i < first + kBatch; ++i)
        batch.push_back(*space->Lower(paths[i].path));
      lower += Now() - start;
      std::vector<const Candidate*> pointers;
      for (const Candidate& candidate : batch) pointers.push_back(&candidate);
      start = Now();
      model->Predict(pointers);
      score += Now() - start;
      start = Now();
      model->Predict(pointers);  // remembers their features
      predict += Now() - start;
      start = Now();
      for (const Candidate& candidate : batch) extractor.Extract(*candidate.program);
      extract += Now() - start;
      start = Now();
      batch.clear();
      drop += Now() - start;
    }
    totals.push_back(lower + score + drop);
    lowers.push_back(lower);
    features.push_back(extract);
    predicts.push_back(predict);
    drops.push_back(drop);
  }
  const auto each_us = [&](const std::vector<double>& seconds) {
    return Median(seconds) / static_cast<double>(kCandidates) * 1e6;
  };
  std::printf(
      "{\"workload\": \"gemm 128x3072x768\", \"candidates_per_second\": %.0f, \"draw_us\": %.1f, "
      "\"lower_us\": %.1f, \"features_us\": %.1f, \"predict_us\": %.1f, \"drop_us\": %.1f, \"searchers\": [",
      1e6 / each_us(totals), draw / static_cast<double>(kCandidates) * 1e6, each_us(lowers),
      each_us(features), each_us(predicts), each_us(drops));
  bool first = true;
  for (const char* name : {"mcts", "evolution", "random"}) {
    FamilyModels learning(target, {});
    const int own = learning.AddTask(workload, 0);
    const std::unique_ptr<CostModel> learned = learning.ForTask(own);
    const CountingSpace counted(*space);
    const auto searcher = MakeSearcher(name, counted, *learned, 1);
    double propose = 0;
    std::size_t trials = 0;
    for (int round = 0; round < rounds; ++round) {
      start = Now();
      const std::vector<Candidate> batch = (*searcher)->Propose(16);
      propose += Now() - start;
      trials += batch.size();
      std::vector<Outcome> outcomes;
      for (const Candidate& candidate : batch) {
        std::vector<float> row = ExtractFeatures(*candidate.program, workload, target);
        Outcome outcome;
        outcome.median_ns =
            PriorNs(row, workload, target) * (1 + Random(candidate.key.low).Uniform());
        learning.Observe({own, std::move(row), outcome.median_ns});
        outcomes.push_back(outcome);
      }
      (*searcher)->Observe(batch, outcomes);
      if (const Result<void> trained = learning.Train(); !trained) return 1;
    }
    std::printf(
        "%s{\"name\": \"%s\", \"rounds\": %d, \"trials\": %zu, \"propose_ms\": %.2f, "
        "\"proposal_us\": %.1f, \"train_ms\": %.2f}",
        first ? "" : ", ", name, rounds, trials, propose / rounds * 1e3,
        propose / counted.lowered() * 1e6, learning.train_seconds() / rounds * 1e3);
    first = false;
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace
}  // namespace kindred

int main(int argc, char** argv) { return kindred::Run(argc > 1 ? std::atoi(argv[1]) : 16); }
