#include "schedules/inputs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "schedules/text_form.h"
#include "tests/schedules/interpreter.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred {
namespace {

TensorValues Filled(const Workload& workload, const std::string& name, std::uint64_t seed = 1) {
  for (std::size_t i = 0; i < workload.tensors.size(); ++i)
    if (workload.tensors[i].name == name) return RandomInputs(workload, seed)[i];
  ADD_FAILURE() << name;
  return {};
}

TEST(FillInput, SameSeedSameDataOtherSeedOtherData) {
  const Workload w =
      *ParseWorkload("input X: f32[100]\ninput Y: f32[100]\noutput Z[i] = X[i] + Y[i]\n");
  EXPECT_EQ(Filled(w, "X", 1).floats, Filled(w, "X", 1).floats);
  EXPECT_NE(Filled(w, "X", 1).floats, Filled(w, "X", 2).floats);
  EXPECT_NE(Filled(w, "X", 1).floats, Filled(w, "Y", 1).floats);
}

TEST(FillInput, FloatsAreNeverZeroAndSpread) {
  for (const char* type : {"f64", "f32", "f16", "bf16", "f8e4m3"}) {
    const Workload w =
        *ParseWorkload(std::string("input X: ") + type + "[5000]\noutput Z[i] = f32(X[i])\n");
    const auto values = Filled(w, "X").floats;
    double sum = 0;
    for (const double v : values) {
      ASSERT_NE(v, 0) << type;
      ASSERT_GE(v, -1);
      ASSERT_LE(v, 1);
      sum += v;
    }
    EXPECT_LT(std::fabs(sum), 200) << type;
    EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), type[1] == '8' ? 50u : 200u)
        << type;
  }
}

TEST(FillInput, RespectsHowTheTensorIsUsed) {
  const Workload w = *ParseWorkload(
      "input J: i32[500]\nweight E: f32[7,4]\ninput P: f32[500]\ninput D: f32[500]\ninput V: f16[500]\n"
      "input C: i32[500]\ninput M: bool[1000]\n"
      "output A[p,f] = E[J[p],f] + log(P[p]) / D[p] + sqrt(V[p] + 1e-5)\n"
      "output B[p] = i32(7) / C[p]\noutput N[p] = not M[p]\n");
  const auto j = Filled(w, "J").integers;
  EXPECT_EQ(*std::min_element(j.begin(), j.end()), 0);
  EXPECT_EQ(*std::max_element(j.begin(), j.end()), 6);
  for (const char* name : {"P", "D", "V"})
    for (const double v : Filled(w, name).floats) ASSERT_GT(v, 0.2) << name;
  for (const std::int64_t v : Filled(w, "C").integers) ASSERT_GT(v, 0);
  const auto m = Filled(w, "M").integers;
  EXPECT_NEAR(static_cast<double>(std::count(m.begin(), m.end(), 1)), 500, 100);
}

TEST(FillInput, FollowsTheDataSpec) {
  const Workload w = *ParseWorkload(
      "input U: f32[2000] data uniform(3, 5)\ninput N: f32[2000] data normal(10, 0.5)\n"
      "input I: i64[2000] data index(-3, 4)\ninput K: f32[2000] data mask(0.25)\n"
      "input S: f32[2000] data uniform(1, 2) density 0.1\n"
      "output Y[i] = U[i] + N[i] + f32(I[i]) + K[i] + S[i]\n");
  for (const double v : Filled(w, "U").floats) ASSERT_TRUE(v >= 3 && v < 5);
  double mean = 0;
  for (const double v : Filled(w, "N").floats) mean += v / 2000;
  EXPECT_NEAR(mean, 10, 0.1);
  const auto i = Filled(w, "I").integers;
  EXPECT_EQ(*std::min_element(i.begin(), i.end()), -3);
  EXPECT_EQ(*std::max_element(i.begin(), i.end()), 3);
  const auto k = Filled(w, "K").floats;
  EXPECT_NEAR(static_cast<double>(std::count(k.begin(), k.end(), 1.0)), 500, 120);
  EXPECT_EQ(std::count(k.begin(), k.end(), 0.0) + std::count(k.begin(), k.end(), 1.0), 2000);
  const auto s = Filled(w, "S").floats;
  EXPECT_NEAR(static_cast<double>(std::count(s.begin(), s.end(), 0.0)), 1800, 80);
}

TEST(FillInput, KeepsEverySampleFinite) {
  for (const SampleWorkload& sample : SmallWorkloads()) {
    const Workload w = *ParseWorkload(sample.text);
    const auto tensors = Interpret(w, RandomInputs(w, 9));
    for (std::size_t t = 0; t < tensors.size(); ++t)
      for (const double v : tensors[t].floats)
        ASSERT_TRUE(std::isfinite(v)) << sample.name << " " << w.tensors[t].name;
  }
}

}  // namespace
}  // namespace kindred
