#include "cost_model/internal/cuda_features.h"

#include <algorithm>
#include <cmath>

#include "cost_model/internal/cuda_costs.h"
#include "cost_model/internal/feature_list.h"
#include "cost_model/internal/feature_values.h"
#include "cost_model/prior.h"

namespace kindred {
namespace {

double Share(double part, double of) { return of > 0 ? part / of : 1; }

class Extractor {
 public:
  Extractor(const Nest& nest, const CudaCosts& costs, const WorkloadFacts& workload,
            const Target& target, std::span<float> out)
      : nest_(nest), costs_(costs), workload_(workload), target_(target), out_(out) {}

  void Run() {
    Program();
    Times();
    Memory();
    if (costs_.longest >= 0) Longest(costs_.launches[static_cast<std::size_t>(costs_.longest)]);
  }

 private:
  void Set(Feature feature, double value) {
    out_[static_cast<std::size_t>(feature)] = static_cast<float>(value);
  }
  double Sum(double CudaLaunch::*member) const {
    double sum = 0;
    for (const CudaLaunch& launch : costs_.launches) sum += launch.*member;
    return sum;
  }
  CudaAccesses SumOf(CudaAccesses CudaLaunch::*member) const {
    CudaAccesses sum;
    for (const CudaLaunch& launch : costs_.launches) {
      const CudaAccesses& one = launch.*member;
      sum.requests += one.requests;
      sum.bytes += one.bytes;
      sum.sectors += one.sectors;
      sum.lines += one.lines;
      sum.accesses += one.accesses;
      sum.access_bytes += one.access_bytes;
    }
    return sum;
  }

  void Program();
  void Times();
  void Memory();
  void Longest(const CudaLaunch& launch);

  const Nest& nest_;
  const CudaCosts& costs_;
  const WorkloadFacts& workload_;
  const Target& target_;
  std::span<float> out_;
};

void Extractor::Program() {
  const double flop = workload_.flop, executed = Sum(&CudaLaunch::flop);
  const double instructions = std::max(1.0, Sum(&CudaLaunch::instructions));
  double workspace = 0;
  for (const Buffer& buffer : nest_.program().buffers)
    if (buffer.scope == Scope::kWorkspace)
      workspace += static_cast<double>(buffer.elements) * ByteSize(buffer.type);
  Set(kWaste, flop > 0 && executed > 0 ? std::clamp(std::log2(executed / flop), -4.0, 8.0) : 0);
  Set(kLogInstructions, Log(instructions));
  Set(kBranches, Log(nest_.branches() / 32 / instructions));
  Set(kLogCodeSize, Log(nest_.code_size()));
  Set(kWorkspace, LogRatio(workspace, static_cast<double>(target_.l2_bytes)));
  Set(kLoops, static_cast<double>(nest_.loops().size()));
  Set(kStatements, static_cast<double>(nest_.statements().size()));
}

void Extractor::Times() {
  const double roofline = workload_.roofline_ns;
  const auto time = [&](Feature feature, double ns) { Set(feature, LogRatio(ns, roofline)); };
  const auto sum = [&](Feature feature, double CudaLaunch::*member) { time(feature, Sum(member)); };
  sum(kCudaTimeIssue, &CudaLaunch::issue_ns);
  sum(kCudaTimeF32, &CudaLaunch::f32_ns);
  sum(kCudaTimeF64, &CudaLaunch::f64_ns);
  sum(kCudaTimeInteger, &CudaLaunch::integer_ns);
  sum(kCudaTimeMath, &CudaLaunch::math_ns);
  sum(kCudaTimeShared, &CudaLaunch::shared_ns);
  sum(kCudaTimeL1, &CudaLaunch::l1_ns);
  sum(kCudaTimeL2, &CudaLaunch::l2_ns);
  sum(kCudaTimeMemory, &CudaLaunch::memory_ns);
  sum(kCudaTimeLatency, &CudaLaunch::latency_ns);
  time(kCudaTimeStart, kLaunchNs * static_cast<double>(costs_.launches.size()));
  time(kTimeTotal, costs_.total_ns);
}

void Extractor::Memory() {
  const double needed = workload_.bytes;
  const CudaAccesses loads = SumOf(&CudaLaunch::loads), stores = SumOf(&CudaLaunch::stores);
  Set(kCudaLaunches, static_cast<double>(costs_.launches.size()));
  Set(kCudaL2ToNeeded, LogRatio(Sum(&CudaLaunch::l2_bytes), needed));
  Set(kCudaMemoryToNeeded, LogRatio(Sum(&CudaLaunch::memory_bytes), needed));
  Set(kCudaCoalescedLoads, Share(loads.bytes, 32 * loads.sectors));
  Set(kCudaCoalescedStores, Share(stores.bytes, 32 * stores.sectors));
  Set(kCudaLinesPerRequest,
      Log(Share(loads.lines + stores.lines, loads.requests + stores.requests)));
  Set(kCudaAccessBytes,
      Log(Share(loads.access_bytes + stores.access_bytes, loads.accesses + stores.accesses)));
  const double wavefronts = Sum(&CudaLaunch::shared_wavefronts);
  Set(kCudaBankConflicts, std::log2(Share(wavefronts, Sum(&CudaLaunch::shared_ideal))));
  Set(kCudaSharedToCompute, LogRatio(wavefronts, Sum(&CudaLaunch::instructions)));
}

void Extractor::Longest(const CudaLaunch& launch) {
  const GpuLimits& gpu = target_.gpu;
  Set(kCudaLaunchShare, Share(launch.total_ns, costs_.total_ns));
  Set(kCudaBlocks, Log(launch.blocks));
  Set(kCudaThreads, Log(launch.threads));
  Set(kCudaWarpFill, launch.warp_fill);
  Set(kCudaBlocksPerSm, Log(launch.blocks_per_sm));
  Set(kCudaOccupancy, launch.occupancy);
  Set(kCudaWaves, Log(launch.waves));
  Set(kCudaTail, launch.last_wave);
  Set(kCudaBalance, launch.balance);
  Set(kCudaRegisters, LogRatio(launch.registers, gpu.registers_per_thread));
  Set(kCudaSharedBytes,
      LogRatio(launch.shared_bytes, static_cast<double>(gpu.shared_bytes_per_block)));
  Set(kCudaSpill, Log(launch.spilled));
  Set(kCudaBarriers, Log(launch.barriers));
  Set(kCudaCombines, Log(launch.combines));
  const double threads = std::max(1.0, launch.blocks * launch.threads);
  Set(kCudaWork, Log(launch.instructions * 32 / threads));
  Set(kCudaParallel, Log(launch.independent));
  Set(kCudaFlopPerAccess,
      LogRatio(launch.flop, std::max(1.0, launch.loads.accesses + launch.stores.accesses)));
  Set(kCudaTurns, Log(launch.turns));
  Set(kCudaInFlight, Log(launch.in_flight));
}

}  // namespace

void ExtractCudaFeatures(const Nest& nest, const WorkloadFacts& workload, const Target& target,
                         std::span<float> out) {
  static thread_local CudaCosts costs;
  EstimateCudaCosts(nest, target, costs);
  Extractor(nest, costs, workload, target, out).Run();
}

}  // namespace kindred
