#include "tuner/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

using testing::HasSubstr;

TEST(Targets, DescriptionsNeedNoDevice) {
  const auto target = ResolveTarget("h200", "");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->kind, DeviceKind::kCuda);
  EXPECT_EQ(target->gpu.arch, "sm_90a");
}

TEST(Targets, NothingIsMeasuredOnADescription) {
  const Target target = *ResolveTarget("a100", "");
  const auto runner = MakeRunner(target, {});
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(runner.error().message, HasSubstr("'a100'"));
  EXPECT_EQ(CheckTimed(target).error().kind, ErrorKind::kBadInput);
  EXPECT_TRUE(CheckTimed(Target{}));
}

TEST(Targets, UnknownNamesAreToldTheKnownOnes) {
  for (const char* name : {"", "h20", "cpus", "gpu", "CPU"}) {
    const auto target = ResolveTarget(name, "");
    ASSERT_FALSE(target) << name;
    EXPECT_EQ(target.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(target.error().message, AllOf(HasSubstr("h200"), HasSubstr("cpu:threads=N")));
  }
}

}  // namespace
}  // namespace kindred
