// The CUDA kernels of tests/data/kernels, several configurations of each, run in the emulation as
// their descriptions say.
#include "schedules/user/user_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "schedules/base/seed.h"
#include "tests/cuda_emulation/emulation.h"

namespace kindred {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file(std::string(KINDRED_TEST_DATA) + "/kernels/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Described {
  KernelSpec spec;
  ParameterSpace space;
  std::string text;
};

Described Load(const std::string& name) {
  auto spec = ParseKernelSpec(Read(name + "_cuda.json"), name);
  EXPECT_TRUE(spec) << spec.error().message;
  auto space = ParameterSpace::Make(spec->space.parameters, spec->space.conditions);
  EXPECT_TRUE(space) << space.error().message;
  return {std::move(*spec), std::move(*space), Read(name + ".cu")};
}

std::vector<float> Numbers(std::int64_t count) {
  Random random(static_cast<std::uint64_t>(count));
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(random.Uniform());
  return numbers;
}

// What one configuration writes into the first buffer; the other ones are inputs.
std::vector<float> Emulate(const Described& kernel, std::size_t configuration,
                           std::vector<std::vector<float>> buffers) {
  auto source = EmitUserKernel(kernel.spec, kernel.space, configuration, kernel.text, "");
  EXPECT_TRUE(source) << source.error().message;
  std::vector<std::span<std::byte>> spans;
  for (auto& buffer : buffers) spans.push_back(std::as_writable_bytes(std::span(buffer)));
  const auto report = cuda_emulation::RunSource(*source, {}, spans, {});
  EXPECT_TRUE(report) << report.error().message;
  if (report && report->finding) ADD_FAILURE() << report->finding->message;
  return buffers[0];
}

// First, last and some in between.
std::vector<std::size_t> Some(const ParameterSpace& space) {
  return {0, space.size() / 3, space.size() * 2 / 3, space.size() - 1};
}

TEST(UserCudaKernels, Gemm) {
  Described kernel = Load("gemm");
  const auto a = Numbers(128 * 128), b = Numbers(128 * 128);
  for (const std::size_t configuration : Some(kernel.space)) {
    const auto c = Emulate(kernel, configuration, {std::vector<float>(128 * 128, NAN), a, b});
    for (std::size_t at : {0, 127, 5000, 16383}) {
      double sum = 0;
      for (std::size_t k = 0; k < 128; ++k)
        sum +=
            static_cast<double>(a[at / 128 * 128 + k]) * static_cast<double>(b[k * 128 + at % 128]);
      EXPECT_NEAR(static_cast<double>(c[at]), sum, 1e-3) << kernel.space.Describe(configuration);
    }
  }
}

TEST(UserCudaKernels, Stencil) {
  Described kernel = Load("stencil");
  const auto in = Numbers(258 * 130);
  for (const std::size_t configuration : Some(kernel.space)) {
    const auto out = Emulate(kernel, configuration, {std::vector<float>(258 * 130, NAN), in});
    for (std::size_t at = 0; at < out.size(); ++at) {
      const std::size_t x = at % 258, y = at / 258;
      const bool edge = x == 0 || y == 0 || x == 257 || y == 129;
      const float expected = edge ? in[at]
                                  : in[at] + 0.125f * (in[at - 1] + in[at + 1] + in[at - 258] +
                                                       in[at + 258] - 4 * in[at]);
      ASSERT_NEAR(out[at], expected, 1e-5f) << kernel.space.Describe(configuration) << at;
    }
  }
}

TEST(UserCudaKernels, Reduction) {
  Described kernel = Load("reduction");
  const auto values = Numbers(100000);
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  for (const std::size_t configuration : Some(kernel.space)) {
    const auto out = Emulate(kernel, configuration, {{NAN}, values});
    EXPECT_NEAR(static_cast<double>(out[0]) / sum, 1, 1e-4) << kernel.space.Describe(configuration);
  }
}

}  // namespace
}  // namespace kindred
