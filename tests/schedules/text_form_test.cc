#include "schedules/text_form.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "schedules/base/seed.h"

namespace kindred {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseWorkload(text, "f.kd");
  return parsed ? "no error: " + PrintWorkload(*parsed) : parsed.error().message;
}

Workload Parse(const std::string& text) {
  auto parsed = ParseWorkload(text, "f.kd");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message) << "\n" << text;
  return parsed ? *parsed : Workload();
}

const char* const kGood[] = {
    "input  X: f32[128,768]\nweight W: f32[768,3072]\nweight b: f32[3072]\n"
    "T[m,n] = sum[k](X[m,k] * W[k,n])\noutput Y[m,n] = gelu(T[m,n] + b[n])\n",
    "input  X: f32[1,64,56,56]\nweight W: f32[128,64,3,3]\n"
    "output Y[n,o,y=28,x=28] = sum[c,r,s](padded(X[n, c, 2*y+r-1, 2*x+s-1], 0) * W[o,c,r,s])\n",
    "input  P: f32[1,128,28,28]\n"
    "output Q[n,c,y=14,x=14] = max[r=3,s=3](padded(P[n, c, 2*y+r-1, 2*x+s-1], -inf))\n",
    "symbol seq in 1..4096, likely 1 128 512\ninput X: f16[seq,64]\n"
    "output Y: f16[i,j=seq] = sum[k](X[i,k] * X[j,k]) / seq2[]\n",
    "input J: i32[nnz=50] data index(0, 9)\ninput D: f32[9,4]\noutput Y[p,f] = D[J[p],f]\n",
    "allow tf32, winograd\ninput X: f32[8]\noutput Y[i=8] = select(i >= 1, X[i-1], 0)\n"
    "output Z: f64[i] = f64(X[i]) * 0.1\n",
    "input X: i8[4,8]\nweight W: i8[8,3]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n",
    "input X: f32[4,8]\noutput A[m] = argmax[k](X[m,k])\noutput B: i32[m] = argmin[k](-X[m,k])\n",
    "input \"odd name/1\": bf16[3] data normal(0, 1) density 0.5\n"
    "output \"exp\"[i] = exp(\"odd name/1\"[i])\n",
    "input X: f32[4,8]\noutput Y[i,j] = exp(X[i,j] - max[k](X[i,k])) / sum[k](exp(X[i,k]))\n",
    "input M: bool[4]\ninput X: f32[4]\noutput Y[i] = select(not M[i] and (i < 2 or X[i] > 0), X[i], -1)\n"
    "output N[i] = M[i] or i == 3\n",
    "output R[i=5] = f32(i) * 2\noutput S[] = 1.5\noutput T: f16[i=2] = 0.1\noutput U[i=3] = true\n",
    "input X: f32[6]\noutput Y[i=2,j=3] = X[(i * 3 + j) % 6] - (X[i] - (X[j] - 1)) / (X[i] * (2 * X[j]))\n",
    "input X: f32[4]\noutput Y[i] = mish(X[i]) + elu(X[i]) + hardswish(X[i]) + clip(X[i], -1, 1.5)\n"
    "output Z[i] = leaky_relu(X[i], 0.2) + relu6(X[i]) + softplus(X[i]) + silu(X[i]) - pow(X[i], 2)\n",
    "input X: f32[4,6]\noutput S: f64[i] = sum<f64>[k](X[i,k])\noutput P[i] = prod[k](X[i,k])\n",
    "input A: f32[3,4]\ninput B: f32[5,4]\n"
    "output C[r=8,c] = select(r < 3, A[r,c], B[r-3,c])\n",
    "workload \"two\"\ninput X: f8e4m3[4]\ninput C: c64[4]\noutput Y[i] = f32(X[i])\noutput D[i] = C[i]\n",
};

std::vector<std::string> GoodTexts() {
  std::vector<std::string> texts;
  for (const char* text : kGood) {
    std::string s = text;
    // One sample needs a scalar beside its symbol.
    const auto at = s.find(" / seq2[]");
    if (at != std::string::npos) s.replace(at, 9, " / f32(seq)");
    texts.push_back(s);
  }
  return texts;
}

TEST(TextForm, PrintsAndParsesBack) {
  for (const std::string& text : GoodTexts()) {
    const Workload once = Parse(text);
    const std::string printed = PrintWorkload(once);
    const Workload twice = Parse(printed);
    EXPECT_EQ(PrintWorkload(twice), printed) << "from\n" << text;
    ASSERT_EQ(once.stages.size(), twice.stages.size()) << printed;
    for (std::size_t s = 0; s < once.stages.size(); ++s) {
      const Stage& a = once.stages[s];
      const Stage& b = twice.stages[s];
      EXPECT_TRUE(SameExpr(*a.body, *b.body)) << printed;
      EXPECT_EQ(a.combiner, b.combiner);
      EXPECT_EQ(a.accumulator, b.accumulator);
    }
    for (std::size_t t = 0; t < once.tensors.size(); ++t) {
      EXPECT_EQ(once.tensors[t].name, twice.tensors[t].name);
      EXPECT_EQ(once.tensors[t].type, twice.tensors[t].type);
      EXPECT_EQ(once.tensors[t].shape, twice.tensors[t].shape);
      EXPECT_EQ(once.tensors[t].role, twice.tensors[t].role);
      EXPECT_EQ(once.tensors[t].data.kind, twice.tensors[t].data.kind);
    }
  }
}

TEST(TextForm, JsonRoundTrip) {
  for (const std::string& text : GoodTexts()) {
    const Workload workload = Parse(text);
    const nlohmann::json json = nlohmann::json::parse(WorkloadToJson(workload).dump());
    const auto back = WorkloadFromJson(json);
    ASSERT_TRUE(back) << back.error().message << json.dump(1);
    EXPECT_EQ(PrintWorkload(*back), PrintWorkload(workload));
    EXPECT_EQ(PrintWorkload(*WorkloadFromJson({{"text", text}})), PrintWorkload(workload));
  }
}

TEST(TextForm, JsonThatIsWrongIsAnErrorNotACrash) {
  const nlohmann::json good = WorkloadToJson(Parse(kGood[0]));
  for (const char* field : {"tensors", "stages"}) {
    nlohmann::json bad = good;
    bad.erase(field);
    bad.erase("text");
    EXPECT_FALSE(WorkloadFromJson(bad)) << field;
    bad = good;
    bad[field] = 3;
    EXPECT_FALSE(WorkloadFromJson(bad)) << field;
  }
  nlohmann::json bad = good;
  bad["stages"][0]["body"] = "X[m,";
  EXPECT_FALSE(WorkloadFromJson(bad));
  bad["stages"][0]["body"] = "X[m,k+1] * W[k,n]";
  EXPECT_THAT(WorkloadFromJson(bad).error().message, HasSubstr("outside 0 to 767"));
  EXPECT_FALSE(WorkloadFromJson(nlohmann::json(7)));
}

TEST(TextForm, LiftsNestedReductions) {
  const Workload w = Parse(kGood[9]);
  ASSERT_EQ(w.stages.size(), 3u);
  EXPECT_EQ(w.stages[0].combiner, Combiner::kMax);
  EXPECT_EQ(w.stages[0].spatial, 1);
  EXPECT_EQ(w.tensors[1].name, "Y_max");
  EXPECT_EQ(w.stages[2].combiner, Combiner::kNone);
}

TEST(TextForm, InfersTypes) {
  const Workload w = Parse(
      "input X: f16[4,8]\ninput I: i8[8]\n"
      "A[m] = sum[k](X[m,k])\nB[m] = max[k](X[m,k])\nC[k] = I[k] * 2\nD[m,k] = X[m,k]\n"
      "output Y: f16[m,k] = A[m] + B[m] + f32(C[k]) + D[m,k]\n");
  const auto type = [&](const std::string& name) {
    for (const Tensor& t : w.tensors)
      if (t.name == name) return t.type;
    return DataType::kC64;
  };
  EXPECT_EQ(type("A"), DataType::kF32);
  EXPECT_EQ(type("B"), DataType::kF16);
  EXPECT_EQ(type("C"), DataType::kI32);
  EXPECT_EQ(type("D"), DataType::kF16);
  EXPECT_EQ(type("Y"), DataType::kF16);
}

TEST(TextForm, ErrorsNameThePlaceAndTheCure) {
  const std::string x = "input X: f32[4,8]\n";
  struct Case {
    std::string text, place, message;
  };
  const Case cases[] = {
      {"input X f32[4]\n", "f.kd:1:9:", "expected ':'"},
      {"input X: f31[4]\n", "f.kd:1:10:", "expected a type"},
      {"input X: f32[0]\n", "f.kd:1:14:", "1 or more"},
      {"input X: f32[99999999999999999999]\n", "f.kd:1:14:", "64 bits"},
      {"input X: f32[4000000000,4000000000,4000]\n", "f.kd:1:7:", "too large"},
      {"input X: f32[n]\n", "f.kd:1:14:", "unknown extent 'n'"},
      {"input X: f32[4] data foo(1)\n", "f.kd:1:22:", "unknown kind of data"},
      {"input X: f32[4\n", "f.kd:1:13:", "never closed"},
      {"input J: i64[4] data index(0, 1e300)\n", "f.kd:1:7:", "do not fit its type i64"},
      {"input J: i8[4] data uniform(0, 1000)\n", "f.kd:1:7:", "do not fit its type i8"},
      {"input J: i32[4] data index(0.5, 3)\n", "f.kd:1:7:", "whole numbers"},
      {"input M: bool[4] data index(0, 1)\n", "f.kd:1:7:", "its type is bool"},
      {"input J: i32[4] data index(5, 7) density 0.5\ninput D: f32[2]\noutput Y[i] = D[J[i]-5]\n",
       "f.kd:3:15:", "index 1 of D can be -5 to 1"},
      {"input J: i32[4] data mask(0.5)\ninput D: f32[1]\noutput Y[i] = D[J[i]]\n",
       "f.kd:3:15:", "index 1 of D can be 0 to 1"},
      {"input \"\xff\": f32[4]\n", "f.kd:1:7:", "not UTF-8"},
      {"frobnicate X\n", "f.kd:1:1:", "unknown statement"},
      {"allow everything\n", "f.kd:1:7:", "cannot allow"},
      {"symbol s in 5..1\n", "f.kd:1:13:", "range"},
      {"symbol s in 1..8, likely 9\n", "f.kd:1:26:", "outside 1..8"},
      {x + "output Y[i] = Z[i]\n", "f.kd:2:15:", "unknown tensor 'Z'"},
      {x + "output Y[i] = X[i]\n", "f.kd:2:15:", "2 dimensions but is read with 1"},
      {x + "output Y[i] = X[i,j]\n", "f.kd:2:19:", "unknown name 'j'"},
      {x + "output Y[i,q] = X[i,0]\n", "f.kd:2:12:", "the extent of axis 'q' does not follow"},
      {x + "output Y[i,j] = X[i,j] + X[j,i]\n", "f.kd:2:30:", "has extent 4"},
      {x + "output Y[i,j] = X[i,j+1]\n", "f.kd:2:12:", "does not follow"},
      {x + "output Y[i,j=8] = X[i,j+1]\n",
       "f.kd:2:19:", "index 2 of X can be 1 to 8, outside 0 to 7"},
      {x + "output Y[i,j] = foo(X[i,j])\n", "f.kd:2:17:", "unknown function 'foo'"},
      {x + "output Y[i,j] = exp(X[i,j], 2)\n", "f.kd:2:17:", "exp takes 1 arguments, not 2"},
      {x + "output Y[i,j] = exp(i)\n", "f.kd:2:17:", "exp takes floats"},
      {x + "output Y[i,j] = X[i,j] + i\n", "f.kd:2:24:", "mixes f32 and i64"},
      {x + "output Y[i,j] = X[i,j] +\n",
       "f.kd:2:25:", "expected a value, found the end of the line"},
      {x + "output Y[i,j] = X[i,j] X[i,j]\n", "f.kd:2:24:", "the statement should end here"},
      {x + "output Y[i] = sum(X[i,0])\n", "f.kd:2:15:", "names its axes"},
      {x + "output Y[i] = max(X[i,0])\n", "f.kd:2:15:", "max of one value"},
      {x + "output Y[i] = sum[i](X[i,0])\n", "f.kd:2:19:", "already an axis"},
      {x + "output Y[i] = sum[k](X[i,k]) + f32(k)\n", "f.kd:2:36:", "only inside its reduction"},
      {x + "output Y[i] = sum[p in 0..4](X[i,p])\n",
       "f.kd:2:21:", "not supported yet in this version"},
      {x + "output Y[i] += X[i,0]\n", "f.kd:2:13:", "not supported yet in this version"},
      {x + "output Y[X[i,0], j] = 1.0\n", "f.kd:2:10:", "scatter"},
      {x + "output Y[i] = scan[k](X[i,k])\n", "f.kd:2:15:", "not supported yet in this version"},
      {x + "output Y[i,i] = X[i,i]\n", "f.kd:2:12:", "appears twice"},
      {x + "output X[i,j] = 1.0\n", "f.kd:2:8:", "used twice"},
      {x + "output Y[i,j] = Y[i,j]\n", "f.kd:2:17:", "unknown tensor 'Y'"},
      {x + "output Y[i,j] = 0 <= i < 3\n", "f.kd:2:24:", "do not chain"},
      {x + "output Y[i,j] = X[i,j] ** 2\n", "f.kd:2:24:", "pow(a, b)"},
      {x + "output Y[i,j] = X[i,j] ? 1\n", "f.kd:2:24:", "unexpected character '?'"},
      {x + "output Y[i,j] = (X[i,j]]\n", "f.kd:2:24:", "closes the '('"},
      {x + "output Y[i,j] = i / 0\n", "f.kd:2:19:", "division by zero"},
      {x + "output Y[i,j] = X[i,j] and true\n", "f.kd:2:24:", "joins conditions"},
      {x + "output Y: i32[i,j] = X[i,j]\n", "f.kd:2:1:", "stores f32 in a tensor of i32"},
      {x + "output Y[i] = padded(i, 0)\n", "f.kd:2:22:", "padded takes a read"},
      {x + "output exp[i] = X[i,0]\n", "f.kd:2:8:", "word of the language"},
      {x + "T[i] = X[i,0]\n", "f.kd:1:1:", "no output"},
      {x, "f.kd:1:1:", "no output"},
      {"", "f.kd:1:1:", "no output"},
  };
  for (const Case& c : cases) {
    const std::string message = ErrorOf(c.text);
    EXPECT_THAT(message, StartsWith(c.place)) << c.text;
    EXPECT_THAT(message, HasSubstr(c.message)) << c.text;
  }
}

TEST(TextForm, LinesContinueInsideBrackets) {
  const Workload w = Parse("input X: f32[4,\n  8]  # rows\noutput Y[i,\n j] = exp(\n  X[i,j]\n)\n");
  EXPECT_EQ(w.stages.size(), 1u);
  EXPECT_THAT(ErrorOf("input X: f32[4,\n  8]\noutput Y[i,j] = exp(\n  X[i,q]\n)\n"),
              StartsWith("f.kd:4:7:"));
}

TEST(TextForm, DeepAndHugeTextIsRefusedPolitely) {
  const std::string head = "input X: f32[4]\noutput Y[i] = ";
  const auto repeat = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  EXPECT_THAT(ErrorOf(head + repeat("(", 100000) + "1" + repeat(")", 100000)),
              HasSubstr("deeply nested"));
  EXPECT_THAT(ErrorOf(head + repeat("-", 100000) + "X[i]"), HasSubstr("deeply nested"));
  EXPECT_THAT(ErrorOf(head + repeat("not ", 100000) + "true"), HasSubstr("deeply nested"));
  EXPECT_THAT(ErrorOf(head + "X[i]" + repeat(" + X[i]", 100000)), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf(head + repeat("mish(", 40) + "X[i]" + repeat(")", 40)),
              HasSubstr("too large"));
}

TEST(TextForm, DamagedTextNeverCrashes) {
  Random random(11);
  const std::vector<std::string> texts = GoodTexts();
  const std::string pieces[] = {"[",
                                "]",
                                "(",
                                ")",
                                ",",
                                "=",
                                "sum",
                                "max",
                                "-",
                                "..",
                                "inf",
                                "9223372036854775807",
                                "9223372036854775808",
                                "1e999",
                                "\n",
                                "#",
                                "\"",
                                "i",
                                "X",
                                "f16",
                                "select",
                                "padded",
                                "<",
                                " in ",
                                "%",
                                "0",
                                "/",
                                "output ",
                                "weight "};
  int parsed = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = texts[random.Below(texts.size())];
    for (std::uint64_t edits = 1 + random.Below(2); edits > 0; --edits) {
      const std::size_t at = random.Below(text.size() + 1);
      switch (random.Below(3)) {
        case 0: text.insert(at, pieces[random.Below(std::size(pieces))]); break;
        case 1: text.erase(at, 1 + random.Below(6)); break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random.Below(256));
          break;
      }
    }
    const auto result = ParseWorkload(text, "f.kd");
    if (!result) {
      ASSERT_THAT(result.error().message, StartsWith("f.kd:")) << text;
      continue;
    }
    ++parsed;
    const std::string printed = PrintWorkload(*result);
    const auto again = ParseWorkload(printed, "printed");
    ASSERT_TRUE(again) << again.error().message << "\n" << printed << "\nfrom\n" << text;
    ASSERT_EQ(PrintWorkload(*again), printed) << "from\n" << text;
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace kindred
