// Features and prior on what the sketches really lower: finite, no work lost, worse programs priced
// higher.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "cost_model/features.h"
#include "cost_model/internal/feature_list.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"
#include "schedules/canonical.h"
#include "schedules/space.h"
#include "schedules/text_form.h"
#include "tests/cost_model/gemm_program.h"

namespace kindred {
namespace {

struct Case {
  const char* name;
  const char* text;
  bool contraction;  // flop of the program are those of the workload, up to tails
};

constexpr Case kCases[] = {
    {"gemm",
     "input X: f32[100,96]\nweight W: f32[96,200]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n",
     true},
    {"fused",
     "input X: f32[64,128]\nweight W: f32[128,96]\nweight b: f32[96]\nT[m,n] = sum[k](X[m,k] * "
     "W[k,n])\n"
     "output Y[m,n] = max(T[m,n] + b[n], 0)\n",
     true},
    {"convolution",
     "input X: f32[1,16,30,30]\nweight W: f32[32,16,3,3]\noutput Y[n,o,y=30,x=30] = sum[c,r,s]("
     "padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])\n",
     true},
    {"pooling",
     "input P: f32[1,32,28,28]\noutput Q[n,c,y=14,x=14] = max[r=3,s=3](padded(P[n, c, 2*y+r-1, "
     "2*x+s-1], -inf))\n",
     false},
    {"softmax",
     "input X: f32[64,200]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = "
     "sum[j](E[i,j])\n"
     "output Y[i,j] = E[i,j] / S[i]\n",
     false},
    {"transpose", "input X: f32[120,70]\noutput Y[i,j] = X[j,i] + 1\n", false},
};

// A uniform draw.
Path Draw(const Space& space, Random& random) {
  Path path;
  while (const std::optional<Decision> decision = space.Next(path)) {
    const std::size_t option = random.Below(decision->options.size());
    path.push_back({decision->name, decision->options[option],
                    decision->labels.empty() ? "" : decision->labels[option]});
  }
  return path;
}

class RealSpaces : public testing::TestWithParam<Case> {};

TEST_P(RealSpaces, FeaturesAreFiniteAndNoWorkIsLost) {
  const Result<Workload> parsed = ParseWorkload(GetParam().text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Workload workload = Canonicalize(*parsed).workload;
  const Target target = test::TestTarget();
  const std::unique_ptr<Space> space = MakeSpace(workload, target);
  Random random(1);
  std::unordered_map<Hash128, std::vector<float>> seen;
  for (int i = 0; i < 60; ++i) {
    const Path path = Draw(*space, random);
    const Result<Candidate> candidate = space->Lower(path);
    ASSERT_TRUE(candidate) << PathToJson(path) << ": " << candidate.error().message;
    const std::vector<float> features = ExtractFeatures(*candidate->program, workload, target);
    for (std::size_t f = 0; f < features.size(); ++f)
      ASSERT_TRUE(std::isfinite(features[f]))
          << FeatureNames(DeviceKind::kCpu)[f] << " of " << PathToJson(path);
    const auto [known, fresh] = seen.emplace(candidate->key, features);
    EXPECT_EQ(known->second, features) << "equal keys, equal features";
    const double prior = PriorNs(features, workload, target);
    EXPECT_GT(prior, 0.2 * RooflineNs(workload, target)) << PathToJson(path);
    EXPECT_LT(prior, 1e5 * RooflineNs(workload, target)) << PathToJson(path);
    if (GetParam().contraction) {
      EXPECT_GT(features[kWaste], -0.2f) << PathToJson(path);
      EXPECT_LT(features[kWaste], 3.0f) << PathToJson(path);
    }
  }
  EXPECT_GT(seen.size(), 3u);
}

TEST(RealSpacesPrior, TheBestIsFarBetterThanMost) {
  const Target target = test::TestTarget();
  for (const Case& tested : kCases) {
    if (!tested.contraction) continue;
    const Workload workload = Canonicalize(*ParseWorkload(tested.text)).workload;
    const std::unique_ptr<Space> space = MakeSpace(workload, target);
    Random random(2);
    std::vector<double> priors;
    for (int i = 0; i < 100; ++i) {
      const Result<Candidate> candidate = space->Lower(Draw(*space, random));
      ASSERT_TRUE(candidate);
      const std::vector<float> features = ExtractFeatures(*candidate->program, workload, target);
      priors.push_back(PriorNs(features, workload, target));
    }
    std::sort(priors.begin(), priors.end());
    EXPECT_LT(priors[0], 0.7 * priors[75]) << tested.name;
    EXPECT_LT(priors[0], 8 * RooflineNs(workload, target)) << tested.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, RealSpaces, testing::ValuesIn(kCases),
                         [](const auto& which) { return std::string(which.param.name); });

}  // namespace
}  // namespace kindred
