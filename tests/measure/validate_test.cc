#include "measure/internal/validate.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace kindred {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

ExpectedOutput Floats(std::vector<double> values, double bound, DataType type = DataType::kF32) {
  ExpectedOutput e;
  e.name = "Y";
  e.type = type;
  e.shape = {static_cast<std::int64_t>(values.size())};
  e.positions.resize(1);
  e.bounds.assign(values.size(), bound);
  e.values = std::move(values);
  return e;
}

std::string Difference(const ExpectedOutput& expected, std::vector<float> got) {
  return FirstDifference(expected, reinterpret_cast<const std::byte*>(got.data()));
}

TEST(Validate, BoundsAreInclusive) {
  EXPECT_EQ(Difference(Floats({1, 2, 3}, 0.5), {1.5f, 1.5f, 3}), "");
  EXPECT_EQ(Difference(Floats({1, 2, 3}, 0.25), {1, 2, 3.5f}),
            "output Y[2] is 3.5, expected 3 +- 0.25");
}

TEST(Validate, NotANumberAndInfinity) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Difference(Floats({NAN}, 0), {nan}), "");
  EXPECT_NE(Difference(Floats({NAN}, 1), {1}), "");
  EXPECT_NE(Difference(Floats({1}, 1), {nan}), "");
  EXPECT_EQ(Difference(Floats({kInf, -kInf}, 0), {INFINITY, -INFINITY}), "");
  EXPECT_NE(Difference(Floats({kInf}, 0), {-INFINITY}), "");
  EXPECT_NE(Difference(Floats({kInf}, 0), {1e30f}), "");
  EXPECT_NE(Difference(Floats({1e30}, 0), {INFINITY}), "");
  EXPECT_EQ(Difference(Floats({1e39}, 0), {INFINITY}), "");  // beyond f32
}

TEST(Validate, TellsWhatWasNeverWritten) {
  float unwritten;
  std::memset(&unwritten, kUnwritten, sizeof(unwritten));
  EXPECT_EQ(Difference(Floats({1, 2}, 0.1), {1, unwritten}), "output Y[1] was never written");
}

TEST(Validate, SampledGrid) {
  ExpectedOutput e;
  e.name = "Y";
  e.shape = {4, 5};
  e.positions = {{1, 3}, {}};
  for (const int row : {1, 3}) {
    for (int column = 0; column < 5; ++column) e.values.push_back(10 * row + column);
  }
  e.bounds.assign(10, 0.1);
  std::vector<float> got(20);
  for (int i = 0; i < 20; ++i) got[i] = static_cast<float>(10 * (i / 5) + i % 5);
  EXPECT_EQ(Difference(e, got), "");
  got[3 * 5 + 4] = 0;
  EXPECT_EQ(Difference(e, got), "output Y[3,4] is 0, expected 34 +- 0.1");
  got[3 * 5 + 4] = 34;
  got[2] = 0;  // row 0 is not known
  EXPECT_EQ(Difference(e, got), "");
  std::memset(&got[2], kUnwritten, sizeof(float));  // but it must be written
  EXPECT_EQ(Difference(e, got), "output Y[0,2] was never written");
}

TEST(Validate, IntegersAreExact) {
  ExpectedOutput e;
  e.name = "Y";
  e.type = DataType::kI64;
  e.shape = {2};
  e.positions.resize(1);
  e.integral = true;
  e.integers = {(1ll << 60) + 1, -5};
  e.bounds = {0, 0};
  std::int64_t got[] = {(1ll << 60) + 1, -5};
  EXPECT_EQ(FirstDifference(e, reinterpret_cast<const std::byte*>(got)), "");
  got[0] -= 1;  // the same double
  EXPECT_NE(FirstDifference(e, reinterpret_cast<const std::byte*>(got)), "");
  e.bounds = {1, 1};
  EXPECT_EQ(FirstDifference(e, reinterpret_cast<const std::byte*>(got)), "");
}

TEST(Validate, AnIndexMayBeAnyOfItsChoices) {
  ExpectedOutput e;
  e.name = "Y";
  e.type = DataType::kI32;
  e.shape = {2};
  e.positions.resize(1);
  e.integral = true;
  e.integers = {2, 0};
  e.bounds = {2, 0};
  e.choices = {1, 0, 1, 1, 0, 0};
  const auto difference = [&e](std::int32_t first, std::int32_t second) {
    const std::int32_t got[] = {first, second};
    return FirstDifference(e, reinterpret_cast<const std::byte*>(got));
  };
  EXPECT_EQ(difference(2, 0), "");
  EXPECT_EQ(difference(0, 0), "");
  // Within the distance, but another's value.
  EXPECT_EQ(difference(1, 0),
            "output Y[0] is 1, expected 2 or another index whose value rounding cannot tell from "
            "the best");
  EXPECT_NE(difference(2, 1), "");
  EXPECT_NE(difference(3, 0), "");
  EXPECT_NE(difference(-1, 0), "");
}

TEST(Validate, OverflowOfF8E4M3IsNaN) {
  ExpectedOutput e;
  e.name = "Y";
  e.type = DataType::kF8E4M3;
  e.shape = {1};
  e.positions.resize(1);
  e.values = {440};
  e.bounds = {0};
  const unsigned char nan = 0x7f;
  EXPECT_NE(FirstDifference(e, reinterpret_cast<const std::byte*>(&nan)), "");
  e.bounds = {32};  // may round beyond 448
  EXPECT_EQ(FirstDifference(e, reinterpret_cast<const std::byte*>(&nan)), "");
}

TEST(Validate, ReadsEveryType) {
  const auto read = [](DataType type, std::uint64_t bits) {
    return ReadElement(type, reinterpret_cast<const std::byte*>(&bits), 0);
  };
  EXPECT_EQ(read(DataType::kF16, 0x3c00), 1);
  EXPECT_EQ(read(DataType::kF16, 0xc000), -2);
  EXPECT_EQ(read(DataType::kF16, 0x7bff), 65504);
  EXPECT_EQ(read(DataType::kF16, 0x0001), 0x1p-24);
  EXPECT_EQ(read(DataType::kF16, 0x7c00), kInf);
  EXPECT_TRUE(std::isnan(read(DataType::kF16, 0x7e00)));
  EXPECT_EQ(read(DataType::kBF16, 0x3f80), 1);
  EXPECT_EQ(read(DataType::kBF16, 0xbfc0), -1.5);
  EXPECT_EQ(read(DataType::kF8E4M3, 0x38), 1);
  EXPECT_EQ(read(DataType::kF8E4M3, 0x7e), 448);
  EXPECT_TRUE(std::isnan(read(DataType::kF8E4M3, 0x7f)));
  EXPECT_EQ(read(DataType::kF8E5M2, 0x3c), 1);
  EXPECT_EQ(read(DataType::kF8E5M2, 0x7c), kInf);
  EXPECT_EQ(read(DataType::kI8, 0xff), -1);
  EXPECT_EQ(read(DataType::kU8, 0xff), 255);
  EXPECT_EQ(read(DataType::kBool, 0x02), 1);
  EXPECT_EQ(read(DataType::kI32, 0xffffffff), -1);
  EXPECT_EQ(read(DataType::kF64, 0x3ff8000000000000), 1.5);
}

}  // namespace
}  // namespace kindred
