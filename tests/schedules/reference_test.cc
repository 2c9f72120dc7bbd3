// The reference program as it judges kernels: compiled, against the interpreter; and the plain loop
// nest judged by it.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedules/lower_naive.h"
#include "schedules/text_form.h"
#include "schedules/tolerance.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/interpreter.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred {
namespace {

bool SameNumber(double a, double b) {
  return a == b || std::fabs(a - b) <= 1e-9 * (std::fabs(a) + std::fabs(b));
}

TEST(Reference, CompiledReferenceAgreesWithTheInterpreterAndAcceptsTheNaiveKernel) {
  test::KernelBatch batch{Target()};
  std::vector<Workload> workloads;
  std::vector<ReferenceWorkload> references;
  for (const SampleWorkload& sample : SmallWorkloads()) {
    workloads.push_back(*ParseWorkload(sample.text, sample.name));
    references.push_back(WithErrorBounds(workloads.back()));
    ASSERT_TRUE(
        batch.Add(references.back().workload, LowerNaive(references.back().workload), "reference"));
    ASSERT_TRUE(batch.Add(workloads.back(), LowerNaive(workloads.back()), sample.name));
  }
  const auto built = batch.Build();
  ASSERT_TRUE(built) << built.error().message;
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    const Workload& workload = workloads[w];
    const Workload& reference = references[w].workload;
    const std::string& name = SmallWorkloads()[w].name;
    std::vector<TensorValues> tensors = RandomInputs(workload, 17);
    std::vector<test::Bytes> inputs;
    for (std::size_t t = 0; t < tensors.size(); ++t)
      if (workload.tensors[t].role == Role::kInput || workload.tensors[t].role == Role::kWeight)
        inputs.push_back(ToBytes(workload.tensors[t], tensors[t]));
    const auto truth = batch.Run(static_cast<int>(2 * w), inputs);
    const auto kernel = batch.Run(static_cast<int>(2 * w + 1), inputs);
    ASSERT_TRUE(truth) << name << ": " << truth.error().message;
    ASSERT_TRUE(kernel) << name << ": " << kernel.error().message;

    tensors.resize(reference.tensors.size());
    const std::vector<TensorValues> expected = Interpret(reference, tensors);
    const auto compiled = [&](int id) {
      std::size_t output = 0;
      for (const int argument : ArgumentTensors(reference)) {
        const Tensor& tensor = reference.tensors[static_cast<std::size_t>(argument)];
        if (tensor.role != Role::kOutput) continue;
        if (argument == id) return FromBytes(tensor, (*truth)[output]);
        ++output;
      }
      ADD_FAILURE() << "no output " << id;
      return TensorValues();
    };
    for (std::size_t o = 0; o < references[w].outputs.size(); ++o) {
      const ReferenceWorkload::Output& output = references[w].outputs[o];
      const TensorValues value = compiled(output.value), bound = compiled(output.bound);
      const TensorValues& want = expected[static_cast<std::size_t>(output.value)];
      const TensorValues& limit = expected[static_cast<std::size_t>(output.bound)];
      EXPECT_EQ(value.integers, want.integers) << name;
      const TensorValues got =
          FromBytes(workload.tensors[static_cast<std::size_t>(output.value)], (*kernel)[o]);
      for (std::size_t i = 0; i < bound.floats.size(); ++i) {
        ASSERT_TRUE(SameNumber(bound.floats[i], limit.floats[i])) << name << " bound " << i;
        const bool is_float = !value.floats.empty();
        if (is_float) {
          ASSERT_TRUE(SameNumber(value.floats[i], want.floats[i])) << name << " value " << i;
        }
        const double error =
            is_float ? std::fabs(got.floats[i] - value.floats[i])
                     : std::fabs(static_cast<double>(got.integers[i] - value.integers[i]));
        ASSERT_LE(error, bound.floats[i]) << name << " output " << o << " element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace kindred
