// Features, costs and prior of programs for CUDA: what sketches lower, and launches whose counts
// are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cost_model/features.h"
#include "cost_model/internal/cuda_costs.h"
#include "cost_model/internal/feature_list.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"
#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/space.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

Target H200() { return *NamedCudaTarget("h200"); }

Workload Parse(const char* text) {
  const Result<Workload> parsed = ParseWorkload(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return Canonicalize(*parsed).workload;
}

constexpr const char* kGemm =
    "input X: f32[2048,1024]\nweight W: f32[1024,2048]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n";
constexpr const char* kElementwise =
    "input X: f32[4096,4096]\ninput Z: f32[4096,4096]\noutput Y[i,j] = X[i,j] + Z[i,j]\n";
constexpr const char* kSoftmax =
    "input X: f32[4096,2048]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = "
    "sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n";
constexpr const char* kTexts[] = {
    kGemm,
    kElementwise,
    kSoftmax,
    "input X: f64[100,96]\nweight W: f64[96,200]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n",
    "input X: f16[1,16,30,30]\nweight W: f16[32,16,3,3]\noutput Y[n,o,y=30,x=30] = sum[c,r,s]("
    "padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])\n",
    "input P: f32[1,32,28,28]\noutput Q[n,c,y=14,x=14] = max[r=3,s=3](padded(P[n, c, 2*y+r-1, "
    "2*x+s-1], -inf))\n",
    "input X: f32[120,70]\noutput Y[i,j] = X[j,i] + 1\n",
    "input I: i32[50]\nweight T: f32[300,64]\noutput Y[i,j] = T[I[i],j]\n",
    "input X: i8[3]\noutput Y[] = sum[i](X[i])\n",
};

// One schedule: the first option of each decision, but for those that `chosen` names.
Path Choose(const Space& space, const std::map<std::string, std::int64_t>& chosen,
            const std::string& sketch = "") {
  Path path;
  while (const std::optional<Decision> decision = space.Next(path)) {
    std::size_t option = 0;
    const auto wanted = chosen.find(decision->name);
    for (std::size_t i = 0; i < decision->options.size(); ++i) {
      const bool is_sketch = decision->name == "sketch" && !decision->labels.empty();
      if (is_sketch ? decision->labels[i] == sketch
                    : wanted != chosen.end() && decision->options[i] == wanted->second)
        option = i;
    }
    path.push_back({decision->name, decision->options[option],
                    decision->labels.empty() ? "" : decision->labels[option]});
  }
  return path;
}

double PriorOf(const Workload& workload, const Path& path) {
  const auto space = MakeSpace(workload, H200());
  const Result<Candidate> candidate = space->Lower(path);
  EXPECT_TRUE(candidate) << (candidate ? "" : candidate.error().message);
  if (!candidate) return 0;
  return PriorNs(ExtractFeatures(*candidate->program, workload, H200()), workload, H200());
}

TEST(CudaFeatures, ThoseOfCpusComeFirst) {
  const auto cpu = FeatureNames(DeviceKind::kCpu), cuda = FeatureNames(DeviceKind::kCuda);
  ASSERT_LT(cpu.size(), cuda.size());
  EXPECT_TRUE(std::equal(cpu.begin(), cpu.end(), cuda.begin()));
  EXPECT_EQ(cpu.back(), "next.log_trip");
}

TEST(CudaFeatures, AreFiniteForEverySketch) {
  Random random(1);
  std::map<std::string, int> sketches;
  for (const char* name : {"h200", "rtx4090"}) {
    const Target target = *NamedCudaTarget(name);
    for (const char* text : kTexts) {
      const Workload workload = Parse(text);
      const auto space = MakeSpace(workload, target);
      for (int i = 0; i < 40; ++i) {
        Path path;
        while (const std::optional<Decision> decision = space->Next(path)) {
          const std::size_t option = random.Below(decision->options.size());
          path.push_back({decision->name, decision->options[option],
                          decision->labels.empty() ? "" : decision->labels[option]});
        }
        const Result<Candidate> candidate = space->Lower(path);
        ASSERT_TRUE(candidate) << PathToJson(path) << ": " << candidate.error().message;
        const std::vector<float> features = ExtractFeatures(*candidate->program, workload, target);
        ASSERT_EQ(features.size(), FeatureNames(DeviceKind::kCuda).size());
        for (std::size_t f = 0; f < features.size(); ++f)
          ASSERT_TRUE(std::isfinite(features[f]))
              << FeatureNames(DeviceKind::kCuda)[f] << " of " << PathToJson(path);
        const double prior = PriorNs(features, workload, target);
        EXPECT_GE(prior, 0.99 * RooflineNs(workload, target)) << text << PathToJson(path);
        EXPECT_LT(prior, 1e5 * (kLaunchNs + RooflineNs(workload, target))) << PathToJson(path);
        ++sketches[path[0].label];
      }
    }
  }
  EXPECT_EQ(sketches.size(), 5u) << "contraction, elementwise, rows, window, generic";
}

TEST(CudaPrior, TilesBeatThePlainProduct) {
  const Workload gemm = Parse(kGemm);
  const auto space = MakeSpace(gemm, H200());
  const double good = PriorOf(gemm, Choose(*space,
                                           {{"block_rows", 128},
                                            {"block_columns", 128},
                                            {"register_rows", 8},
                                            {"register_columns", 8}},
                                           "contraction"));
  const double small = PriorOf(gemm, Choose(*space,
                                            {{"block_rows", 16},
                                             {"block_columns", 16},
                                             {"register_rows", 2},
                                             {"register_columns", 2}},
                                            "contraction"));
  const double plain = PriorOf(gemm, Choose(*space, {}, "generic"));
  EXPECT_LT(good, 5 * RooflineNs(gemm, H200()));
  EXPECT_GT(small, 1.5 * good);
  EXPECT_GT(plain, 2 * good);
}

TEST(CudaPrior, OneThreadPerRowLosesToAWarp) {
  const Workload softmax = Parse(kSoftmax);
  const auto space = MakeSpace(softmax, H200());
  const double warp = PriorOf(softmax, Choose(*space, {{"owners", 32}}, "rows"));
  const double one = PriorOf(softmax, Choose(*space, {{"owners", 1}}, "rows"));
  EXPECT_LT(warp, 4 * RooflineNs(softmax, H200()));
  EXPECT_GT(one, 3 * warp);
}

// Y[i] = 2 * X[i], with `index` of block and thread.
Program Scale(std::int64_t blocks, std::int64_t threads,
              const std::function<ExprPtr(const ExprPtr&, const ExprPtr&)>& index) {
  Program program;
  const std::int64_t elements = blocks * threads;
  const int x = program.AddBuffer({"X", DataType::kF32, elements, Scope::kArgument, 0, ""});
  const int y = program.AddBuffer({"Y", DataType::kF32, elements, Scope::kArgument, 1, ""});
  const int block = program.AddVar("block"), thread = program.AddVar("thread");
  const ExprPtr at = index(VarExpr(block), VarExpr(thread));
  program.body =
      For(block, IntExpr(blocks), LoopKind::kBlock,
          For(thread, IntExpr(threads), LoopKind::kThread,
              Store(y, at, LoadExpr(x, {at}, DataType::kF32) * FloatExpr(2, DataType::kF32))));
  return program;
}

CudaLaunch CostOf(const Program& program) {
  Nest nest;
  nest.Build(program);
  CudaCosts costs;
  EstimateCudaCosts(nest, H200(), costs);
  EXPECT_EQ(costs.launches.size(), 1u);
  return costs.launches[0];
}

TEST(CudaCosts, NeighboursReadNeighbours) {
  const CudaLaunch launch =
      CostOf(Scale(1000, 256, [](const ExprPtr& b, const ExprPtr& t) { return b * 256 + t; }));
  EXPECT_EQ(launch.loads.requests, 8000);
  EXPECT_EQ(launch.loads.bytes, 8000 * 128);
  EXPECT_EQ(launch.loads.sectors, 8000 * 4);
  EXPECT_EQ(launch.loads.lines, 8000);
  EXPECT_EQ(launch.memory_bytes, 2.0 * 1000 * 256 * 4);
}

TEST(CudaCosts, StridesTakeASectorEach) {
  const CudaLaunch launch =
      CostOf(Scale(1000, 256, [](const ExprPtr& b, const ExprPtr& t) { return b + t * 1000; }));
  EXPECT_EQ(launch.stores.sectors, 8000 * 32);
  EXPECT_GT(
      launch.total_ns,
      3 * CostOf(Scale(1000, 256, [](const ExprPtr& b, const ExprPtr& t) { return b * 256 + t; }))
                  .total_ns -
          2 * kLaunchNs);
}

TEST(CudaCosts, OneThreadPerBlockLeavesTheDeviceIdle) {
  const auto flat = [](std::int64_t threads) {
    return [threads](const ExprPtr& b, const ExprPtr& t) { return b * threads + t; };
  };
  const CudaLaunch one = CostOf(Scale(1 << 20, 1, flat(1)));
  const CudaLaunch many = CostOf(Scale(1 << 12, 256, flat(256)));
  EXPECT_NEAR(one.warp_fill, 1.0 / 32, 1e-9);
  EXPECT_LT(one.occupancy, 0.6);
  EXPECT_EQ(many.occupancy, 1);
  EXPECT_GT(one.total_ns - kLaunchNs, 8 * (many.total_ns - kLaunchNs));
}

TEST(CudaCosts, TheLastWaveCounts) {
  const auto blocks = [](std::int64_t count) {
    return CostOf(
        Scale(count, 1024, [](const ExprPtr& b, const ExprPtr& t) { return b * 1024 + t; }));
  };
  const CudaLaunch full = blocks(132 * 2), more = blocks(132 * 2 + 1);
  EXPECT_EQ(full.blocks_per_sm, 2);
  EXPECT_EQ(full.waves, 1);
  EXPECT_EQ(full.last_wave, 1);
  EXPECT_EQ(full.balance, 1);
  EXPECT_LT(more.last_wave, 0.51);
  EXPECT_LT(more.balance, 0.7);
  EXPECT_GT(more.latency_ns, 1.9 * full.latency_ns);
}

// Each thread reads tile[thread * stride] of shared memory.
CudaLaunch ReadShared(std::int64_t stride) {
  Program program;
  const int y = program.AddBuffer({"Y", DataType::kF32, 32, Scope::kArgument, 0, ""});
  const int tile = program.AddBuffer({"tile", DataType::kF32, 32 * 40, Scope::kShared, -1, ""});
  const int block = program.AddVar("block"), thread = program.AddVar("thread");
  program.body =
      For(block, IntExpr(1), LoopKind::kBlock,
          For(thread, IntExpr(32), LoopKind::kThread,
              Block({Store(tile, VarExpr(thread), FloatExpr(0, DataType::kF32)), Barrier(),
                     Store(y, VarExpr(thread),
                           LoadExpr(tile, {VarExpr(thread) * stride}, DataType::kF32))})));
  return CostOf(program);
}

TEST(CudaCosts, BanksConflict) {
  EXPECT_EQ(ReadShared(1).shared_wavefronts, 2);
  EXPECT_EQ(ReadShared(33).shared_wavefronts, 2);
  EXPECT_EQ(ReadShared(2).shared_wavefronts, 1 + 2);
  EXPECT_EQ(ReadShared(32).shared_wavefronts, 1 + 32);
  EXPECT_EQ(ReadShared(32).shared_ideal, 2);
  EXPECT_EQ(ReadShared(0).shared_wavefronts, 2) << "one word for all";
  EXPECT_EQ(ReadShared(1).barriers, 1);
  EXPECT_EQ(ReadShared(1).shared_bytes, 32 * 40 * 4);
}

}  // namespace
}  // namespace kindred
