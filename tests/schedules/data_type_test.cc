#include "schedules/data_type.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr DataType kAll[] = {DataType::kF64,    DataType::kF32,    DataType::kF16,  DataType::kBF16,
                             DataType::kF8E4M3, DataType::kF8E5M2, DataType::kI64,  DataType::kI32,
                             DataType::kI8,     DataType::kU8,     DataType::kBool, DataType::kC64};

TEST(DataType, NamesParseBack) {
  for (const DataType type : kAll) EXPECT_EQ(ParseDataType(Name(type)), type);
  EXPECT_EQ(ParseDataType("float"), std::nullopt);
}

TEST(DataType, EveryHalfAndBfloatAndF8SurvivesARoundTrip) {
  for (const DataType type :
       {DataType::kF16, DataType::kBF16, DataType::kF8E4M3, DataType::kF8E5M2}) {
    const std::uint32_t count = 1u << (8 * ByteSize(type));
    for (std::uint32_t bits = 0; bits < count; ++bits) {
      std::byte in[2] = {std::byte(bits & 255), std::byte(bits >> 8)};
      const double value = LoadFloat(type, in);
      if (std::isnan(value)) continue;
      std::byte out[2] = {};
      StoreFloat(type, value, out);
      ASSERT_EQ(std::memcmp(in, out, static_cast<std::size_t>(ByteSize(type))), 0)
          << Name(type) << " bits " << bits << " value " << value;
      ASSERT_EQ(RoundTo(type, value), value);
    }
  }
}

TEST(DataType, KnownEncodings) {
  const auto bits16 = [](DataType type, double value) {
    std::uint16_t bits = 0;
    StoreFloat(type, value, reinterpret_cast<std::byte*>(&bits));
    return bits;
  };
  EXPECT_EQ(bits16(DataType::kF16, 1.0), 0x3c00);
  EXPECT_EQ(bits16(DataType::kF16, -2.5), 0xc100);
  EXPECT_EQ(bits16(DataType::kF16, 0x1p-24), 0x0001);
  EXPECT_EQ(bits16(DataType::kF16, 65520.0), 0x7c00);  // rounds to infinity
  EXPECT_EQ(bits16(DataType::kBF16, 1.0), 0x3f80);
  EXPECT_EQ(bits16(DataType::kBF16, 3.140625), 0x4049);
  EXPECT_TRUE(std::isnan(RoundTo(DataType::kF8E4M3, 500.0)));
  EXPECT_TRUE(std::isnan(RoundTo(DataType::kF8E4M3, -std::numeric_limits<double>::infinity())));
  EXPECT_EQ(RoundTo(DataType::kF8E4M3, 440.0), 448.0);
}

TEST(DataType, RoundsToTheNearestWithTiesToEven) {
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    const double value =
        std::ldexp(random.Uniform() - 0.5, static_cast<int>(random.Below(40)) - 24);
    const double rounded = RoundTo(DataType::kF16, value);
    const double step = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 10);
    EXPECT_LE(std::fabs(rounded - value), step / 2) << value;
    EXPECT_EQ(RoundTo(DataType::kF16, rounded), rounded);
  }
  EXPECT_EQ(RoundTo(DataType::kF16, 1 + 0x1p-11), 1);
  EXPECT_EQ(RoundTo(DataType::kF16, 1 + 3 * 0x1p-11), 1 + 0x1p-9);
  EXPECT_EQ(RoundTo(DataType::kBF16, 257), 256);
}

TEST(DataType, ContainsMeansLosslessCasts) {
  EXPECT_TRUE(Contains(DataType::kF32, DataType::kBF16));
  EXPECT_TRUE(Contains(DataType::kI32, DataType::kU8));
  EXPECT_TRUE(Contains(DataType::kF64, DataType::kI32));
  EXPECT_FALSE(Contains(DataType::kF32, DataType::kI32));
  EXPECT_FALSE(Contains(DataType::kI8, DataType::kU8));
  EXPECT_FALSE(Contains(DataType::kF16, DataType::kBF16));
  EXPECT_FALSE(Contains(DataType::kBF16, DataType::kF16));
}

TEST(DataType, IntegersWrapLikeC) {
  std::byte bytes[8];
  StoreInteger(DataType::kI8, 200, bytes);
  EXPECT_EQ(LoadInteger(DataType::kI8, bytes), -56);
  StoreInteger(DataType::kBool, 6, bytes);
  EXPECT_EQ(LoadInteger(DataType::kBool, bytes), 1);
}

}  // namespace
}  // namespace kindred
