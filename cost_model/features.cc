#include "cost_model/features.h"

#include <algorithm>
#include <cmath>

#include "cost_model/internal/costs.h"
#include "cost_model/internal/cuda_features.h"
#include "cost_model/internal/feature_list.h"
#include "cost_model/internal/feature_values.h"
#include "cost_model/internal/footprint.h"
#include "cost_model/internal/nest.h"
#include "cost_model/prior.h"

namespace kindred {
namespace {

struct Scratch {
  Nest nest;
  Footprint footprint;
  Costs costs;
};

class Extractor {
 public:
  Extractor(Scratch& scratch, const WorkloadFacts& facts, const Target& target,
            std::span<float> out)
      : nest_(scratch.nest),
        footprint_(scratch.footprint),
        costs_(scratch.costs),
        target_(target),
        out_(out),
        roofline_ns_(facts.roofline_ns),
        flop_(facts.flop) {}

  void Run() {
    Times();
    Whole();
    Build();
    if (costs_.hottest >= 0) Hot(costs_.bodies[static_cast<std::size_t>(costs_.hottest)]);
    if (costs_.second >= 0) Next(costs_.bodies[static_cast<std::size_t>(costs_.second)]);
  }

 private:
  void Set(Feature feature, double value) {
    out_[static_cast<std::size_t>(feature)] = static_cast<float>(value);
  }

  void Times();
  void Whole();
  void Build();
  void Hot(const StatementCost& cost);
  void Next(const StatementCost& cost);

  const Nest& nest_;
  const Footprint& footprint_;
  const Costs& costs_;
  const Target& target_;
  std::span<float> out_;
  const double roofline_ns_, flop_;
};

void Extractor::Times() {
  const double rate = costs_.slots_per_ns * costs_.threads_used;
  const auto slots = [&](Feature feature, double count) {
    Set(feature, LogRatio(count / rate, roofline_ns_));
    return count / rate;
  };
  slots(kTimeCompute, costs_.compute_slots);
  slots(kTimeLoad, costs_.load_slots);
  slots(kTimeStore, costs_.store_slots);
  slots(kTimeMath, costs_.math_slots);
  slots(kTimeInteger, costs_.integer_slots);
  slots(kTimeLatency, costs_.latency_slots);
  const double loop = slots(kTimeLoop, costs_.loop_slots);
  const double spill = slots(kTimeSpill, costs_.spill_slots);
  const double core = slots(kTimeCore, costs_.slots);

  const double share =
      costs_.threads_used / std::max(1, target_.threads);  // of the target's bandwidth
  const double l3_gbps = std::sqrt(target_.l2_gbps * target_.memory_gbps);
  const auto time = [&](double bytes, double gbps) { return bytes / (gbps * share); };
  const Footprint::Traffic l1 =
      footprint_.TrafficBeyond(0.8 * static_cast<double>(target_.l1_bytes));
  const Footprint::Traffic l2 =
      footprint_.TrafficBeyond(0.8 * static_cast<double>(target_.l2_bytes));
  const Footprint::Traffic l3 =
      footprint_.TrafficBeyond(0.5 * static_cast<double>(target_.l3_bytes));
  const double l1_ns = time(l1.total(), target_.l2_gbps);
  const double l2_ns = time(l2.total(), l3_gbps);
  const double l3_ns = time(l3.total(), target_.memory_gbps);
  Set(kTimeL1, LogRatio(l1_ns, roofline_ns_));
  Set(kTimeL2, LogRatio(l2_ns, roofline_ns_));
  Set(kTimeL3, LogRatio(l3_ns, roofline_ns_));
  Set(kTimeL1Scratch, LogRatio(time(l1.scratch, target_.l2_gbps), roofline_ns_));
  Set(kTimeL2Scratch, LogRatio(time(l2.scratch, l3_gbps), roofline_ns_));
  Set(kTimeL3Scratch, LogRatio(time(l3.scratch, target_.memory_gbps), roofline_ns_));
  Set(kTimeL1Prepared, LogRatio(time(l1.prepared, target_.l2_gbps), roofline_ns_));
  Set(kTimeL2Prepared, LogRatio(time(l2.prepared, l3_gbps), roofline_ns_));

  // Out-of-order cores overlap the levels in part: the longest counts in full, the others by a
  // quarter.
  constexpr double kOverlap = 0.25;
  const double longest = std::max({core, l1_ns, l2_ns, l3_ns});
  const double total =
      longest + kOverlap * (core + l1_ns + l2_ns + l3_ns - longest) + 0.25 * loop + spill;
  Set(kTimeTotal, LogRatio(total, roofline_ns_));
}

void Extractor::Whole() {
  const Program& program = nest_.program();
  Set(kParallelSpeedup, std::log2(std::max(1.0, costs_.threads_used)));
  Set(kWaste,
      flop_ > 0 && costs_.flop > 0 ? std::clamp(std::log2(costs_.flop / flop_), -4.0, 8.0) : 0);
  const double instructions = std::max(1.0, costs_.instructions);
  Set(kVectorShare, costs_.vector_instructions / instructions);
  Set(kAutomaticShare, costs_.automatic_instructions / instructions);
  Set(kLogInstructions, Log(costs_.instructions));
  Set(kBranches, Log(nest_.branches() / instructions));
  Set(kLogCodeSize, Log(nest_.code_size()));
  double scope_bytes[5] = {};
  for (const Buffer& buffer : program.buffers)
    scope_bytes[static_cast<std::size_t>(buffer.scope)] +=
        static_cast<double>(buffer.elements) * ByteSize(buffer.type);
  const double l2 = static_cast<double>(target_.l2_bytes);
  Set(kLogFootprint, LogRatio(footprint_.Iteration(-1), l2));
  Set(kWorkspace, LogRatio(scope_bytes[static_cast<std::size_t>(Scope::kWorkspace)], l2));
  Set(kPrepared, LogRatio(scope_bytes[static_cast<std::size_t>(Scope::kPrepared)], l2));
  Set(kStackBytes, LogRatio(scope_bytes[static_cast<std::size_t>(Scope::kStack)],
                            static_cast<double>(target_.l1_bytes)));
  Set(kRegisterBytes,
      Log(scope_bytes[static_cast<std::size_t>(Scope::kRegister)] / target_.vector_bytes));
  Set(kLoops, static_cast<double>(nest_.loops().size()));
  Set(kStatements, static_cast<double>(nest_.statements().size()));
}

void Extractor::Build() {
  const Program& program = nest_.program();
  Set(kClang, program.compiler == "clang" ? 1 : 0);
  int other = 0;
  for (const std::string& flag : program.flags) {
    if (flag == "-fno-tree-slp-vectorize" || flag == "-fno-slp-vectorize")
      Set(kNoSlp, 1);
    else if (flag == "-mprefer-vector-width=512")
      Set(kWideVectors, 1);
    else if (flag == "-funroll-loops")
      Set(kUnrollLoops, 1);
    else
      ++other;
  }
  Set(kOtherFlags, other);
}

void Extractor::Hot(const StatementCost& cost) {
  const NestStatement& statement = nest_.statements()[static_cast<std::size_t>(cost.statement)];
  const double compute = std::max(1e-9, cost.compute_slots);
  const auto share = [](double part, double of) { return of > 0 ? part / of : 0; };
  Set(kHotShare, share(cost.slots, costs_.slots));
  Set(kHotLanes, cost.lanes / target_.VectorLanes(std::max(1, ByteSize(statement.type))));
  Set(kHotExplicit, cost.explicit_vector);
  Set(kHotAutomatic, cost.automatic_vector);
  Set(kHotRecurrent, statement.recurrent);
  Set(kHotInRegisters, statement.to_register);
  Set(kHotTile, Log(cost.tile));
  Set(kHotRegisters, cost.tile_registers / std::max(1, target_.vector_registers));
  const double loads =
      cost.loads_unit + cost.loads_broadcast + cost.loads_strided + cost.loads_gather;
  Set(kHotOpsPerLoad, LogRatio(cost.instructions, std::max(loads, 1e-9)));
  Set(kHotLoadToCompute, LogRatio(cost.load_slots, compute));
  Set(kHotStoreToCompute, LogRatio(cost.store_slots, compute));
  Set(kHotLatencyToCompute, LogRatio(cost.latency_slots, compute));
  Set(kHotMathToCompute, LogRatio(cost.math_slots, compute));
  Set(kHotIntegerToCompute, LogRatio(cost.integer_slots, compute));
  Set(kHotUnit, share(cost.loads_unit, loads));
  Set(kHotBroadcast, share(cost.loads_broadcast, loads));
  Set(kHotStrided, share(cost.loads_strided, loads));
  Set(kHotGather, share(cost.loads_gather, loads));
  Set(kHotStoreStrided, share(cost.stores_strided, cost.stores_unit + cost.stores_strided));
  Set(kHotDepth, statement.depth);
  // The loops that turn, from the inside out: trips, bytes of one iteration, operations per byte of
  // it.
  int level = 0;
  double executions = statement.executions;
  double ragged = 0;
  for (int id = statement.loop; id >= 0; id = nest_.loops()[static_cast<std::size_t>(id)].parent) {
    const NestLoop& loop = nest_.loops()[static_cast<std::size_t>(id)];
    ragged = std::max(ragged, std::ceil(loop.extent) - loop.extent);
    if (id == cost.inner_loop) Set(kHotUnrollHint, Log(loop.unroll));
    if (loop.kind == LoopKind::kUnrolled || loop.kind == LoopKind::kVectorized) continue;
    if (level < 5) {
      const double turns = std::max(1.0, loop.entries * loop.extent);
      const double bytes = footprint_.Iteration(id);
      Set(static_cast<Feature>(kHotTrip0 + level), Log(loop.extent));
      Set(static_cast<Feature>(kHotBytes0 + level),
          LogRatio(bytes, static_cast<double>(target_.l1_bytes)));
      if (level < 4)
        Set(static_cast<Feature>(kHotIntensity0 + level),
            LogRatio(executions / turns, std::max(bytes, 1.0)));
    }
    ++level;
  }
  Set(kHotTailWaste, ragged);
}

void Extractor::Next(const StatementCost& cost) {
  const NestStatement& statement = nest_.statements()[static_cast<std::size_t>(cost.statement)];
  const double compute = std::max(1e-9, cost.compute_slots);
  const double accesses = cost.loads_unit + cost.loads_broadcast + cost.loads_strided +
                          cost.loads_gather + cost.stores_unit + cost.stores_strided;
  Set(kNextShare, costs_.slots > 0 ? cost.slots / costs_.slots : 0);
  Set(kNextExplicit, cost.explicit_vector);
  Set(kNextAutomatic, cost.automatic_vector);
  Set(kNextRecurrent, statement.recurrent);
  Set(kNextTile, Log(cost.tile));
  Set(kNextLoadToCompute, LogRatio(cost.load_slots, compute));
  Set(kNextMathToCompute, LogRatio(cost.math_slots, compute));
  Set(kNextStrided,
      accesses > 0 ? (cost.loads_strided + cost.loads_gather + cost.stores_strided) / accesses : 0);
  Set(kNextTrip, cost.inner_loop >= 0
                     ? Log(nest_.loops()[static_cast<std::size_t>(cost.inner_loop)].extent)
                     : 0);
}

}  // namespace

std::span<const std::string_view> FeatureNames(DeviceKind kind) {
  return std::span(kFeatureNames)
      .first(kind == DeviceKind::kCuda ? kCudaFeatureCount : kCpuFeatureCount);
}

FeatureExtractor::FeatureExtractor(const Workload& canonical, const Target& target)
    : target_(target),
      workload_(FeatureNames(target.kind).size(), 0.0f),
      facts_{static_cast<double>(Flop(canonical)), static_cast<double>(CompulsoryBytes(canonical)),
             RooflineNs(canonical, target)} {
  DescribeWorkload(canonical, target, workload_);
}

std::vector<float> FeatureExtractor::Extract(const Program& program) const {
  static thread_local Scratch scratch;  // its tables keep their memory from program to program
  std::vector<float> features = workload_;
  scratch.nest.Build(program);
  if (target_.kind == DeviceKind::kCuda) {
    ExtractCudaFeatures(scratch.nest, facts_, target_, features);
    return features;
  }
  scratch.footprint.Build(scratch.nest);
  EstimateCosts(scratch.nest, target_, scratch.costs);
  Extractor(scratch, facts_, target_, features).Run();
  return features;
}

std::vector<float> ExtractFeatures(const Program& program, const Workload& canonical,
                                   const Target& target) {
  return FeatureExtractor(canonical, target).Extract(program);
}

}  // namespace kindred
