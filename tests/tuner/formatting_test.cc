#include <gtest/gtest.h>

#include "tuner/progress.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

TEST(Formatting, TimesHaveThreeDigitsAndTheirUnit) {
  EXPECT_EQ(FormatNs(0), "-");
  EXPECT_EQ(FormatNs(12), "12.0 ns");
  EXPECT_EQ(FormatNs(999.9), "1.00 us");
  EXPECT_EQ(FormatNs(1.5e6), "1.50 ms");
  EXPECT_EQ(FormatNs(2.345e9), "2.35 s");
  EXPECT_EQ(FormatNs(123456e9), "123456 s");
}

TEST(Formatting, SecondsAsAClock) {
  EXPECT_EQ(FormatSeconds(0.4), "0:00");
  EXPECT_EQ(FormatSeconds(125), "2:05");
  EXPECT_EQ(FormatSeconds(3723), "1:02:03");
}

TEST(Formatting, TablesAlignAndCut) {
  Table table({{"name", Table::Align::kLeft, 5}, {"n"}});
  table.Row({"abcdefgh", "1"});
  table.Row({"\u00e9", "22"});
  EXPECT_EQ(table.Print(),
            "name    n\n"
            "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\n"
            "abcd\u2026   1\n"
            "\u00e9      22\n");
}

}  // namespace
}  // namespace kindred
