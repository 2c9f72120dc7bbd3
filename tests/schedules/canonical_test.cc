// Single promises of the canonical form and of families; key_properties_test.cc has what holds for
// every workload.
#include "schedules/canonical.h"

#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedules/text_form.h"

namespace kindred {
namespace {

Workload Parse(const std::string& text) {
  auto parsed = ParseWorkload(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message) << "\n" << text;
  return parsed ? *parsed : Workload();
}

std::string Key(const std::string& text) { return Canonicalize(Parse(text)).key.Hex(); }
std::string Form(const std::string& text) {
  return PrintWorkload(Canonicalize(Parse(text)).workload);
}

TEST(Canonicalize, KeyTellsApartWhatDiffers) {
  const std::string base =
      "input X: f32[8,16]\nweight W: f32[16,4]\nweight b: f32[4]\n"
      "T[m,n] = sum[k](X[m,k] * W[k,n])\noutput Y[m,n] = relu(T[m,n] + b[n])\n";
  const auto replaced = [&base](const std::string& from, const std::string& to) {
    std::string text = base;
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
  const std::vector<std::string> variants = {
      base,
      replaced("[8,16]", "[9,16]"),
      replaced("16", "17"),
      replaced("X: f32", "X: f16"),
      replaced("weight W", "input W"),
      replaced("sum[k]", "sum<f64>[k]"),
      replaced("relu", "gelu"),
      replaced("relu", "exp"),
      replaced("sum[k]", "max[k]"),
      replaced("output Y", "output Y: f16"),
      "allow tf32\n" + base,
      "allow winograd\n" + base,
      replaced("b[n])", "b[n]) + 1"),
      replaced("b[n])", "b[n]) + 2"),
      replaced("X: f32[8,16]", "X: f32[8,16] data normal(0, 1) density 0.1"),
      replaced("T[m,n] =", "output T[m,n] ="),
      "symbol s in 1..8, likely 8\n" + replaced("X: f32[8,", "X: f32[s,"),
      "symbol s in 1..9, likely 8\n" + replaced("X: f32[8,", "X: f32[s,"),
      "input X: f32[4,9,9]\nweight W: f32[8,4,3,3]\noutput Y[o,y=9,x=9] = "
      "sum[c,r,s](padded(X[c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n",
      "input X: f32[4,9,9]\nweight W: f32[8,4,3,3]\noutput Y[o,y=5,x=5] = "
      "sum[c,r,s](padded(X[c,2*y+r-1,2*x+s-1], 0) * W[o,c,r,s])\n",
      "input X: f32[4,9,9]\nweight W: f32[8,4,3,3]\noutput Y[o,y=5,x=9] = "
      "sum[c,r,s](padded(X[c,2*y+r-1,x+s-1], 0) * W[o,c,r,s])\n",
      "input X: f32[4,4]\ninput Y: f32[4,4]\noutput Z[i,j] = sum[k](X[i,k] * Y[k,j])\n",
      "input X: f32[4,4]\ninput Y: f32[4,4]\noutput Z[i,j] = sum[k](X[i,k] * Y[j,k])\n",
      "input X: f32[4,4]\noutput Z[i,j] = sum[k](X[i,k] * X[k,j])\n",
      "input X: f32[4,4]\noutput Z[i,j] = sum[k](X[i,k] * X[j,k])\n",
      "input X: f32[4]\ninput Y: f32[4]\noutput Z[i] = X[i] - Y[i]\n",
      "input X: f32[4]\noutput Z[i] = X[i] - X[i]\n",
      "input X: f32[4]\ninput Y: f32[4]\noutput A[i] = X[i] + 1\noutput B[i] = Y[i] + 2\n",
      "input X: f32[4]\noutput A[i] = X[i] + 1\noutput B[i] = X[i] + 2\n",
  };
  std::map<std::string, std::string> seen;
  for (const std::string& text : variants) {
    const auto [at, fresh] = seen.emplace(Key(text), text);
    EXPECT_TRUE(fresh) << "same key:\n" << at->second << "\n" << text;
  }
}

TEST(Canonicalize, MergesAxesThatWalkTogether) {
  EXPECT_EQ(Form("input X: f32[2,64,56,56]\noutput Y[n,c,y,x] = relu(X[n,c,y,x])\n"),
            "input t0: f32[401408]\noutput t1[i0] = max(t0[i0], 0.0)\n");
  // A 1x1 convolution is a matrix product.
  EXPECT_EQ(Form("input X: f32[1,576,14,14]\nweight W: f32[96,576,1,1]\n"
                 "output Y[n,o,y,x] = sum[c](X[n,c,y,x] * W[o,c,0,0])\n"),
            "input t0: f32[576,196]\nweight t1: f32[96,576]\n"
            "output t2[i0,i1] = sum[i2](t0[i2,i1] * t1[i0,i2])\n");
  // A broadcast along one of the two keeps them apart.
  EXPECT_EQ(
      Form("input X: f32[4,6,5]\ninput b: f32[6]\noutput Y[n,c,x] = X[n,c,x] + b[c]\n"),
      "input t0: f32[4,6,5]\ninput t1: f32[6]\noutput t2[i0,i1,i2] = t0[i0,i1,i2] + t1[i1]\n");
  // Reduction axes merge too, but not across the border.
  EXPECT_EQ(Form("input X: f32[4,6,5,7]\noutput Y[a,b] = sum[c,d](X[a,b,c,d])\n"),
            "input t0: f32[24,35]\noutput t1[i0] = sum[i1](t0[i0,i1])\n");
  // A transposition: only what stays together merges.
  EXPECT_EQ(Form("input X: f32[4,6,5,7]\noutput Y[c,d,a,b] = X[a,b,c,d]\n"),
            "input t0: f32[24,35]\noutput t1[i0,i1] = t0[i1,i0]\n");
  // Through several stages.
  EXPECT_EQ(
      Form(
          "input X: f32[12,16,20]\nM[h,i] = max[j](X[h,i,j])\noutput Y[h,i,j] = X[h,i,j] - M[h,i]\n"),
      "input t0: f32[192,20]\nt1[i0] = max[i1](t0[i0,i1])\noutput t2[i0,i1] = t0[i0,i1] - t1[i0]\n");
}

TEST(Canonicalize, DropsWhatDoesNothing) {
  const std::string plain = Form("input X: f32[6]\noutput Y[i] = X[i] * 2\n");
  EXPECT_EQ(
      Form("input X: f32[6]\ninput unused: f32[9]\nT[i] = exp(X[i])\noutput Y[i] = X[i] * 2\n"),
      plain);
  EXPECT_EQ(Form("input X: f32[1,6,1]\noutput Y[a,b,c=1] = X[a,b,c] * 2\n"), plain);
  EXPECT_EQ(Form("input X: f32[6]\noutput Y[i] = padded(X[i], 0) * 2\n"), plain);
  EXPECT_EQ(Form("input X: f32[6]\noutput Y[i] = select(i >= 0, X[i], 0) * 2\n"), plain);
  EXPECT_EQ(Form("input X: f32[6]\noutput Y[i] = f32(f64(X[i])) * 2\n"), plain);
  EXPECT_EQ(Form("input X: f32[6]\nT[i] = X[i] * 2\noutput Y[i] = T[i]\n"), plain);
  EXPECT_EQ(Form("input X: f32[6,1]\noutput Y[i] = sum[k](X[i,k]) * 2\n"), plain);
  EXPECT_EQ(Form("input X: f32[2,3]\noutput Y[i,j] = 2 * X[i,j]\n"), plain);
  // Casts that the store or the accumulator makes anyhow.
  EXPECT_EQ(Form("input X: f32[6]\noutput Y: f16[i] = f16(X[i] * 2)\n"),
            Form("input X: f32[6]\noutput Y: f16[i] = X[i] * 2\n"));
  EXPECT_EQ(Form("input X: f16[6,4]\noutput Y[i] = sum[k](f32(X[i,k]))\n"),
            Form("input X: f16[6,4]\noutput Y[i] = sum[k](X[i,k])\n"));
  EXPECT_NE(Form("input X: f32[6]\noutput Y: f64[i] = f16(X[i])\n"),
            Form("input X: f32[6]\noutput Y: f64[i] = X[i]\n"));
  // i32 wraps: a product that is divided again is not the factor that is left.
  EXPECT_NE(Form("input X: i32[6]\noutput Y[i] = X[i] * 536870912 / 268435456\n"),
            Form("input X: i32[6]\noutput Y[i] = X[i] * 2\n"));
  // Narrow storage in between is not nothing.
  EXPECT_NE(Form("input X: f32[6]\nT: f16[i] = X[i] * 2\noutput Y[i] = f32(T[i])\n"), plain);
  // Padding that is read in a dimension of extent 1 keeps the dimension.
  EXPECT_NE(Form("input X: f32[1,6]\noutput Y[a=3,i] = padded(X[a-1,i], 0)\n").find("f32[1,6]"),
            std::string::npos);
}

TEST(Canonicalize, InlinesWhatIsUsedOnceOnly) {
  EXPECT_EQ(
      Canonicalize(Parse("input X: f32[4,8]\nT[i,j] = exp(X[i,j])\noutput Y[i] = sum[k](T[i,k])\n"))
          .workload.stages.size(),
      1u);
  // Read again for every n: stays.
  EXPECT_EQ(Canonicalize(Parse("input X: f32[4,8]\nweight W: f32[8,5]\nT[i,j] = exp(X[i,j])\n"
                               "output Y[i,n] = sum[k](T[i,k] * W[k,n])\n"))
                .workload.stages.size(),
            2u);
  // Two readers: stays.
  EXPECT_EQ(Canonicalize(Parse("input X: f32[4,8]\nT[i,j] = exp(X[i,j])\nS[i] = sum[k](T[i,k])\n"
                               "output Y[i,j] = T[i,j] / S[i]\n"))
                .workload.stages.size(),
            3u);
  // A cheap broadcast goes in, a dear one stays.
  EXPECT_EQ(
      Canonicalize(Parse("input X: f32[4,8]\nT[i] = X[i,0] * 0.5\noutput Y[i,j] = X[i,j] - T[i]\n"))
          .workload.stages.size(),
      1u);
  EXPECT_EQ(
      Canonicalize(Parse("input X: f32[4,8]\nT[i] = exp(X[i,0])\noutput Y[i,j] = X[i,j] - T[i]\n"))
          .workload.stages.size(),
      2u);
  // Equal stages are one, whatever the order of operands: here the one has two readers then.
  EXPECT_EQ(
      Form("input X: f32[4]\ninput b: f32[4]\nS[i] = exp(X[i]) + b[i]\nT[i] = b[i] + exp(X[i])\n"
           "output Y[i] = S[i] * 2\noutput Z[i] = T[i] * 3\n"),
      Form("input X: f32[4]\ninput b: f32[4]\nS[i] = exp(X[i]) + b[i]\n"
           "output Y[i] = S[i] * 2\noutput Z[i] = S[i] * 3\n"));
  EXPECT_EQ(Canonicalize(
                Parse("input X: f32[4,2,8]\nA[i] = sum[j,k](X[i,j,k])\nB[i] = sum[k,j](X[i,j,k])\n"
                      "output Y[i] = A[i] * B[i]\n"))
                .workload.stages.size(),
            2u);
}

FamilyDescriptor Family(const std::string& text) {
  return DescribeFamily(Canonicalize(Parse(text)).workload);
}

std::string Conv(int channels, int out, int size, int kernel, int stride,
                 const std::string& tail = "") {
  const int pad = kernel / 2;
  return fmt::format(
      "input X: f32[{0},{2},{2}]\nweight W: f32[{1},{0},{3},{3}]\nweight b: f32[{1}]\n"
      "T[o,y={4},x={4}] = sum[c,r,s](padded(X[c, {5}*y+r-{6}, {5}*x+s-{6}], 0) * W[o,c,r,s])\n"
      "output Y[o,y,x] = T[o,y,x] + b[o]{7}\n",
      channels, out, size, kernel, (size + 2 * pad - kernel) / stride + 1, stride, pad, tail);
}

TEST(DescribeFamily, ShapesStridesAndEpiloguesShareAStructure) {
  const FamilyDescriptor a = Family(Conv(16, 32, 14, 3, 1));
  for (const std::string& text : {Conv(32, 64, 28, 3, 2), Conv(3, 64, 56, 7, 2),
                                  Conv(16, 32, 14, 3, 1, " * 2"), Conv(5, 7, 11, 5, 1, " + 1")}) {
    const FamilyDescriptor b = Family(text);
    EXPECT_EQ(a.structure, b.structure) << a.structure_text << "\n" << b.structure_text;
    ASSERT_EQ(a.names, b.names);
    EXPECT_NE(a.descriptors, b.descriptors);
    for (const double value : b.descriptors) EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_EQ(a.structure_text,
            "sum f32 -> f32 [s0 s1 s2 | r0 r1 r2] "
            "mul(f32[r0, s1+r1, s2+r2], w:f32[s0, r0, r1, r2])");
}

TEST(DescribeFamily, TheAnchorIsTheHeaviestReduction) {
  const Workload norm =
      Canonicalize(
          Parse(
              "input X: f32[5,12]\nS[m] = sum[k](X[m,k])\nU[m] = S[m] / 12\n"
              "Q[m] = sum[k]((X[m,k] - U[m]) * (X[m,k] - U[m]))\noutput Y[m,k] = (X[m,k] - U[m]) / sqrt(Q[m])\n"))
          .workload;
  EXPECT_EQ(norm.stages[static_cast<std::size_t>(DescribeFamily(norm).anchor_stage)].body->op,
            Op::kMul);
}

TEST(DescribeFamily, DifferentPatternsDiffer) {
  std::map<std::string, std::string> seen;
  for (const std::string& text :
       {Conv(16, 32, 14, 3, 1), Conv(16, 32, 14, 1, 1),
        std::string("input X: f32[8,16,16]\nweight W: f32[8,3,3]\noutput Y[c,y=14,x=14] = "
                    "sum[r,s](X[c,y+r,x+s] * W[c,r,s])\n"),
        std::string(
            "input X: f32[8,16]\nweight W: f32[16,8]\noutput Y[i,j] = sum[k](X[i,k] * W[k,j])\n"),
        std::string(
            "input X: f32[8,16]\nweight W: f32[8,16]\noutput Y[i,j] = sum[k](X[i,k] * W[j,k])\n"),
        std::string(
            "input X: f16[8,16]\nweight W: f16[16,8]\noutput Y[i,j] = sum[k](X[i,k] * W[k,j])\n"),
        std::string("input X: f32[8,16]\noutput Y[i] = max[k](X[i,k])\n"),
        std::string("input X: f32[8,16]\noutput Y[i,j] = exp(X[i,j])\n")}) {
    const FamilyDescriptor family = Family(text);
    const auto [at, fresh] = seen.emplace(family.structure.Hex(), text);
    EXPECT_TRUE(fresh) << family.structure_text << "\n" << at->second << "\n" << text;
  }
}

}  // namespace
}  // namespace kindred
