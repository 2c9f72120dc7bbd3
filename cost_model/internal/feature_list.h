// The features in their order. A program for a CPU has the first list; one for CUDA has both, and
// of the first list only what tells of the workload, of the whole program and of the total time
// (the others are zero). Changing a list changes the version of what was learned from it: models
// saved with another list are refused.
//
// "time" features are log2(estimated time / roofline time), clipped to [-12, 20]; "log" ones log2(1
// + x).
#pragma once

#include <array>
#include <string_view>

// name in code, name for people
#define KINDRED_FEATURES(X)                            \
  /* the workload */                                   \
  X(kLogFlop, "workload.log_flop")                     \
  X(kLogBytes, "workload.log_bytes")                   \
  X(kIntensity, "workload.log_flop_per_byte")          \
  X(kLogRoofline, "workload.log_roofline_ns")          \
  X(kMemoryBound, "workload.memory_to_compute")        \
  X(kStages, "workload.stages")                        \
  X(kElementBytes, "workload.element_bytes")           \
  X(kSpatial0, "workload.log_spatial_0")               \
  X(kSpatial1, "workload.log_spatial_1")               \
  X(kSpatial2, "workload.log_spatial_2")               \
  X(kSpatialRest, "workload.log_spatial_rest")         \
  X(kReduction0, "workload.log_reduction_0")           \
  X(kReduction1, "workload.log_reduction_1")           \
  X(kReductionRest, "workload.log_reduction_rest")     \
  /* estimated times of the whole program */           \
  X(kTimeCompute, "time.compute")                      \
  X(kTimeLoad, "time.load")                            \
  X(kTimeStore, "time.store")                          \
  X(kTimeMath, "time.math")                            \
  X(kTimeInteger, "time.integer")                      \
  X(kTimeLatency, "time.latency")                      \
  X(kTimeLoop, "time.loop")                            \
  X(kTimeSpill, "time.spill")                          \
  X(kTimeCore, "time.core")                            \
  X(kTimeL1, "time.beyond_l1")                         \
  X(kTimeL2, "time.beyond_l2")                         \
  X(kTimeL3, "time.beyond_l3")                         \
  X(kTimeL1Scratch, "time.beyond_l1_scratch")          \
  X(kTimeL2Scratch, "time.beyond_l2_scratch")          \
  X(kTimeL1Prepared, "time.beyond_l1_prepared")        \
  X(kTimeL2Prepared, "time.beyond_l2_prepared")        \
  X(kTimeL3Scratch, "time.beyond_l3_scratch")          \
  X(kTimeTotal, "time.total")                          \
  X(kParallelSpeedup, "program.log_parallel_speedup")  \
  X(kWaste, "program.log_executed_to_needed_flop")     \
  X(kVectorShare, "program.vector_share")              \
  X(kAutomaticShare, "program.automatic_vector_share") \
  X(kLogInstructions, "program.log_instructions")      \
  X(kBranches, "program.log_branches_per_instruction") \
  X(kLogCodeSize, "program.log_code_size")             \
  X(kLogFootprint, "program.log_footprint_to_l2")      \
  X(kWorkspace, "program.log_workspace_to_l2")         \
  X(kPrepared, "program.log_prepared_to_l2")           \
  X(kStackBytes, "program.log_stack_to_l1")            \
  X(kRegisterBytes, "program.log_named_registers")     \
  X(kLoops, "program.loops")                           \
  X(kStatements, "program.statements")                 \
  X(kClang, "build.clang")                             \
  X(kNoSlp, "build.no_slp")                            \
  X(kWideVectors, "build.prefer_512")                  \
  X(kUnrollLoops, "build.unroll_loops")                \
  X(kOtherFlags, "build.other_flags")                  \
  /* the hottest loop body */                          \
  X(kHotShare, "hot.share")                            \
  X(kHotLanes, "hot.lanes_to_vector")                  \
  X(kHotExplicit, "hot.explicit_vector")               \
  X(kHotAutomatic, "hot.automatic_vector")             \
  X(kHotRecurrent, "hot.recurrent")                    \
  X(kHotInRegisters, "hot.in_registers")               \
  X(kHotTile, "hot.log_tile")                          \
  X(kHotRegisters, "hot.tile_to_registers")            \
  X(kHotOpsPerLoad, "hot.log_ops_per_load")            \
  X(kHotLoadToCompute, "hot.load_to_compute")          \
  X(kHotStoreToCompute, "hot.store_to_compute")        \
  X(kHotLatencyToCompute, "hot.latency_to_compute")    \
  X(kHotMathToCompute, "hot.math_to_compute")          \
  X(kHotIntegerToCompute, "hot.integer_to_compute")    \
  X(kHotUnit, "hot.loads_unit_share")                  \
  X(kHotBroadcast, "hot.loads_broadcast_share")        \
  X(kHotStrided, "hot.loads_strided_share")            \
  X(kHotGather, "hot.loads_gather_share")              \
  X(kHotStoreStrided, "hot.stores_strided_share")      \
  X(kHotUnrollHint, "hot.log_unroll_hint")             \
  X(kHotDepth, "hot.depth")                            \
  X(kHotTrip0, "hot.log_trip_0")                       \
  X(kHotTrip1, "hot.log_trip_1")                       \
  X(kHotTrip2, "hot.log_trip_2")                       \
  X(kHotTrip3, "hot.log_trip_3")                       \
  X(kHotTrip4, "hot.log_trip_4")                       \
  X(kHotBytes0, "hot.log_bytes_to_l1_0")               \
  X(kHotBytes1, "hot.log_bytes_to_l1_1")               \
  X(kHotBytes2, "hot.log_bytes_to_l1_2")               \
  X(kHotBytes3, "hot.log_bytes_to_l1_3")               \
  X(kHotBytes4, "hot.log_bytes_to_l1_4")               \
  X(kHotIntensity0, "hot.log_ops_per_byte_0")          \
  X(kHotIntensity1, "hot.log_ops_per_byte_1")          \
  X(kHotIntensity2, "hot.log_ops_per_byte_2")          \
  X(kHotIntensity3, "hot.log_ops_per_byte_3")          \
  X(kHotTailWaste, "hot.ragged")                       \
  /* the second hottest */                             \
  X(kNextShare, "next.share")                          \
  X(kNextExplicit, "next.explicit_vector")             \
  X(kNextAutomatic, "next.automatic_vector")           \
  X(kNextRecurrent, "next.recurrent")                  \
  X(kNextTile, "next.log_tile")                        \
  X(kNextLoadToCompute, "next.load_to_compute")        \
  X(kNextMathToCompute, "next.math_to_compute")        \
  X(kNextStrided, "next.strided_share")                \
  X(kNextTrip, "next.log_trip")

// CUDA: "launch" is the one that takes longest; shares are of 1; "to_limit" is log2 of a quotient.
#define KINDRED_CUDA_FEATURES(X)                                \
  /* estimated times of the whole program */                    \
  X(kCudaTimeIssue, "cuda.time.issue")                          \
  X(kCudaTimeF32, "cuda.time.f32")                              \
  X(kCudaTimeF64, "cuda.time.f64")                              \
  X(kCudaTimeInteger, "cuda.time.integer")                      \
  X(kCudaTimeMath, "cuda.time.math")                            \
  X(kCudaTimeShared, "cuda.time.shared_memory")                 \
  X(kCudaTimeL1, "cuda.time.l1")                                \
  X(kCudaTimeL2, "cuda.time.l2")                                \
  X(kCudaTimeMemory, "cuda.time.memory")                        \
  X(kCudaTimeLatency, "cuda.time.latency")                      \
  X(kCudaTimeStart, "cuda.time.launches")                       \
  /* the whole program */                                       \
  X(kCudaLaunches, "cuda.launches")                             \
  X(kCudaL2ToNeeded, "cuda.log_l2_to_compulsory_bytes")         \
  X(kCudaMemoryToNeeded, "cuda.log_memory_to_compulsory_bytes") \
  X(kCudaCoalescedLoads, "cuda.coalesced_loads")                \
  X(kCudaCoalescedStores, "cuda.coalesced_stores")              \
  X(kCudaLinesPerRequest, "cuda.log_lines_per_request")         \
  X(kCudaAccessBytes, "cuda.log_bytes_per_thread_access")       \
  X(kCudaBankConflicts, "cuda.log_bank_conflicts")              \
  X(kCudaSharedToCompute, "cuda.shared_to_compute")             \
  /* the launch */                                              \
  X(kCudaLaunchShare, "cuda.launch.share")                      \
  X(kCudaBlocks, "cuda.launch.log_blocks")                      \
  X(kCudaThreads, "cuda.launch.log_threads")                    \
  X(kCudaWarpFill, "cuda.launch.warp_fill")                     \
  X(kCudaBlocksPerSm, "cuda.launch.log_blocks_per_sm")          \
  X(kCudaOccupancy, "cuda.launch.occupancy")                    \
  X(kCudaWaves, "cuda.launch.log_waves")                        \
  X(kCudaTail, "cuda.launch.last_wave")                         \
  X(kCudaBalance, "cuda.launch.balance")                        \
  X(kCudaRegisters, "cuda.launch.registers_to_limit")           \
  X(kCudaSharedBytes, "cuda.launch.shared_to_limit")            \
  X(kCudaSpill, "cuda.launch.log_spilled_registers")            \
  X(kCudaBarriers, "cuda.launch.log_barriers")                  \
  X(kCudaCombines, "cuda.launch.log_combines")                  \
  X(kCudaWork, "cuda.launch.log_instructions_per_thread")       \
  X(kCudaParallel, "cuda.launch.log_independent")               \
  X(kCudaFlopPerAccess, "cuda.launch.log_flop_per_access")      \
  X(kCudaTurns, "cuda.launch.log_turns")                        \
  X(kCudaInFlight, "cuda.launch.log_bytes_in_flight")

namespace kindred {

enum Feature : int {
#define KINDRED_FEATURE_ENUM(id, name) id,
  KINDRED_FEATURES(KINDRED_FEATURE_ENUM)
#undef KINDRED_FEATURE_ENUM
      kCpuFeatureCount,
  kLastCpuFeature = kCpuFeatureCount - 1,
#define KINDRED_FEATURE_ENUM(id, name) id,
  KINDRED_CUDA_FEATURES(KINDRED_FEATURE_ENUM)
#undef KINDRED_FEATURE_ENUM
      kCudaFeatureCount
};

inline constexpr std::array<std::string_view, kCudaFeatureCount> kFeatureNames = {
#define KINDRED_FEATURE_NAME(id, name) name,
    KINDRED_FEATURES(KINDRED_FEATURE_NAME) KINDRED_CUDA_FEATURES(KINDRED_FEATURE_NAME)
#undef KINDRED_FEATURE_NAME
};

}  // namespace kindred
