// The reference's loop order must not change its arithmetic: LowerReference against LowerNaive, to
// the bit.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "measure/builder.h"
#include "schedules/emit_c.h"
#include "schedules/inputs.h"
#include "schedules/lower_naive.h"
#include "schedules/lower_reference.h"
#include "schedules/text_form.h"
#include "schedules/tolerance.h"
#include "tests/measure/scratch.h"

namespace kindred {
namespace {

// Outputs of a program, one byte string each.
std::vector<std::string> OutputsOf(Builder& builder, const Workload& workload,
                                   const Program& program) {
  KernelSource source = EmitC(program, workload, Target{});
  source.flags.push_back("-ffp-contract=off");  // contraction is the compiler's choice in both
  const auto built = builder.BuildOne(source, 60);
  EXPECT_TRUE(built) << built.error().message;
  EXPECT_EQ(Name(built->status), "ok") << built->message << "\n" << source.code;
  if (built->status != Status::kOk) return {};
  std::vector<std::vector<std::uint64_t>> memory;
  std::vector<void*> buffers;
  for (const int tensor : ArgumentTensors(workload)) {
    const auto bytes = static_cast<std::size_t>(Bytes(workload.tensors[tensor]));
    auto& buffer = memory.emplace_back(bytes / 8 + 16, 0);
    buffers.push_back(buffer.data());
    if (workload.ProducerOf(tensor) == nullptr)
      FillInput(workload, tensor, 7, {reinterpret_cast<std::byte*>(buffer.data()), bytes});
  }
  std::vector<std::uint64_t> workspace(static_cast<std::size_t>(source.workspace_bytes / 8 + 16));
  void* const library = dlopen(built->library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry = reinterpret_cast<int (*)(void* const*, const std::int64_t*, void*)>(
      dlsym(library, built->entry.c_str()));
  const auto aligned = (reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64;
  EXPECT_EQ(entry(buffers.data(), nullptr, reinterpret_cast<void*>(aligned)), 0);
  dlclose(library);
  std::vector<std::string> outputs;
  std::size_t argument = 0;
  for (const int tensor : ArgumentTensors(workload)) {
    if (workload.ProducerOf(tensor) != nullptr)
      outputs.emplace_back(static_cast<const char*>(buffers[argument]),
                           static_cast<std::size_t>(Bytes(workload.tensors[tensor])));
    ++argument;
  }
  return outputs;
}

class ReferenceTest : public testing::TestWithParam<const char*> {};

TEST_P(ReferenceTest, ComputesWhatThePlainNestComputes) {
  const auto workload = ParseWorkload(GetParam());
  ASSERT_TRUE(workload) << workload.error().message;
  const Workload reference = WithErrorBounds(*workload).workload;
  const Scratch scratch;
  BuilderOptions options;
  options.cache_directory = scratch.path();
  auto builder = Builder::Make(options);
  ASSERT_TRUE(builder) << builder.error().message;
  const auto plain = OutputsOf(**builder, reference, LowerNaive(reference));
  const auto blocked = OutputsOf(**builder, reference, LowerReference(reference));
  ASSERT_EQ(plain.size(), blocked.size());
  ASSERT_GE(plain.size(), 2u);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i], blocked[i]) << "output " << i;
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, ReferenceTest,
    testing::Values(
        "input A: f32[7,33]\ninput B: f32[33,1300]\noutput C[i,j] = sum[k](A[i,k] * B[k,j])\n",
        "input A: f32[1,33]\ninput B: f32[33,1]\noutput C[i,j] = sum[k](A[i,k] * B[k,j])\n",
        "input A: i8[5,40]\ninput B: i8[40,512]\noutput C[i,j] = sum[k](A[i,k] * B[k,j])\n",
        "input X: f32[2,3,9,9]\nweight W: f32[4,3,3,3]\n"
        "output Y[n,o,y=9,x=9] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n",
        "input P: f32[1,3,10,10]\n"
        "output Q[n,c,y=5,x=5] = max[r=3,s=3](padded(P[n, c, 2*y+r-1, 2*x+s-1], -inf))\n",
        "input X: f32[30,70]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\n"
        "S[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n",
        "input X: f32[600,5]\noutput Y[i] = argmax[j](X[i,j])\n",
        "input X: f32[700,6]\noutput Y[i] = prod[j](X[i,j])\n"));

}  // namespace
}  // namespace kindred
