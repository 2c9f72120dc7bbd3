#include "schedules/user/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string File(const std::string& header) {
  std::string text = std::string("\x93NUMPY\x01") + '\0';
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header;
}

TEST(Npy, WhatIsWrittenIsRead) {
  for (const DataType type : {DataType::kF32, DataType::kF64, DataType::kI32, DataType::kI64,
                              DataType::kI8, DataType::kU8, DataType::kBool}) {
    const std::string text = NpyHeaderText(type, 12345);
    EXPECT_EQ(text.size() % 64, 0u);
    const auto header = ParseNpyHeader(text + "data", "x.npy");
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->type, type);
    EXPECT_EQ(header->Elements(), 12345);
    EXPECT_EQ(header->data_offset, static_cast<std::int64_t>(text.size()));
  }
}

TEST(Npy, ReadsShapes) {
  const auto header = ParseNpyHeader(
      File("{'descr': '<u4', 'fortran_order': False, 'shape': (3, 4, 5), }  \n"), "x.npy");
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->type, DataType::kI32);
  EXPECT_THAT(header->shape, ElementsAre(3, 4, 5));
  const auto scalar =
      ParseNpyHeader(File("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n"), "x.npy");
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->Elements(), 1);
}

TEST(Npy, BadFilesAreNamed) {
  const auto complaint = [](const std::string& text) {
    const auto header = ParseNpyHeader(text, "x.npy");
    EXPECT_FALSE(header);
    return header ? "" : header.error().message;
  };
  EXPECT_THAT(complaint("PK"), HasSubstr("x.npy: is no .npy file"));
  EXPECT_THAT(complaint(""), HasSubstr("is no .npy file"));
  std::string cut = File("{'descr': '<f4'");
  cut[8] = 120;
  EXPECT_THAT(complaint(cut), HasSubstr("cut off"));
  EXPECT_THAT(complaint(File("{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }")),
              HasSubstr("Fortran"));
  EXPECT_THAT(complaint(File("{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }")),
              HasSubstr(">f4"));
  EXPECT_THAT(complaint(File("{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }")),
              HasSubstr("<c8"));
  EXPECT_THAT(complaint(File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }")),
              HasSubstr("no simple type"));
  EXPECT_THAT(complaint(File("{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }")),
              HasSubstr("no shape"));
  EXPECT_THAT(complaint(File("{'descr': '")), HasSubstr("type"));
}

}  // namespace
}  // namespace kindred
