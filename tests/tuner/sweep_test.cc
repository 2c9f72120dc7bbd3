// Sweeps: what a name means, that everything tied to it follows, and that other numbers stay.
#include "tuner/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string KeyOf(const std::string& text) {
  const auto workload = ParseWorkload(text);
  EXPECT_TRUE(workload) << workload.error().message;
  return workload ? Canonicalize(*workload).key.Hex() : "";
}

// That the extent at 48 makes the workload of `expected`.
void ExpectAt48(const std::string& text, const std::string& name, const std::string& expected) {
  const auto workload = AtExtent(text, "w.kd", name, 48);
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(Canonicalize(*workload).key.Hex(), KeyOf(expected));
}

std::string ErrorAt(const std::string& text, const std::string& name, std::int64_t value) {
  const auto workload = AtExtent(text, "w.kd", name, value);
  EXPECT_FALSE(workload);
  return workload ? "" : workload.error().message;
}

TEST(Sweep, IsARangeOrAList) {
  EXPECT_THAT(ParseSweep("co=16..64:16")->values, ElementsAre(16, 32, 48, 64));
  EXPECT_THAT(ParseSweep("co=16..63:16")->values, ElementsAre(16, 32, 48));
  EXPECT_THAT(ParseSweep("co=3..5")->values, ElementsAre(3, 4, 5));
  EXPECT_THAT(ParseSweep("co=9,3,9")->values, ElementsAre(3, 9));
  EXPECT_EQ(ParseSweep("co=7")->name, "co");
  for (const char* bad : {"co", "=4", "co=", "co=0..4", "co=4..2", "co=1..4:", "co=1..4:0", "co=1,",
                          "co=1,x", "co=1...4", "co=1..9223372036854775808"})
    EXPECT_EQ(ParseSweep(bad).error().kind, ErrorKind::kBadInput) << bad;
  EXPECT_THAT(ParseSweep("co=1..5000").error().message, HasSubstr("larger step"));
}

TEST(Sweep, BindsASymbolEverywhere) {
  const std::string text =
      "# seq in the comment\nsymbol seq in 1..128, likely 32\ninput A: f32[seq,8]\n"
      "input B: f32[seq]\noutput C[m] = sum[k](A[m,k]) * f32(seq) + B[m]\n";
  ExpectAt48(text, "seq",
             "input A: f32[48,8]\ninput B: f32[48]\n"
             "output C[m] = sum[k](A[m,k]) * f32(48) + B[m]\n");
  ExpectAt48("seq in 1..128\ninput A: f32[seq,8]\noutput C[m,k] = exp(A[m,k])\n", "seq",
             "input A: f32[48,8]\noutput C[m,k] = exp(A[m,k])\n");
  EXPECT_THAT(ErrorAt(text, "seq", 129), HasSubstr("1..128"));
}

TEST(Sweep, ReplacesANamedExtentButNoArgument) {
  ExpectAt48(
      "input \"co=3\": f32[co=64,4]\nweight b: f32[co]\n"
      "output Y[o,i] = leaky_relu(\"co=3\"[o,i] + b[o], 1) # [co=5]\n",
      "co",
      "input A: f32[48,4]\nweight b: f32[48]\noutput Y[o,i] = leaky_relu(A[o,i] + b[o], 1)\n");
  ExpectAt48("input X: f32[100]\noutput Y[y = 28, u=1] = X[y+2]\noutput Z[y=28] = X[y]\n", "y",
             "input X: f32[100]\noutput Y[y=48, u=1] = X[y+2]\noutput Z[y=48] = X[y]\n");
  EXPECT_THAT(ErrorAt("input X: f32[30]\noutput Y[y=28] = X[y+2]\n", "y", 29), HasSubstr("w.kd"));
}

TEST(Sweep, SetsAnAxisWithAllThatPlainIndicesTie) {
  const std::string text =
      "input X: f32[1,6,12,12]\nweight W: f32[8,6,3,3]\nweight b: f32[8]\n"
      "T[n,o,y=12,x=12] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n"
      "output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o] / 8)\n";
  const std::string wider =
      "input X: f32[1,6,12,12]\nweight W: f32[48,6,3,3]\nweight b: f32[48]\n"
      "T[n,o,y=12,x=12] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n"
      "output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o] / 8)\n";
  ExpectAt48(text, "o", wider);
  const std::string deeper =
      "input X: f32[1,48,12,12]\nweight W: f32[8,48,3,3]\nweight b: f32[8]\n"
      "T[n,o,y=12,x=12] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n"
      "output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o] / 8)\n";
  ExpectAt48(text, "c", deeper);
}

TEST(Sweep, SaysWhatIsWrong) {
  const std::string two = "input X: f32[8,4]\nT[i,k] = exp(X[i,k])\noutput Y[k,i] = T[k,i]\n";
  EXPECT_THAT(ErrorAt(two, "k", 3), HasSubstr("several extents are called k (4 and 8)"));
  EXPECT_THAT(ErrorAt(two, "z", 3), HasSubstr("it has i, k"));
  EXPECT_THAT(ErrorAt("symbol s in 1..9\ninput X: f32[s]\noutput Y[i] = X[i]\n", "i", 3),
              HasSubstr("symbolic extent s"));
  EXPECT_THAT(ErrorAt("input X: f32[5]\ninput B: f32[3]\noutput Y[j] = B[0*j+2] + X[j]\n", "j", 0),
              HasSubstr("w.kd with j=0"));
  EXPECT_THAT(ErrorAt("output Y[j] = X[j]\n", "j", 3), HasSubstr("w.kd:1:"));
}

}  // namespace
}  // namespace kindred
