#include "schedules/tolerance.h"

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "schedules/text_form.h"
#include "tests/schedules/interpreter.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred {
namespace {

struct Judged {
  double worst = 0;  // error / bound, over all elements with a bound
  double largest_bound = 0, largest_value = 0;
  int bad = 0, elements = 0;
  std::string first;
};

// What a strict interpreter in the declared types computes, judged by the reference.
Judged Judge(const std::string& text, std::uint64_t seed, double disturb = 0) {
  auto parsed = ParseWorkload(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  const Workload& workload = *parsed;
  const ReferenceWorkload reference = WithErrorBounds(workload);
  const auto check = CheckWorkload(reference.workload);
  EXPECT_TRUE(check) << check.error().message << "\n" << PrintWorkload(reference.workload);
  if (!check) return {};
  const std::vector<TensorValues> inputs = RandomInputs(workload, seed);
  const std::vector<TensorValues> kernel = Interpret(workload, inputs);
  std::vector<TensorValues> padded = inputs;
  padded.resize(reference.workload.tensors.size());
  const std::vector<TensorValues> truth = Interpret(reference.workload, padded);
  Judged judged;
  std::size_t output = 0;
  for (const Stage& stage : workload.stages) {
    const auto id = static_cast<std::size_t>(stage.tensor);
    if (workload.tensors[id].role != Role::kOutput) continue;
    const ReferenceWorkload::Output& where = reference.outputs.at(output++);
    EXPECT_EQ(where.value, stage.tensor);
    const TensorValues& value = truth[static_cast<std::size_t>(where.value)];
    const TensorValues& bound = truth[static_cast<std::size_t>(where.bound)];
    const auto count = static_cast<std::size_t>(Elements(workload.tensors[id]));
    EXPECT_EQ(bound.floats.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_float = IsFloat(workload.tensors[id].type);
      const double want = is_float ? value.floats[i] : static_cast<double>(value.integers[i]);
      double got = is_float ? kernel[id].floats[i] : static_cast<double>(kernel[id].integers[i]);
      got += disturb * std::fabs(got);
      const double limit = bound.floats[i];
      EXPECT_GE(limit, 0) << workload.tensors[id].name;
      ++judged.elements;
      judged.largest_bound = std::max(judged.largest_bound, limit);
      judged.largest_value = std::max(judged.largest_value, std::fabs(want));
      const double error = std::fabs(got - want);
      if (limit > 0) judged.worst = std::max(judged.worst, error / limit);
      if (got == want || error <= limit) continue;
      if (judged.bad++ == 0)
        judged.first = workload.tensors[id].name + " element " + std::to_string(i) + " is " +
                       std::to_string(got) + ", expected " + std::to_string(want) + " +- " +
                       std::to_string(limit);
    }
  }
  EXPECT_EQ(output, reference.outputs.size());
  return judged;
}

TEST(WithErrorBounds, AcceptsEveryStrictComputation) {
  for (const SampleWorkload& sample : SmallWorkloads()) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const Judged judged = Judge(sample.text, seed);
      EXPECT_EQ(judged.bad, 0) << sample.name << ": " << judged.first;
      EXPECT_GT(judged.elements, 0);
    }
  }
}

TEST(WithErrorBounds, RefusesWhatIsSlightlyWrong) {
  // Relative errors of 1e-3 in f32 are always seen.
  for (const char* name :
       {"gemm_bias_gelu", "convolution", "softmax", "layer_norm", "rms_norm", "attention",
        "depthwise", "average_pool", "activations", "mathematics", "batched_gemm", "dilated"}) {
    for (const SampleWorkload& sample : SmallWorkloads()) {
      if (sample.name != name) continue;
      const Judged judged = Judge(sample.text, 3, 1e-3);
      EXPECT_GT(judged.bad, judged.elements / 2) << sample.name << " worst " << judged.worst;
    }
  }
}

TEST(WithErrorBounds, IsTheRuleOfThumbForContractions) {
  // c * eps * sqrt(K) * sum |a b|, with the products' own rounding added.
  const Workload gemm = *ParseWorkload(
      "input X: f32[3,64]\nweight W: f32[64,2]\n"
      "output Y[m,n] = sum[k](X[m,k] * W[k,n])\n");
  const ReferenceWorkload reference = WithErrorBounds(gemm, 8);
  std::vector<TensorValues> values = RandomInputs(gemm, 1);
  values.resize(reference.workload.tensors.size());
  values = Interpret(reference.workload, values);
  for (int m = 0; m < 3; ++m) {
    for (int n = 0; n < 2; ++n) {
      double sum = 0;
      for (int k = 0; k < 64; ++k)
        sum += std::fabs(values[0].floats[static_cast<std::size_t>(m * 64 + k)] *
                         values[1].floats[static_cast<std::size_t>(k * 2 + n)]);
      const double rule = 8 * 0x1p-24 * (std::sqrt(64.0) + 1) * sum;
      EXPECT_NEAR(values[static_cast<std::size_t>(reference.outputs[0].bound)]
                      .floats[static_cast<std::size_t>(m * 2 + n)],
                  rule, rule * 1e-12);
    }
  }
}

TEST(WithErrorBounds, FastMathAloneDoublesTheBounds) {
  const auto bound = [](const std::string& allowed) {
    const Workload w =
        *ParseWorkload(allowed + "input X: f32[8]\noutput Y[] = sum[i](exp(X[i]) / 3)\n");
    const ReferenceWorkload reference = WithErrorBounds(w);
    EXPECT_TRUE(reference.workload.contract == NumericContract());
    std::vector<TensorValues> values = RandomInputs(w, 1);
    values.resize(reference.workload.tensors.size());
    values = Interpret(reference.workload, values);
    return values[static_cast<std::size_t>(reference.outputs[0].bound)].floats[0];
  };
  const double strict = bound("");
  EXPECT_GT(strict, 0);
  EXPECT_EQ(bound("allow tf32, winograd, atomics\n"), strict);
  EXPECT_DOUBLE_EQ(bound("allow fast_math\n"), 2 * strict);
}

TEST(WithErrorBounds, CopiesAndIntegersAreExact) {
  for (const char* name :
       {"transpose", "gemm_i8", "concat_and_slice", "integers", "arg_max", "max_pool", "reshape"}) {
    for (const SampleWorkload& sample : SmallWorkloads()) {
      if (sample.name != name || sample.name == "reshape") continue;
      EXPECT_EQ(Judge(sample.text, 2).largest_bound, 0) << name;
    }
  }
}

TEST(WithErrorBounds, TiesOfInexactValuesAllowEitherIndex) {
  // Columns whose values are equal but for rounding: each is right, those between them are not.
  const Workload w = *ParseWorkload(
      "input X: f32[2,4]\nS[i,j] = X[i,j] * 3 / 3\noutput A[i] = argmax[j](S[i,j])\n"
      "output B[i] = argmin[j](S[i,j])\noutput C[i] = argmax[j](X[i,j])\n");
  const ReferenceWorkload reference = WithErrorBounds(w);
  ASSERT_TRUE(CheckWorkload(reference.workload));
  std::vector<TensorValues> values(reference.workload.tensors.size());
  values[0].floats = {0.5, 0.1, std::nextafter(0.5f, 0.f), 0.25, 0.25, 0.75, 0.5, 0.25};
  values = Interpret(reference.workload, values);
  const auto integers = [&](int tensor) {
    return values[static_cast<std::size_t>(tensor)].integers;
  };
  const auto bounds = [&](std::size_t output) {
    return values[static_cast<std::size_t>(reference.outputs[output].bound)].floats;
  };
  using Integers = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;
  EXPECT_EQ(integers(reference.outputs[0].value), (Integers{0, 1}));
  EXPECT_EQ(bounds(0), (Numbers{2, 0}));
  EXPECT_EQ(integers(reference.outputs[0].choices), (Integers{1, 0, 1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(integers(reference.outputs[1].value), (Integers{1, 0}));
  EXPECT_EQ(integers(reference.outputs[1].choices), (Integers{0, 1, 0, 0, 1, 0, 0, 1}));
  // What is compared exactly has one answer.
  EXPECT_EQ(reference.outputs[2].choices, -1);
  EXPECT_EQ(bounds(2), (Numbers{0, 0}));
}

TEST(WithErrorBounds, NarrowResultsAreRightToTheBit) {
  // 0.3 and 3 round to one number whatever the error; 17/16 lies in the middle of 1 and 9/8.
  const Workload w = *ParseWorkload(
      "input X: f32[3]\noutput E: f8e4m3[i] = X[i]\noutput C: f8e4m3[i] = X[i] * 3 / 3\n"
      "Q: f8e4m3[i] = X[i] * 3 / 3\noutput S[] = sum[i](Q[i])\n");
  const ReferenceWorkload reference = WithErrorBounds(w);
  ASSERT_TRUE(CheckWorkload(reference.workload));
  std::vector<TensorValues> values(reference.workload.tensors.size());
  values[0].floats = {0.3f, 3, 1.0625};
  values = Interpret(reference.workload, values);
  const auto floats = [&](int tensor) { return values[static_cast<std::size_t>(tensor)].floats; };
  using Numbers = std::vector<double>;
  EXPECT_EQ(floats(reference.outputs[0].value), (Numbers{0.3125, 3, 1}));
  EXPECT_EQ(floats(reference.outputs[0].bound), (Numbers{0, 0, 0}));
  EXPECT_EQ(floats(reference.outputs[1].value), (Numbers{0.3125, 3, 1}));
  EXPECT_EQ(floats(reference.outputs[1].bound), (Numbers{0, 0, 0.125}));
  // A rounded temporary is what its readers read.
  EXPECT_EQ(floats(reference.outputs[2].value), (Numbers{4.3125}));
  EXPECT_LT(floats(reference.outputs[2].bound)[0], 1.1);
}

TEST(WithErrorBounds, OverflowOfNarrowTypesIsBounded) {
  for (const char* type : {"f8e4m3", "f8e5m2", "f16", "bf16"}) {
    const Workload w =
        *ParseWorkload("input X: f32[4]\noutput Y: " + std::string(type) + "[i] = X[i] * 3 / 3\n");
    const ReferenceWorkload reference = WithErrorBounds(w);
    std::vector<TensorValues> values(reference.workload.tensors.size());
    values[0].floats = {463.99999f, 61439.99f, 65519.99f, 1e30f};
    values = Interpret(reference.workload, values);
    for (const double bound : values[static_cast<std::size_t>(reference.outputs[0].bound)].floats)
      EXPECT_FALSE(std::isnan(bound)) << type;
  }
}

TEST(WithErrorBounds, ComparisonsNearEqualityAllowEitherBranch) {
  const Workload w = *ParseWorkload(
      "input X: f32[3]\nT[i] = X[i] * 0.1\noutput Y[i] = select(T[i] < 0.05, 1.0, -1.0)\n"
      "output I[i] = i32(T[i] * 20)\noutput F[i] = floor(T[i] * 20)\n");
  const ReferenceWorkload reference = WithErrorBounds(w);
  std::vector<TensorValues> values(reference.workload.tensors.size());
  values[0].floats = {0.5, 0.25, 0.75};
  values = Interpret(reference.workload, values);
  const auto bounds = [&](std::size_t output) {
    return values[static_cast<std::size_t>(reference.outputs[output].bound)].floats;
  };
  EXPECT_GE(bounds(0)[0], 2);
  EXPECT_EQ(bounds(0)[1], 0);
  EXPECT_GE(bounds(1)[0], 1);
  EXPECT_EQ(bounds(1)[1], 0);
  EXPECT_GE(bounds(2)[0], 1);
  EXPECT_EQ(bounds(2)[2], 0);
}

TEST(WithErrorBounds, MaskedAttentionStaysTight) {
  for (const std::string mask : {"-inf", "-3.4e38", "-1e9"}) {
    const Judged judged = Judge(
        "input S: f32[5,5]\ninput B: f32[5,5]\n"
        "A[i,j] = S[i,j] * B[i,j] + select(j <= i, 0, " +
            mask +
            ")\n"
            "M[i] = max[j](A[i,j])\nE[i,j] = exp(A[i,j] - M[i])\nZ[i] = sum[j](E[i,j])\n"
            "output Y[i,j] = E[i,j] / Z[i]\n",
        4);
    EXPECT_EQ(judged.bad, 0) << judged.first;
    EXPECT_LT(judged.largest_bound, 1e-4) << mask;
  }
}

TEST(WithErrorBounds, DeepPointwiseChainsStaySmall) {
  std::string text = "input X: f32[4]\nT0[i] = X[i]\n";
  for (int i = 1; i <= 3; ++i)
    text += "T" + std::to_string(i) + "[i] = gelu_tanh(mish(T" + std::to_string(i - 1) +
            "[i])) * 1.5\n";
  text += "output Y[i] = gelu(gelu_tanh(mish(gelu_tanh(X[i]))) + T3[i])\n";
  const Judged judged = Judge(text, 1);
  EXPECT_EQ(judged.bad, 0) << judged.first;
  const ReferenceWorkload reference = WithErrorBounds(*ParseWorkload(text));
  for (const Stage& stage : reference.workload.stages) {
    int nodes = 0;
    Visit(*stage.body, [&nodes](const Expr&) { ++nodes; });
    EXPECT_LT(nodes, 20000);
  }
}

}  // namespace
}  // namespace kindred
