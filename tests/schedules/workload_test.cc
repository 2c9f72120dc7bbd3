#include "schedules/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/text_form.h"

namespace kindred {
namespace {

using testing::HasSubstr;

std::string Check(const std::string& text) {
  const auto parsed = ParseWorkload(text);
  return parsed ? "" : parsed.error().message;
}

TEST(CheckWorkload, AcceptsWhatIsGuarded) {
  const std::string x = "input X: f32[10]\ninput J: i32[6]\n";
  for (const std::string line : {
           "output Y[i=10] = select(i >= 1, X[i-1], 0)",
           "output Y[i=12] = select(i >= 1 and i < 11, X[i-1], 0)",
           "output Y[i=12] = select(i < 1 or i >= 11, 0, X[i-1])",
           "output Y[i=12] = select(not (i < 1 or i >= 11), X[i-1], 0)",
           "output Y[i=30,j=4] = select(i + j - 3 >= 0 and i + j < 13, X[i+j-3], 0)",
           "output Y[i=20] = X[i/2]",
           "output Y[i=20] = X[i%10]",
           "output Y[i=20] = X[min(i, 9)]",
           "output Y[i=20] = X[max(i - 15, 0)]",
           "output Y[i=10] = X[9-i]",
           "output Y[i=4] = X[2*i+1]",
           "output Y[p] = X[J[p]]",
           "output Y[p] = select(J[p] >= 0 and J[p] < 10, X[J[p]], 0)",
           "output Y[i=20,j=20] = select(i <= j and j < 10, X[i], 0)",
           "output Y[i=20] = select(i < 10, X[i], select(i < 15, X[i-10], X[i-15]))",
           "output Y[i=20] = select(i == 3, X[i], 0)",
           "output Y[i=20] = padded(X[i-5], 1)",
           "output Y[i=20,j=3] = X[(i + j) / 3]",
       }) {
    EXPECT_EQ(Check(x + line + "\n"), "") << line;
  }
}

TEST(CheckWorkload, RefusesWhatMayLeaveItsTensor) {
  const std::string x = "input X: f32[10]\ninput J: i32[6]\n";
  for (const std::string line : {
           "output Y[i=11] = X[i]",
           "output Y[i=10] = select(i >= 1, X[i-2], 0)",
           "output Y[i=10] = select(i >= 1, 0, X[i-1])",
           "output Y[i=12] = select(i >= 1 or i < 11, X[i-1], 0)",
           "output Y[i=10] = select(i >= 1, X[i-1], 0) + X[i-1]",
           "output Y[i=22] = X[i/2]",
           "output Y[p] = X[J[p] + 1]",
           "output Y[p] = select(J[p] >= 0, X[J[p]+1], 0)",
           "output Y[i=20] = select(i != 3, X[i], 0)",
           "output Y[i=20] = padded(X[i-5], 1) + X[i]",
       }) {
    EXPECT_THAT(Check(x + line + "\n"), HasSubstr("outside 0 to 9")) << line;
  }
}

TEST(CheckWorkload, KnowsTheRangeOfComputedIndices) {
  EXPECT_EQ(Check("input X: f32[4,8]\ninput E: f32[8]\nA[i] = argmax[k](X[i,k])\n"
                  "output Y[i] = E[A[i]]\n"),
            "");
  EXPECT_THAT(Check("input X: f32[4,8]\ninput E: f32[7]\nA[i] = argmax[k](X[i,k])\n"
                    "output Y[i] = E[A[i]]\n"),
              HasSubstr("outside"));
  EXPECT_EQ(Check("input X: f32[4]\ninput E: f32[7]\nA[i] = min(max(i32(X[i] * 3), 0), 6)\n"
                  "output Y[i] = E[A[i]]\n"),
            "");
  EXPECT_EQ(Check("input J: i64[4] data index(-5, 5)\ninput E: f32[5]\n"
                  "output Y[i] = E[select(J[i] < 0, J[i] + 5, J[i])]\n"),
            "");
  EXPECT_THAT(Check("input J: i64[4] data index(-5, 6)\ninput E: f32[5]\n"
                    "output Y[i] = E[select(J[i] < 0, J[i] + 5, J[i])]\n"),
              HasSubstr("outside"));
}

TEST(CheckWorkload, ChecksSymbolicExtentsAtTheirEnds) {
  const std::string head = "symbol s in 1..64, likely 8\ninput X: f32[s]\n";
  EXPECT_EQ(Check(head + "output Y[i] = X[i] + X[s-1-i]\n"), "");
  EXPECT_THAT(Check(head + "output Y[i] = X[i] + X[7-i]\n"), HasSubstr("outside 0 to 0"));
  EXPECT_THAT(Check(head + "output Y[i=s] = X[min(i, 7)]\n"), "");
}

TEST(CheckWorkload, FindsBrokenStructures) {
  const Workload good =
      *ParseWorkload("input X: f32[4,8]\nT[i] = sum[k](X[i,k])\noutput Y[i] = T[i] * 2\n");
  const auto broken = [&](auto change) {
    Workload w = good;
    change(w);
    const auto result = CheckWorkload(w);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(broken([](Workload&) {}), "accepted");
  EXPECT_THAT(broken([](Workload& w) { std::swap(w.stages[0], w.stages[1]); }),
              HasSubstr("before it is computed"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].tensor = 9; }), HasSubstr("does not exist"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].tensor = 0; }), HasSubstr("cannot be computed"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].combiner = Combiner::kNone; }),
              HasSubstr("without a combiner"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].axes[0].extent.value = 5; }),
              HasSubstr("has extent 5"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].axes[0].extent.symbol = 0; }),
              HasSubstr("does not exist"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].spatial = 2; }), HasSubstr("spatial axes"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].body = nullptr; }), HasSubstr("no body"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[0].body = VarExpr(7); }),
              HasSubstr("does not exist"));
  EXPECT_THAT(broken([](Workload& w) { w.tensors[1].type = DataType::kI32; }), HasSubstr("cast"));
  EXPECT_THAT(broken([](Workload& w) { w.tensors[1].name = "X"; }), HasSubstr("used twice"));
  EXPECT_THAT(broken([](Workload& w) { w.stages.pop_back(); }), HasSubstr("never computed"));
  EXPECT_THAT(broken([](Workload& w) { w.stages[1].body = LoadExpr(1, {}, DataType::kF32); }),
              HasSubstr("read with 0 indices"));
}

TEST(Workload, CountsOperationsAndBytes) {
  const Workload gemm = *ParseWorkload(
      "input X: f32[4,8]\nweight W: f32[8,16]\nweight b: f32[16]\n"
      "T[m,n] = sum[k](X[m,k] * W[k,n])\noutput Y[m,n] = relu(T[m,n] + b[n])\n");
  EXPECT_EQ(Flop(gemm), 2 * 4 * 8 * 16 + 2 * 4 * 16);
  EXPECT_EQ(CompulsoryBytes(gemm), 4 * (4 * 8 + 8 * 16 + 16 + 4 * 16));
  // gelu uses its argument twice; it is computed once: add, mul, mul, erf, add, mul.
  const Workload gelu =
      *ParseWorkload("input X: f32[5]\nweight b: f32[5]\noutput Y[i] = gelu(X[i] + b[i])\n");
  EXPECT_EQ(Flop(gelu), 5 * 6);
  EXPECT_EQ(Flop(*ParseWorkload(PrintWorkload(gelu))), Flop(gelu));
  // Index arithmetic is free.
  EXPECT_EQ(Flop(*ParseWorkload("input X: f32[9]\noutput Y[i=4] = X[2*i+1]\n")), 0);
  EXPECT_EQ(Flop(*ParseWorkload("input X: f32[4,9]\noutput Y[i] = max[k](X[i,k])\n")), 36);
}

TEST(Workload, ArgumentsAreInputsThenOutputsInOrder) {
  const Workload w = *ParseWorkload(
      "input X: f32[4]\noutput A[i] = X[i] + 1\nweight W: f32[4]\noutput B[i] = A[i] * W[i]\n");
  EXPECT_EQ(ArgumentTensors(w), (std::vector<int>{0, 2, 1, 3}));
}

}  // namespace
}  // namespace kindred
