// Costs of a program for CUDA on one device, launch by launch: a roofline over the units of an SM
// and the levels of memory, with waves of blocks, occupancy, and the latency that too few threads
// leave open.
//
// Times are those of one run with nothing in the caches (what is measured), launches one after the
// other. The numbers of the architecture (lanes, latencies) are NVIDIA's for sm_80 to sm_90
// (CUDA C++ Programming Guide, table of throughputs; Ampere and Hopper white papers); the learned
// models correct them, so only their proportions matter.
#pragma once

#include <vector>

#include "cost_model/internal/nest.h"
#include "schedules/target.h"

namespace kindred {

// Requests of warps to memory, by what they move.
struct CudaAccesses {
  double requests = 0;
  double bytes = 0;         // that the threads ask for, each address of a warp once
  double sectors = 0;       // of 32 bytes, that these lie in
  double lines = 0;         // of 128 bytes
  double accesses = 0;      // of threads
  double access_bytes = 0;  // of threads
};

struct CudaLaunch {
  double blocks = 1, threads = 1, warps = 1;  // warps of a block
  double warp_fill = 1;                       // threads to lanes
  double registers = 0;                       // of a thread, estimated
  double spilled = 0;                         // registers beyond the limit
  double shared_bytes = 0;                    // of a block
  double blocks_per_sm = 1;                   // that are resident at once
  double occupancy = 0;                       // resident threads to those of an SM; 0..1
  double waves = 1;
  double last_wave = 1;               // how full it is
  double balance = 1;                 // work of the average SM to that of the busiest
  double barriers = 0, combines = 0;  // of a thread
  double instructions = 0;            // of all warps
  double independent = 1;             // accumulators of the hottest statement
  double turns = 0;                   // iterations of loops that turn, of a thread
  double in_flight = 0;               // bytes that an SM can have asked for at once
  double flop = 0;
  CudaAccesses loads, stores;                      // of global memory
  double shared_wavefronts = 0, shared_ideal = 0;  // cycles of shared memory; without conflicts
  double l2_bytes = 0, memory_bytes = 0;
  // ns
  double issue_ns = 0, f32_ns = 0, f64_ns = 0, integer_ns = 0, math_ns = 0;
  double shared_ns = 0, l1_ns = 0, l2_ns = 0, memory_ns = 0, latency_ns = 0;
  double total_ns = 0;  // with the start
};

inline constexpr double kLaunchNs = 1500;  // of a kernel that does nothing

struct CudaCosts {
  std::vector<CudaLaunch> launches;
  int longest = -1;  // of launches; -1: none
  double total_ns = 0;
};

void EstimateCudaCosts(const Nest& nest, const Target& target, CudaCosts& costs);

}  // namespace kindred
