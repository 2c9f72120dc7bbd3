#include "measure/internal/reference_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/measure/scratch.h"

namespace kindred {
namespace {

std::vector<ExpectedOutput> Filled() {
  std::vector<ExpectedOutput> outputs(2);
  outputs[0].values = {1.5, -2, 3};
  outputs[0].bounds = {0.1, 0.2, 0.3};
  outputs[1].integral = true;
  outputs[1].integers = {(1ll << 60) + 1};
  outputs[1].bounds = {0};
  outputs[1].choices = {0, 1, 1};
  return outputs;
}

TEST(ReferenceFile, GivesBackWhatWasWritten) {
  const Scratch scratch;
  const std::string file = scratch.path() + "/a.ref";
  ASSERT_TRUE(WriteReference(file, HashOf("inputs"), Filled()));
  std::vector<ExpectedOutput> read(2);
  ASSERT_TRUE(ReadReference(file, HashOf("inputs"), read));
  EXPECT_EQ(read[0].values, Filled()[0].values);
  EXPECT_EQ(read[0].bounds, Filled()[0].bounds);
  EXPECT_FALSE(read[0].integral);
  EXPECT_EQ(read[1].integers, Filled()[1].integers);
  EXPECT_TRUE(read[1].integral);
  EXPECT_EQ(read[1].choices, Filled()[1].choices);
  EXPECT_TRUE(read[0].choices.empty());
  EXPECT_FALSE(ReadReference(file, HashOf("other inputs"), read));
}

TEST(ReferenceFile, ACutFileGivesNothing) {
  const Scratch scratch;
  const std::string file = scratch.path() + "/a.ref";
  ASSERT_TRUE(WriteReference(file, HashOf("inputs"), Filled()));
  for (auto size = std::filesystem::file_size(file); size-- > 0;) {
    std::filesystem::resize_file(file, size);
    std::vector<ExpectedOutput> read(2);
    ASSERT_FALSE(ReadReference(file, HashOf("inputs"), read)) << size;
    EXPECT_TRUE(read[0].values.empty());
    EXPECT_TRUE(read[0].bounds.empty());
  }
}

}  // namespace
}  // namespace kindred
