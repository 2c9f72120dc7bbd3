// What searching costs beside building and running, on one core. Prints one JSON object:
//   candidates_per_second           lower + features + predict, uniform draws of a real space
//   draw/lower/features/predict_us  the parts, per candidate
//   propose_ms                      one Propose(16) of each searcher, mean over rounds of made-up
//                                   outcomes
//   train_ms                        one Train() per round beside it
// Usage: search_overhead [rounds]
#include <chrono>
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

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

  // The parts, with models trained on as many rows as a short tuning run has.
  FamilyModels models(target, {});
  const int task = models.AddTask(workload, 0);
  PathSampler sampler(*space);
  Random random(1);
  constexpr int kCandidates = 2000;
  std::vector<SampledPath> paths;
  double start = Now();
  for (int i = 0; i < kCandidates; ++i) paths.push_back(*sampler.DrawRandom(random));
  const double draw = Now() - start;
  std::vector<Candidate> candidates;
  std::vector<const Candidate*> pointers;
  start = Now();
  for (const SampledPath& path : paths) {
    Result<Candidate> candidate = space->Lower(path.path);
    if (!candidate) {
      std::fprintf(stderr, "%s\n", candidate.error().message.c_str());
      return 1;
    }
    candidates.push_back(std::move(*candidate));
  }
  const double lower = Now() - start;
  for (const Candidate& candidate : candidates) pointers.push_back(&candidate);
  start = Now();
  std::vector<std::vector<float>> features;
  for (const Candidate& candidate : candidates)
    features.push_back(ExtractFeatures(*candidate.program, workload, target));
  const double extract = Now() - start;
  for (int i = 0; i < 256; ++i) {
    const auto& row = features[static_cast<std::size_t>(i)];
    models.Observe({task, row, PriorNs(row, workload, target) * (1 + random.Uniform())});
  }
  if (const Result<void> trained = models.Train(); !trained) {
    std::fprintf(stderr, "%s\n", trained.error().message.c_str());
    return 1;
  }
  const std::unique_ptr<CostModel> model = models.ForTask(task);
  model->Predict(pointers);  // fills its cache of features
  start = Now();
  constexpr std::size_t kBatch = 64;
  for (std::size_t i = 0; i + kBatch <= pointers.size(); i += kBatch)
    model->Predict(std::span(pointers).subspan(i, kBatch));
  const double predict = Now() - start;

  std::printf(
      "{\"workload\": \"gemm 128x3072x768\", \"candidates_per_second\": %.0f, \"draw_us\": %.1f, "
      "\"lower_us\": %.1f, \"features_us\": %.1f, \"predict_us\": %.1f, \"searchers\": [",
      kCandidates / (lower + extract + predict), draw / kCandidates * 1e6,
      lower / kCandidates * 1e6, extract / kCandidates * 1e6, predict / kCandidates * 1e6);
  bool first = true;
  for (const char* name : {"mcts", "evolution", "random"}) {
    FamilyModels learning(target, {});
    const int own = learning.AddTask(workload, 0);
    const std::unique_ptr<CostModel> learned = learning.ForTask(own);
    const auto searcher = MakeSearcher(name, *space, *learned, 1);
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
        "%s{\"name\": \"%s\", \"rounds\": %d, \"trials\": %zu, \"propose_ms\": %.2f, \"train_ms\": "
        "%.2f}",
        first ? "" : ", ", name, rounds, trials, propose / rounds * 1e3,
        learning.train_seconds() / rounds * 1e3);
    first = false;
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace
}  // namespace kindred

int main(int argc, char** argv) { return kindred::Run(argc > 1 ? std::atoi(argv[1]) : 16); }
