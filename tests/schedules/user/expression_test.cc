// Expressions mean what they mean in Python, or are refused with the place.
#include "schedules/user/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kNames = {"x", "y", "z", "name", "sizes"};

Result<Value> Evaluate(std::string_view text) {
  const std::vector<Value> values = {Value(7), Value(-3), Value(0.5), Value("fast"),
                                     Value(ValueList{Value(1), Value(2), Value(4)})};
  KINDRED_TRY(const Expression expression, Expression::Parse(text, kNames));
  return expression.Evaluate(values);
}

struct Case {
  const char* text;
  const char* repr;  // as Python prints it
};

class PythonSays : public testing::TestWithParam<Case> {};

TEST_P(PythonSays, TheSame) {
  const auto value = Evaluate(GetParam().text);
  ASSERT_TRUE(value) << GetParam().text << ": " << value.error().message;
  EXPECT_EQ(Repr(*value), GetParam().repr) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, PythonSays,
    testing::Values(Case{"x // 2", "3"}, Case{"-x // 2", "-4"}, Case{"x // y", "-3"},
                    Case{"x % y", "-2"}, Case{"-x % 3", "2"}, Case{"x / 2", "3.5"},
                    Case{"6 / 2", "3.0"}, Case{"2 ** 10", "1024"}, Case{"-2 ** 2", "-4"},
                    Case{"2 ** -1", "0.5"}, Case{"2 ** 3 ** 2", "512"}, Case{"7.5 // 2", "3.0"},
                    Case{"-7.5 % 2", "0.5"}, Case{"7.5 % -2", "-0.5"}, Case{"1 + 2 * 3 - 4", "3"},
                    Case{"(1 + 2) * 3", "9"}, Case{"10 - 4 - 3", "3"}, Case{"True + 1", "2"},
                    Case{"5 & 6 | 8 ^ 1", "13"}, Case{"1 << 4 >> 2", "4"}, Case{"~x", "-8"},
                    Case{"1e3", "1000.0"}, Case{"z * 2", "1.0"}));

INSTANTIATE_TEST_SUITE_P(Logic, PythonSays,
                         testing::Values(Case{"1 < 2 < 3", "True"}, Case{"1 < 3 < 2", "False"},
                                         Case{"3 > 2 == 2", "True"}, Case{"x and 0 or 5", "5"},
                                         Case{"0 and 1 // 0", "0"}, Case{"1 or 1 // 0", "1"},
                                         Case{"not x == 7", "False"}, Case{"not 0 and 1", "1"},
                                         Case{"x in [1, 7]", "True"},
                                         Case{"x not in (1, 7)", "False"},
                                         Case{"x in sizes", "False"}, Case{"'a' in name", "True"},
                                         Case{"name == 'fast'", "True"}, Case{"name == 1", "False"},
                                         Case{"1 == 1.0 == True", "True"},
                                         Case{"1 if x > y else 2", "1"},
                                         Case{"[1, 2] < [1, 3]", "True"}, Case{"'b' > 'a'", "True"},
                                         // Exact, where a conversion to double would not be.
                                         Case{"9007199254740993 == 9007199254740992.0", "False"}));

INSTANTIATE_TEST_SUITE_P(
    Lists, PythonSays,
    testing::Values(Case{"max(x, y, 2)", "7"}, Case{"min(sizes)", "1"}, Case{"max(x)", "7"},
                    Case{"sizes[1]", "2"}, Case{"sizes[-1]", "4"}, Case{"sum(sizes)", "7"},
                    Case{"len(sizes) + len(name)", "7"},
                    Case{"[32 * i for i in range(1, 4)]", "[32, 64, 96]"},
                    Case{"[1] + [2 * i for i in range(1, 3)]", "[1, 2, 4]"},
                    Case{"[i for i in range(10, 0, -3) if i != 7]", "[10, 4, 1]"},
                    Case{"[[i * j for j in range(2)] for i in (1, 2)]", "[[0, 1], [0, 2]]"},
                    Case{"sum(i for i in sizes)", "7"}, Case{"(5,)", "[5]"},
                    Case{"all(s > 0 for s in sizes)", "True"}, Case{"abs(y) + int(2.9)", "5"},
                    Case{"math.ceil(z) + round(2.5)", "3"}));

INSTANTIATE_TEST_SUITE_P(KernelTuner, PythonSays,
                         testing::Values(Case{"p[\"x\"] * p['y']", "-21"},
                                         Case{"lambda p: p['x'] > 1", "True"},
                                         Case{"lambda x: x['y']", "-3"}));

struct Refused {
  const char* text;
  const char* why;
  int column;
};

class IsRefused : public testing::TestWithParam<Refused> {};

TEST_P(IsRefused, WithTheExpressionAndTheColumn) {
  const auto value = Evaluate(GetParam().text);
  ASSERT_FALSE(value) << GetParam().text;
  EXPECT_EQ(value.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(value.error().message, HasSubstr(GetParam().why));
  EXPECT_THAT(value.error().message, HasSubstr(GetParam().text));
  EXPECT_THAT(value.error().message,
              HasSubstr("column " + std::to_string(GetParam().column) + ":"));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, IsRefused,
    testing::Values(
        Refused{"x // (y + 3)", "division by zero", 3}, Refused{"1.0 % 0", "division by zero", 5},
        Refused{"q + 1", "no parameter 'q'", 1}, Refused{"x + p['q']", "no parameter 'q'", 7},
        Refused{"x +", "missing", 4}, Refused{"x 1", "missing before this", 3},
        Refused{"(x", "missing", 3}, Refused{"x $ 1", "'$' cannot stand here", 3},
        Refused{"'x", "does not end", 1}, Refused{"x < 'a'", "'<' of int and str", 3},
        Refused{"sizes[3]", "outside of the list", 6},
        Refused{"9223372036854775807 + 1", "64 bits", 21},
        Refused{"99999999999999999999", "64 bits", 1}, Refused{"exit(1)", "no parameter 'exit'", 1},
        Refused{"[i for in sizes]", "a name is missing", 8}, Refused{"2 ** 64", "64 bits", 3},
        Refused{"", "a value is missing", 1}));

TEST(ExpressionTest, DeepNestingIsRefused) {
  const std::string text = std::string(100'000, '(') + "1" + std::string(100'000, ')');
  EXPECT_FALSE(Expression::Parse(text, {}));
  EXPECT_FALSE(Expression::Parse(std::string(100'000, '-') + "1", {}));
}

TEST(ExpressionTest, KnowsItsParameters) {
  const auto expression = Expression::Parse("y + max(z for z in [x]) if y else 1", kNames);
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->parameters(), (std::vector<std::size_t>{0, 1}));
}

}  // namespace
}  // namespace kindred
