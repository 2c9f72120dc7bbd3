// One launch: runs the threads of each block as fibres, checks what they do, and stops at the first
// mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda_emulation/device_interface.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/cuda_emulation/internal/fibres.h"
#include "tests/cuda_emulation/internal/memory.h"

namespace kindred::cuda_emulation {

inline constexpr int kWarpSize = 32;

// The loaded library of a kernel.
struct KernelImage {
  void (*call)(void** arguments) = nullptr;
  const std::byte* begin = nullptr;  // where it lies in memory: its constants may be read
  const std::byte* end = nullptr;
};

struct StoppedAt {
  Finding finding;
  const void* pc = nullptr;  // in the kernel; nullptr: `line` says where
  int line = 0;
};

class Machine {
 public:
  Machine(const KernelImage& image, const Launch& launch, Memory* memory);

  // Runs all blocks. Error (kEnvironment): no memory for stacks.
  Result<void> Run(void** arguments);

  const std::optional<StoppedAt>& stopped() const { return stopped_; }
  std::int64_t accesses() const { return accesses_; }
  std::int64_t barriers() const { return barriers_; }

  // What the threads call (device_interface.h).
  const KdEmulationIndex* Index() const;
  void Access(const std::byte* address, std::size_t bytes, std::size_t alignment,
              KdEmulationAccess kind, const void* pc);
  void DeclareSharedMemory(std::size_t alignment);
  void* DeclareShared(std::size_t offset, std::size_t bytes, std::size_t alignment,
                      const char* name);
  void* DynamicShared(const char* name);
  void Barrier(int line);
  void Fence();
  std::uint64_t WarpOperation(KdEmulationWarpOp op, unsigned mask, std::uint64_t bits, int operand,
                              int width, const void* pc);
  void Copy(std::byte* to, const std::byte* from, unsigned size, int bytes, const void* pc);
  void CommitCopies();
  void WaitCopies(int groups_left);
  void HaltIfStopped();  // does not return if it is

 private:
  enum class State : std::uint8_t { kRunnable, kAtBarrier, kInWarp, kDone };
  struct PendingCopy {  // cp.async
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    unsigned size = 0, bytes = 0;
    Cell* cells = nullptr;
  };
  struct WarpCall {
    KdEmulationWarpOp op = kKdSyncWarp;
    unsigned mask = 0;
    std::uint64_t bits = 0, result = 0;
    int operand = 0, width = 0;
    const void* pc = nullptr;
  };
  struct Thread {
    KdEmulationIndex index = {};
    State state = State::kRunnable;
    int line = 0;  // of the barrier it waits at
    WarpCall warp;
    std::uint16_t clock[kWarpSize] = {};  // what it knows of its warp's lanes, and its own
    bool fenced = false;                  // a fence since its last write to global memory
    std::vector<PendingCopy> open_copies;
    std::deque<std::vector<PendingCopy>> groups;
  };

  static void RunThread(int thread);
  void RunBlock(unsigned block);
  void BeginBlock(unsigned block);
  bool RunWarp(int warp);  // until none of it can go on; false: stopped
  bool ReleaseWarp(int warp);
  bool CanRelease(int warp, const WarpCall& call);
  void Release(int warp, const WarpCall& call);
  std::optional<int> ShuffleSource(int lane, const WarpCall& call);
  void ReleaseBarrier();
  void ExplainStuck();

  Stamp Now(int thread) const;
  bool IsOrdered(const Stamp& stamp, bool shared) const;
  void CheckCell(const Area& area, std::size_t index, KdEmulationAccess kind,
                 const std::byte* address, std::size_t bytes, const void* pc);
  void Touch(Cell* cell, KdEmulationAccess kind);
  void ReleaseAndAcquire(const std::byte* address);
  int BlockOf(const Stamp& stamp) const;
  void Finish(const PendingCopy& copy);

  std::string Describe(int thread) const;
  std::string Describe(const Area& area, const std::byte* address, std::size_t bytes) const;
  std::string DescribeStamp(const Stamp& stamp) const;
  void Stop(Mistake mistake, std::string message, const void* pc, int line = 0);

  KernelImage image_;
  Launch launch_;
  Memory* memory_;
  void** arguments_ = nullptr;
  std::unique_ptr<Fibres> fibres_;
  std::vector<Thread> threads_;
  int current_ = -1;  // the thread that runs; -1: none does
  std::uint32_t epoch_ = 0, block_epoch_ = 0;
  std::vector<std::uint32_t> first_epochs_;  // of the blocks so far
  std::set<int> acquired_;                   // earlier blocks whose writes this one may read
  std::map<const std::byte*, std::set<int>> released_;  // by atomics at an address
  std::int64_t accesses_ = 0, barriers_ = 0;
  std::optional<StoppedAt> stopped_;
};

// The functions through which device code reaches the machine that runs on this host thread.
const KdEmulationHost* HostFunctions();

}  // namespace kindred::cuda_emulation
