// One hash per workload and target of all that search decides by: paths, keys, printed sources,
// features, priors and predictions of random schedules. For changes that must change none of it:
// the output before and after is the same. Usage: candidate_digest [schedules of each workload and
// target] [draws of the search benchmark's workloads]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cost_model/family_models.h"
#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"
#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/emit_kernel.h"
#include "schedules/text_form.h"
#include "search/path_sampling.h"
#include "search/searcher.h"
#include "tests/schedules/key_workloads.h"

namespace kindred {
namespace {

// Of the sizes that are tuned.
const std::vector<SampleWorkload>& LargeWorkloads() {
  static const std::vector<SampleWorkload> kAll = {
      {"product",
       "input X: f32[128,768]\nweight W: f32[768,3072]\nweight b: f32[3072]\nT[m,n] = sum[k](X[m,k] * W[k,n])\n"
       "output Y[m,n] = max(T[m,n] + b[n], 0)\n"},
      {"odd product",
       "input X: f32[127,333]\ninput W: f32[333,1001]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n"},
      {"attention scores",
       "input Q: f32[12,128,64]\ninput K: f32[12,128,64]\noutput S[h,i,j] = sum[d](Q[h,i,d] * K[h,j,d])\n"},
      {"convolution",
       "input X: f32[1,64,56,56]\nweight W: f32[64,64,3,3]\nweight b: f32[64]\nT[n,o,y=56,x=56] = sum[c,r,s]("
       "padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])\noutput Y[n,o,y,x] = max(T[n,o,y,x] + b[o], 0)\n"},
      {"strided convolution",
       "input X: f32[1,3,224,224]\nweight W: f32[64,3,7,7]\noutput Y[n,o,y=112,x=112] = sum[c,r,s](padded(X[n, c, "
       "2*y+r-3, 2*x+s-3], 0) * W[o,c,r,s])\n"},
      {"pooling",
       "input P: f32[1,32,28,28]\noutput Q[n,c,y=14,x=14] = max[r=3,s=3](padded(P[n, c, 2*y+r-1, 2*x+s-1], -inf))\n"},
      {"depthwise",
       "input X: f32[1,96,56,56]\nweight W: f32[96,3,3]\noutput Y[n,c,y=56,x=56] = sum[r,s](padded(X[n, c, y+r-1, "
       "x+s-1], 0) * W[c,r,s])\n"},
      {"softmax",
       "input X: f32[768,1000]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = sum[j](E[i,j])\n"
       "output Y[i,j] = E[i,j] / S[i]\n"},
      {"transpose", "input X: f32[1200,700]\noutput Y[i,j] = X[j,i] + 1\n"},
  };
  return kAll;
}

std::string Bytes(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

bool Digest(const SampleWorkload& sample, const Target& target, int draws) {
  const Result<Workload> parsed = ParseWorkload(sample.text);
  if (!parsed) {
    std::fprintf(stderr, "%s: %s\n", sample.name.c_str(), parsed.error().message.c_str());
    return false;
  }
  const Workload workload = Canonicalize(*parsed).workload;
  const std::unique_ptr<Space> space = MakeSpace(workload, target);
  FamilyModels models(target, {});
  const int task = models.AddTask(workload, 0);
  const std::unique_ptr<CostModel> model = models.ForTask(task);
  PathSampler sampler(*space);
  Random random(7);
  std::string paths, keys, sources, features, predictions;
  std::vector<Candidate> candidates;
  for (int i = 0; i < draws; ++i) {
    const std::optional<SampledPath> path = sampler.DrawRandom(random);
    const Result<Candidate> candidate = space->Lower(path->path);
    paths += PathToJson(path->path);
    if (!candidate) {
      std::fprintf(stderr, "%s: %s\n", sample.name.c_str(), candidate.error().message.c_str());
      return false;
    }
    keys += candidate->key.Hex();
    sources += EmitKernel(*candidate->program, workload, target).code;
    sources += candidate->program->head_comment;
    const std::vector<float> row = ExtractFeatures(*candidate->program, workload, target);
    features += Bytes(row.data(), row.size() * sizeof(float));
    const double prior = PriorNs(row, workload, target);
    features += Bytes(&prior, sizeof(prior));
    models.Observe(
        {task, row, i % 7 == 3 ? 0 : prior * (1 + Random(candidate->key.low).Uniform())});
    candidates.push_back(*candidate);
    if (i % 16 == 15 || i + 1 == draws) {
      if (i % 32 == 15 && !models.Train()) return false;
      std::vector<const Candidate*> pointers;
      for (const Candidate& c : candidates) pointers.push_back(&c);
      for (const Prediction& p : model->Predict(pointers))
        predictions += Bytes(&p.ns, sizeof(p.ns)) + Bytes(&p.sigma, sizeof(p.sigma));
      candidates.clear();
    }
  }
  // What the searchers make of it.
  std::string proposals;
  for (const char* name : {"mcts", "evolution", "random"}) {
    const auto searcher = MakeSearcher(name, *space, *model, 3);
    for (int round = 0; round < 2; ++round) {
      const std::vector<Candidate> batch = (*searcher)->Propose(8);
      std::vector<Outcome> outcomes;
      for (const Candidate& candidate : batch) {
        proposals += candidate.key.Hex();
        Outcome outcome;
        outcome.median_ns = 1000 * (1 + Random(candidate.key.low).Uniform());
        outcomes.push_back(outcome);
      }
      (*searcher)->Observe(batch, outcomes);
    }
  }
  std::printf("%s on %s:", sample.name.c_str(), target.id.c_str());
  for (const std::string* part : {&paths, &keys, &sources, &features, &predictions, &proposals})
    std::printf(" %s", HashOf(*part).Hex().substr(0, 12).c_str());
  std::printf("\n");
  return true;
}

int Run(int draws, int many) {
  Target one;
  one.compilers = {"gcc", "clang"};
  one.vector_bytes = 64;
  one.vector_registers = 32;
  Target eight;
  eight.id = "cpu:threads=8";
  eight.threads = 8;
  for (const Target& target : {one, eight, *NamedCudaTarget("a100"), *NamedCudaTarget("h200")}) {
    for (const SampleWorkload& sample : KeyWorkloads())
      if (!Digest(sample, target, draws)) return 1;
    for (const SampleWorkload& sample : LargeWorkloads())
      if (!Digest(sample, target, many)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace kindred

int main(int argc, char** argv) {
  return kindred::Run(argc > 1 ? std::atoi(argv[1]) : 20, argc > 2 ? std::atoi(argv[2]) : 200);
}
