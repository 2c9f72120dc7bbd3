#include "tuner/import/resize_taps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

using testing::ElementsAre;
using Mode = ResizeRule::Mode;

ResizedAxis Axis(std::int64_t in, float scale) {
  const float length = scale * static_cast<float>(in);
  return {.in = in, .out = static_cast<std::int64_t>(length), .scale = scale, .length = length};
}

TEST(ResizeTaps, NearestRounds) {
  const auto up = SampleAxis({Mode::kNearest, "half_pixel", "round_prefer_floor"}, Axis(2, 2));
  ASSERT_TRUE(up);
  EXPECT_THAT(up->index, ElementsAre(0, 0, 1, 1));
  EXPECT_TRUE(up->weight.empty());
  const auto down = SampleAxis({Mode::kNearest, "asymmetric", "simple"}, Axis(4, 0.6F));
  ASSERT_TRUE(down);
  EXPECT_THAT(down->index, ElementsAre(0, 2)) << "up, where the dimension shrinks";
}

TEST(ResizeTaps, LinearStaysInsideTheBorder) {
  const auto taps = SampleAxis({Mode::kLinear, "half_pixel", "floor"}, Axis(2, 2));
  ASSERT_TRUE(taps);
  EXPECT_EQ(taps->taps, 2);
  EXPECT_THAT(taps->index, ElementsAre(0, 1, 0, 1, 0, 1, 1, 1));
  EXPECT_THAT(taps->weight, ElementsAre(1, 0, 0.75, 0.25, 0.25, 0.75, 1, 0));
}

TEST(ResizeTaps, TapsThatCountNothingGo) {
  const auto taps = SampleAxis({Mode::kLinear, "asymmetric", "floor"}, Axis(4, 0.5F));
  ASSERT_TRUE(taps);
  EXPECT_EQ(taps->taps, 1);
  EXPECT_THAT(taps->index, ElementsAre(0, 2));
  EXPECT_TRUE(taps->weight.empty());
}

TEST(ResizeTaps, CornersAlignToTheLengthBeforeRounding) {
  const auto taps = SampleAxis({Mode::kLinear, "align_corners", "floor"}, Axis(4, 0.6F));
  ASSERT_TRUE(taps);
  EXPECT_THAT(taps->index, ElementsAre(0, 1, 2, 3));
  EXPECT_NEAR(taps->weight[3], 1 / 7.0, 1e-6) << "3 / (2.4 - 1) lies one seventh behind 2";
}

TEST(ResizeTaps, CropsSayWhatLiesInside) {
  ResizedAxis axis = Axis(5, 1);
  axis.roi_begin = -0.25F;
  axis.roi_end = 0.75F;
  const auto taps = SampleAxis({Mode::kNearest, "tf_crop_and_resize", "floor"}, axis);
  ASSERT_TRUE(taps);
  EXPECT_EQ(taps->first_inside, 1);
  EXPECT_EQ(taps->end_inside, 5);
  EXPECT_THAT(taps->index, ElementsAre(0, 0, 1, 2, 3));
}

TEST(ResizeTaps, NamesWhatItDoesNotKnow) {
  const auto taps = SampleAxis({Mode::kNearest, "sideways", "floor"}, Axis(2, 2));
  ASSERT_FALSE(taps);
  EXPECT_THAT(taps.error().message, testing::HasSubstr("'sideways'"));
}

}  // namespace
}  // namespace kindred
