#include "measure/internal/sampled_workload.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include "schedules/text_form.h"

namespace kindred {
namespace {

Workload Parse(const std::string& text) {
  auto workload = ParseWorkload(text);
  EXPECT_TRUE(workload) << workload.error().message;
  return std::move(*workload);
}

TEST(SampledWorkload, PositionsHoldEdgesAndEveryResidue) {
  for (const std::int64_t extent : {100, 3072, 50257}) {
    for (const std::int64_t count : {40, 90}) {
      const std::vector<std::int64_t> positions = SamplePositions(extent, count);
      EXPECT_EQ(positions.size(), static_cast<std::size_t>(count));
      EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
      EXPECT_EQ(std::set(positions.begin(), positions.end()).size(), positions.size());
      EXPECT_EQ(positions.front(), 0);
      EXPECT_EQ(positions.back(), extent - 1);
    }
  }
  std::set<std::int64_t> residues;
  for (const std::int64_t position : SamplePositions(50257, 200)) residues.insert(position % 64);
  EXPECT_EQ(residues.size(), 64u);
  EXPECT_EQ(SamplePositions(5, 10), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(SampledWorkload, ASmallOneStaysAsItIs) {
  const Workload w = Parse("input A: f32[64,64]\noutput C[i,j] = sum[k](A[i,k] * A[k,j])\n");
  const SampledWorkload sampled = SampleOutputs(w, 1'000'000, 1'000'000);
  EXPECT_TRUE(sampled.index_inputs.empty());
  EXPECT_EQ(PrintWorkload(sampled.workload), PrintWorkload(w));
  ASSERT_EQ(sampled.positions.size(), 1u);
  EXPECT_EQ(sampled.positions[0], (std::vector<std::vector<std::int64_t>>(2)));
}

TEST(SampledWorkload, RestrictsOutputsAndTheirTemporaries) {
  const Workload w = Parse(R"(
input  X: f32[128,768]
weight W: f32[768,3072]
weight b: f32[3072]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n] = gelu(T[m,n] + b[n])
)");
  const SampledWorkload sampled = SampleOutputs(w, 50'000'000, 1'000'000);
  EXPECT_LE(Flop(sampled.workload), 50'000'000);
  EXPECT_GE(Flop(sampled.workload), 10'000'000);
  const auto checked = CheckWorkload(sampled.workload);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << PrintWorkload(sampled.workload);
  ASSERT_FALSE(sampled.index_inputs.empty());
  for (const auto& input : sampled.index_inputs) {
    EXPECT_GE(input.tensor, static_cast<int>(w.tensors.size()));
    EXPECT_EQ(Elements(sampled.workload.tensors[input.tensor]),
              static_cast<std::int64_t>(input.positions.size()));
  }
  // The output's shape is the positions' number.
  const int output = ArgumentTensors(w).back();
  for (std::size_t d = 0; d < 2; ++d) {
    const auto& positions = sampled.positions[0][d];
    const std::int64_t whole = w.tensors[output].shape[d].value;
    EXPECT_EQ(sampled.workload.tensors[output].shape[d].value,
              positions.empty() ? whole : static_cast<std::int64_t>(positions.size()));
  }
}

TEST(SampledWorkload, BoundsTheElements) {
  const Workload w = Parse("input X: f32[1000,1000]\noutput Y[i,j] = X[i,j] + 1\n");
  const SampledWorkload sampled = SampleOutputs(w, 1'000'000'000, 10'000);
  EXPECT_LE(Elements(sampled.workload.tensors[1]), 10'000);
  EXPECT_GE(Elements(sampled.workload.tensors[1]), 2'500);
}

TEST(SampledWorkload, KeepsWhatAReductionWalks) {
  // Soft-max: a row needs all of its columns.
  const Workload w = Parse(R"(
input X: f32[4096,4096]
M[i] = max[j](X[i,j])
E[i,j] = exp(X[i,j] - M[i])
S[i] = sum[j](E[i,j])
output Y[i,j] = E[i,j] / S[i]
)");
  const SampledWorkload sampled = SampleOutputs(w, 1'000'000, 1'000'000);
  ASSERT_EQ(sampled.index_inputs.size(), 1u);
  EXPECT_FALSE(sampled.positions[0][0].empty());
  EXPECT_TRUE(sampled.positions[0][1].empty());
  const auto checked = CheckWorkload(sampled.workload);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << PrintWorkload(sampled.workload);
}

TEST(SampledWorkload, KeepsWhatIsReadWithAnOffset) {
  const Workload w = Parse(R"(
input X: f32[64,4096]
T[c,x] = X[c,x] * 2
output Y[c,x=4094] = T[c,x] + T[c,x+2]
)");
  const SampledWorkload sampled = SampleOutputs(w, 10'000, 1'000'000);
  const Stage& first = sampled.workload.stages.front();
  EXPECT_LT(first.axes[0].extent.value, 64);
  EXPECT_EQ(first.axes[1].extent.value, 4096);
  EXPECT_FALSE(sampled.positions[0][1].empty());
  const auto checked = CheckWorkload(sampled.workload);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << PrintWorkload(sampled.workload);
}

}  // namespace
}  // namespace kindred
