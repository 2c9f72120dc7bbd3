#include "measure/internal/guarded_buffer.h"

#include <gtest/gtest.h>

namespace kindred {
namespace {

class GuardedBufferTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(GuardedBufferTest, IsAlignedAndSeesEveryWriteOutside) {
  const std::int64_t bytes = GetParam();
  auto made = GuardedBuffer::Make("X", bytes);
  ASSERT_TRUE(made) << made.error().message;
  GuardedBuffer buffer = std::move(*made);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
  buffer.Fill(0x11);
  EXPECT_EQ(buffer.Damage(), "");

  for (const int before : {1, 4, 64}) {
    *(buffer.data() - before) = std::byte{0};
    EXPECT_EQ(buffer.Damage(),
              "X was written " + std::to_string(before) + " bytes before its start");
    buffer.Mend();
    EXPECT_EQ(buffer.Damage(), "");
  }
  if (bytes % 64 != 0) {
    *(buffer.data() + bytes) = std::byte{0};
    EXPECT_EQ(buffer.Damage(), "X was written 0 bytes past its end");
    buffer.Mend();
  }
  EXPECT_EQ(buffer.data()[0], std::byte{0x11});
  EXPECT_EQ(buffer.data()[bytes - 1], std::byte{0x11});
}

TEST_P(GuardedBufferTest, FaultsBehindTheEnd) {
  auto buffer = GuardedBuffer::Make("X", GetParam());
  ASSERT_TRUE(buffer);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      *const_cast<volatile std::byte*>(buffer->data() + (GetParam() + 63) / 64 * 64) = std::byte{1},
      "");
  buffer->SetReadOnly(true);
  EXPECT_DEATH(*const_cast<volatile std::byte*>(buffer->data()) = std::byte{1}, "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, GuardedBufferTest,
                         testing::Values(1, 4, 63, 64, 65, 4032, 4095, 4096, 4097, 100000, 5 << 20,
                                         (8 << 20) + 4));

TEST(GuardedBuffer, SaysThatThereIsNoMemory) {
  const auto buffer = GuardedBuffer::Make("X", std::int64_t{1} << 60);
  ASSERT_FALSE(buffer);
  EXPECT_NE(buffer.error().message.find("X"), std::string::npos);
}

}  // namespace
}  // namespace kindred
