#include "tuner/record_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

TEST(RecordMapping, EveryStatusComesBack) {
  for (int i = 0; i <= static_cast<int>(Status::kAbandoned); ++i) {
    TrialRecord record;
    record.status = Name(static_cast<Status>(i));
    const auto outcome = ToOutcome(record);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->status, static_cast<Status>(i));
  }
}

TEST(RecordMapping, AStatusOfANewerVersionIsNoFailureOfTheCandidate) {
  TrialRecord record;
  record.id = 17;
  record.status = "melted";
  const auto outcome = ToOutcome(record);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(outcome.error().message,
              testing::AllOf(testing::HasSubstr("trial 17"), testing::HasSubstr("'melted'"),
                             testing::HasSubstr("newer")));
}

}  // namespace
}  // namespace kindred
