// Our declaration of a kernel's record against CUPTI's header, where a toolkit has one.
#include <gtest/gtest.h>

#include "measure/cuda/cupti.h"

#ifdef KINDRED_TEST_CUPTI_HEADER
#include <cupti_activity.h>
#include <cupti_version.h>
#endif

namespace kindred {
namespace {

TEST(CuptiLayout, IsTheHeaders) {
#ifdef KINDRED_TEST_CUPTI_HEADER
#if CUPTI_API_VERSION >= 130000
  using Theirs = CUpti_ActivityKernel10;
  static_assert(offsetof(CuptiKernelRecord, kind) == offsetof(Theirs, kind));
  static_assert(offsetof(CuptiKernelRecord, registers_per_thread) ==
                offsetof(Theirs, registersPerThread));
  static_assert(offsetof(CuptiKernelRecord, start) == offsetof(Theirs, start));
  static_assert(offsetof(CuptiKernelRecord, end) == offsetof(Theirs, end));
  static_assert(offsetof(CuptiKernelRecord, completed) == offsetof(Theirs, completed));
  static_assert(offsetof(CuptiKernelRecord, device) == offsetof(Theirs, deviceId));
  static_assert(offsetof(CuptiKernelRecord, stream) == offsetof(Theirs, streamId));
  static_assert(offsetof(CuptiKernelRecord, grid) == offsetof(Theirs, gridX));
  static_assert(offsetof(CuptiKernelRecord, correlation) == offsetof(Theirs, correlationId));
  static_assert(sizeof(CuptiKernelRecord) <= sizeof(Theirs));
  EXPECT_EQ(kCuptiConcurrentKernel,
            static_cast<std::uint32_t>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
#else
  GTEST_SKIP() << "the header of this toolkit has another record";
#endif
#else
  GTEST_SKIP() << "no toolkit with CUPTI's header";
#endif
}

}  // namespace
}  // namespace kindred
