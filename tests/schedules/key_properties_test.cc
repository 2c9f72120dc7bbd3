// The promises of the key, checked on random rewrites and random changes of many workloads:
// rewrites that keep the computation keep the key, and changes of the computation change it.
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedules/canonical.h"
#include "schedules/text_form.h"
#include "tests/schedules/change_workload.h"
#include "tests/schedules/key_workloads.h"
#include "tests/schedules/rewrite_workload.h"
#include "tests/schedules/same_computation.h"

namespace kindred {
namespace {

Workload Parse(const std::string& text) {
  auto parsed = ParseWorkload(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message) << "\n" << text;
  return parsed ? *parsed : Workload();
}

std::string Forms(const Workload& a, const Workload& b) {
  return fmt::format("-- first\n{}-- its canonical form\n{}-- second\n{}-- its canonical form\n{}",
                     PrintWorkload(a), PrintWorkload(Canonicalize(a).workload), PrintWorkload(b),
                     PrintWorkload(Canonicalize(b).workload));
}

// The canonical form as a rewrite of the workload.
Disguised Canonical(const Workload& workload) {
  const CanonicalWorkload canonical = Canonicalize(workload);
  Disguised d{canonical.workload, std::vector<int>(workload.tensors.size(), -1)};
  const std::vector<int> arguments = ArgumentTensors(canonical.workload);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    d.tensors[static_cast<std::size_t>(canonical.arguments[i])] = arguments[i];
  return d;
}

void ExpectFixedPoint(const Workload& workload) {
  const CanonicalWorkload once = Canonicalize(workload);
  const std::string text = PrintWorkload(once.workload);
  const auto checked = CheckWorkload(once.workload);
  ASSERT_TRUE(checked) << checked.error().message << "\n" << text;
  const CanonicalWorkload twice = Canonicalize(once.workload);
  EXPECT_EQ(PrintWorkload(twice.workload), text);
  EXPECT_EQ(twice.key, once.key);
  EXPECT_EQ(Canonicalize(Parse(text)).key, once.key) << text;
}

TEST(KeyProperties, CanonicalFormComputesTheSameAndIsAFixedPoint) {
  for (const SampleWorkload& sample : KeyWorkloads()) {
    const Workload original = Parse(sample.text);
    EXPECT_TRUE(ComputesTheSame(original, Canonical(original)))
        << sample.name << "\n"
        << PrintWorkload(Canonicalize(original).workload);
    ExpectFixedPoint(original);
  }
}

TEST(KeyProperties, WorkloadsAreValidAndDistinct) {
  std::map<std::string, std::string> keys;
  for (const SampleWorkload& sample : KeyWorkloads()) {
    const auto [at, fresh] = keys.emplace(Canonicalize(Parse(sample.text)).key.Hex(), sample.name);
    EXPECT_TRUE(fresh) << sample.name << " and " << at->second << " have one key";
  }
  EXPECT_GE(keys.size(), 50u);
}

// Each kind alone, on every workload: the rewriter is right, and the key stays.
TEST(KeyProperties, EachRewriteKeepsTheComputationAndTheKey) {
  for (const RewriteKind& kind : RewriteKinds()) {
    int applied = 0;
    for (std::size_t i = 0; i < KeyWorkloads().size(); ++i) {
      const SampleWorkload& sample = KeyWorkloads()[i];
      const Workload original = Parse(sample.text);
      Random random(DeriveSeed(11, kind.name, i));
      Disguised d = Undisguised(original);
      if (!kind.apply(d, random)) continue;
      ++applied;
      const auto checked = CheckWorkload(d.workload);
      ASSERT_TRUE(checked) << kind.name << " of " << sample.name << ": " << checked.error().message
                           << "\n"
                           << PrintWorkload(d.workload);
      EXPECT_TRUE(ComputesTheSame(original, d)) << kind.name << " of " << sample.name << "\n"
                                                << Forms(original, d.workload);
      EXPECT_EQ(Canonicalize(d.workload).key, Canonicalize(original).key)
          << kind.name << " of " << sample.name << "\n"
          << Forms(original, d.workload);
    }
    EXPECT_GE(applied, 5) << kind.name;
  }
}

TEST(KeyProperties, AThousandCompositionsKeepTheKey) {
  constexpr int kRewrites = 1000;
  std::map<std::string_view, int> applied;
  for (int round = 0; round < kRewrites; ++round) {
    const auto& sample = KeyWorkloads()[static_cast<std::size_t>(round) % KeyWorkloads().size()];
    const Workload original = Parse(sample.text);
    Random random(DeriveSeed(13, "rewrites", static_cast<std::uint64_t>(round)));
    Disguised d = Undisguised(original);
    std::string story;
    for (std::uint64_t steps = 2 + random.Below(6); steps > 0; --steps) {
      const RewriteKind& kind = RewriteKinds()[random.Below(RewriteKinds().size())];
      if (!kind.apply(d, random)) continue;
      ++applied[kind.name];
      story += fmt::format("{}, ", kind.name);
    }
    const auto checked = CheckWorkload(d.workload);
    ASSERT_TRUE(checked) << sample.name << ": " << story << checked.error().message << "\n"
                         << PrintWorkload(d.workload);
    if (round % 10 == 0) {
      EXPECT_TRUE(ComputesTheSame(original, d)) << sample.name << ": " << story << "\n"
                                                << Forms(original, d.workload);
      ExpectFixedPoint(d.workload);
    }
    const CanonicalWorkload canonical = Canonicalize(d.workload);
    EXPECT_EQ(canonical.key, Canonicalize(original).key) << sample.name << ": " << story << "\n"
                                                         << Forms(original, d.workload);
  }
  for (const RewriteKind& kind : RewriteKinds()) EXPECT_GE(applied[kind.name], 20) << kind.name;
}

// A 3x3 convolution with bias and ReLU, as different models contain it.
TEST(KeyProperties, OneConvolutionInManyWritingsHasOneKey) {
  const std::string data = "input X: f32[1,4,9,7]\nweight W: f32[6,4,3,3]\nweight b: f32[6]\n";
  const std::string conv =
      "T[n,o,y=9,x=7] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n";
  const std::vector<std::string> writings = {
      data + conv + "output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o])\n",
      // Bias and activation in stages of their own.
      data + conv + "B[n,o,y,x] = T[n,o,y,x] + b[o]\noutput Y[n,o,y,x] = max(B[n,o,y,x], 0)\n",
      // In one statement, for one image without a batch dimension.
      "input X: f32[4,9,7]\nweight W: f32[6,4,3,3]\nweight b: f32[6]\n"
      "output Y[o,y=9,x=7] = relu(sum[c,r,s](padded(X[c,y+r-1,x+s-1], 0) * W[o,c,r,s]) + b[o])\n",
      // Other names, another order of declarations, operands and reduction axes.
      "workload \"res2a\"\nweight \"res2a/bias\": f32[6]\nweight \"res2a/kernel:0\": f32[6,4,3,3]\n"
      "input images: f32[1,4,9,7]\n\"res2a/c\"[i,oc,oh=9,ow=7] = sum[kw,kh,ic](\"res2a/kernel:0\""
      "[oc,ic,kh,kw] * padded(images[i,ic,kh+oh-1,kw+ow-1], 0))\n"
      "output \"res2a\"[i,oc,oh,ow] = max(0, \"res2a/bias\"[oc] + \"res2a/c\"[i,oc,oh,ow])\n",
      // A bias that was unsqueezed to [1,6,1,1].
      "input X: f32[1,4,9,7]\nweight W: f32[6,4,3,3]\nweight b: f32[1,6,1,1]\n" + conv +
          "output Y[n,o,y,x] = relu(T[n,o,y,x] + b[0,o,0,0])\n",
      // Identities between: dropout at inference, a cast to the type that it has.
      data +
          "I[n,c,y,x] = f32(X[n,c,y,x])\n"
          "T[n,o,y=9,x=7] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n"
          "D[n,o,y,x] = T[n,o,y,x]\noutput Y[n,o,y,x] = relu(D[n,o,y,x] * 1 + b[o])\n",
      // One group, as an axis of its own.
      "input X: f32[1,1,4,9,7]\nweight W: f32[1,6,4,3,3]\nweight b: f32[1,6]\n"
      "T[n,g,o,y=9,x=7] = sum[c,r,s](padded(X[n,g,c,y+r-1,x+s-1], 0) * W[g,o,c,r,s])\n"
      "output Y[n,g,o,y,x] = relu(T[n,g,o,y,x] + b[g,o])\n",
      // Strides and dilations of 1, pads written out.
      data +
          "T[n,o,y=9,x=7] = sum[c,r,s](padded(X[n, c, y*1 - 1 + r*1, 1*x + 1*s - 1], 0) * "
          "W[o,c,r,s])\noutput Y[n,o,y,x] = relu(b[o] + T[n,o,y,x])\n",
      // With what an exporter left behind: dead stages, arguments that nothing reads.
      "symbol batch in 1..8\n" + data +
          "weight running_mean: f32[6]\nN[o] = sqrt(running_mean[o])\n" + conv +
          "output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o])\n",
      // The accumulator written out, padding of the channels that is never read.
      data +
          "T[n,o,y=9,x=7] = sum<f32>[c=4,r,s](padded(X[n,c,y+r-1,x+s-1], 0.0) * "
          "padded(W[o,c,r,s], 0))\noutput Y: f32[n,o,y,x] = relu(T[n,o,y,x] + padded(b[o], 0))\n",
      // A convolution of two dimensions as one of three whose first has extent 1.
      "input X: f32[1,4,1,9,7]\nweight W: f32[6,4,1,3,3]\nweight b: f32[6]\n"
      "T[n,o,z=1,y=9,x=7] = sum[c,q,r,s](padded(X[n,c,z+q,y+r-1,x+s-1], 0) * W[o,c,q,r,s])\n"
      "output Y[n,o,z,y,x] = relu(T[n,o,z,y,x] + b[o])\n",
  };
  const Hash128 key = Canonicalize(Parse(writings[0])).key;
  for (const std::string& text : writings) {
    EXPECT_EQ(Canonicalize(Parse(text)).key, key) << Forms(Parse(writings[0]), Parse(text));
  }
  // One extent, pad or stride away it is another.
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"x+s-1]", "x+s]"}, {"y+r-1,", "y+2*r-1,"}, {"x=7]", "x=6]"}, {", 0)", ", 1)"}}) {
    std::string text = writings[0];
    text.replace(text.find(from), from.size(), to);
    EXPECT_NE(Canonicalize(Parse(text)).key, key) << text;
  }
}

TEST(KeyProperties, AThousandChangesChangeTheKey) {
  constexpr int kChanges = 1000;
  const int per_kind = kChanges / static_cast<int>(ChangeKinds().size()) + 1;
  std::map<std::string, Workload> seen;  // by key
  for (const ChangeKind& kind : ChangeKinds()) {
    int counted = 0;
    for (std::uint64_t draw = 0; counted < per_kind && draw < 10000; ++draw) {
      Random random(DeriveSeed(17, kind.name, draw));
      const SampleWorkload& sample = KeyWorkloads()[random.Below(KeyWorkloads().size())];
      const Workload original = Parse(sample.text);
      Workload other = original;
      if (!kind.apply(other, random) || !CheckWorkload(other)) continue;
      if (!CertainlyDiffer(original, other)) continue;
      ++counted;
      const std::string key = Canonicalize(other).key.Hex();
      EXPECT_NE(key, Canonicalize(original).key.Hex()) << kind.name << " of " << sample.name << "\n"
                                                       << Forms(original, other);
      // What shares a key with an earlier change is the same computation.
      const auto [at, fresh] = seen.emplace(key, other);
      if (!fresh) {
        EXPECT_FALSE(CertainlyDiffer(at->second, other)) << Forms(at->second, other);
      }
    }
    EXPECT_EQ(counted, per_kind) << kind.name;
  }
}

// The oracle of the test above calls no rewrite a change.
TEST(KeyProperties, RewritesAreNoChanges) {
  for (std::size_t i = 0; i < KeyWorkloads().size(); ++i) {
    const Workload original = Parse(KeyWorkloads()[i].text);
    for (const RewriteKind& kind : RewriteKinds()) {
      Random random(DeriveSeed(19, kind.name, i));
      Disguised d = Undisguised(original);
      if (kind.apply(d, random)) {
        EXPECT_FALSE(CertainlyDiffer(original, d.workload))
            << kind.name << " of " << KeyWorkloads()[i].name << "\n"
            << Forms(original, d.workload);
      }
    }
  }
}

}  // namespace
}  // namespace kindred
