// Blocks, barriers, and how threads take turns. A warp runs until all its threads wait at a barrier
// of the block or have returned; then the next one does.
#include "tests/cuda_emulation/internal/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>

namespace kindred::cuda_emulation {
namespace {

thread_local Machine* g_machine = nullptr;

// Carries out what a thread asks of the machine. A thread that has made a mistake goes no further;
// nothing that owns memory may be left on its stack.
template <class Ask>
auto OnMachine(const Ask& ask) {
  if constexpr (std::is_void_v<decltype(ask())>) {
    ask();
    g_machine->HaltIfStopped();
  } else {
    auto answer = ask();
    g_machine->HaltIfStopped();
    return answer;
  }
}

constexpr KdEmulationHost kHost = {
    .index = [] { return g_machine->Index(); },
    .access =
        [](const void* address, unsigned long bytes, unsigned long alignment,
           KdEmulationAccess kind, const void* pc) {
          OnMachine([&] {
            g_machine->Access(static_cast<const std::byte*>(address), bytes, alignment, kind, pc);
          });
        },
    .shared_memory =
        [](unsigned long alignment) {
          OnMachine([&] { g_machine->DeclareSharedMemory(alignment); });
        },
    .shared =
        [](unsigned long offset, unsigned long bytes, unsigned long alignment, const char* name) {
          return OnMachine(
              [&] { return g_machine->DeclareShared(offset, bytes, alignment, name); });
        },
    .dynamic_shared =
        [](const char* name) { return OnMachine([&] { return g_machine->DynamicShared(name); }); },
    .barrier = [](int line) { g_machine->Barrier(line); },
    .fence = [] { g_machine->Fence(); },
    .warp = [](KdEmulationWarpOp op, unsigned mask, unsigned long long bits, int operand, int width,
               const void* pc) -> unsigned long long {
      return OnMachine(
          [&] { return g_machine->WarpOperation(op, mask, bits, operand, width, pc); });
    },
    .copy =
        [](void* to, const void* from, unsigned size, int bytes, const void* pc) {
          OnMachine([&] {
            g_machine->Copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), size,
                            bytes, pc);
          });
        },
    .commit_copies = [] { g_machine->CommitCopies(); },
    .wait_copies = [](int groups_left) { g_machine->WaitCopies(groups_left); },
};

}  // namespace

const KdEmulationHost* HostFunctions() { return &kHost; }

Machine::Machine(const KernelImage& image, const Launch& launch, Memory* memory)
    : image_(image), launch_(launch), memory_(memory) {
  const auto& b = launch.block;
  threads_.resize(std::size_t{b[0]} * b[1] * b[2]);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    KdEmulationIndex& index = threads_[i].index;
    const auto linear = static_cast<unsigned>(i);
    index.thread[0] = linear % b[0];
    index.thread[1] = linear / b[0] % b[1];
    index.thread[2] = linear / b[0] / b[1];
    std::copy(launch.block.begin(), launch.block.end(), index.block_dim);
    std::copy(launch.grid.begin(), launch.grid.end(), index.grid_dim);
  }
}

Result<void> Machine::Run(void** arguments) {
  KINDRED_TRY(fibres_, Fibres::Make(static_cast<int>(threads_.size()), &RunThread));
  arguments_ = arguments;
  std::vector<unsigned> blocks(std::size_t{launch_.grid[0]} * launch_.grid[1] * launch_.grid[2]);
  std::iota(blocks.begin(), blocks.end(), 0u);
  if (launch_.block_order != 0)
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(launch_.block_order));
  Machine* const before = std::exchange(g_machine, this);
  for (const unsigned block : blocks) {
    RunBlock(block);
    if (stopped_) break;
  }
  g_machine = before;
  return {};
}

void Machine::RunThread(int thread) {
  g_machine->image_.call(g_machine->arguments_);
  g_machine->threads_[static_cast<std::size_t>(thread)].state = State::kDone;
}

void Machine::BeginBlock(unsigned block) {
  const auto& grid = launch_.grid;
  for (Thread& thread : threads_) {
    thread.index.block[0] = block % grid[0];
    thread.index.block[1] = block / grid[0] % grid[1];
    thread.index.block[2] = block / grid[0] / grid[1];
    thread.state = State::kRunnable;
    std::fill(std::begin(thread.clock), std::end(thread.clock), std::uint16_t{0});
    thread.fenced = false;
    thread.open_copies.clear();
    thread.groups.clear();
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) threads_[i].clock[i % kWarpSize] = 1;
  ++epoch_;
  block_epoch_ = epoch_;
  first_epochs_.push_back(epoch_);
  acquired_.clear();
  memory_->PoisonShared();
  fibres_->StartAll();
}

void Machine::RunBlock(unsigned block) {
  BeginBlock(block);
  const int warps = static_cast<int>((threads_.size() + kWarpSize - 1) / kWarpSize);
  for (;;) {
    for (int warp = 0; warp < warps; ++warp)
      if (!RunWarp(warp)) return;
    const auto is = [](State state) {
      return [state](const Thread& thread) { return thread.state == state; };
    };
    if (std::all_of(threads_.begin(), threads_.end(), is(State::kDone))) return;
    if (std::all_of(threads_.begin(), threads_.end(), is(State::kAtBarrier)))
      ReleaseBarrier();
    else
      ExplainStuck();
    if (stopped_) return;
  }
}

bool Machine::RunWarp(int warp) {
  const std::size_t begin = static_cast<std::size_t>(warp) * kWarpSize;
  const std::size_t end = std::min(begin + kWarpSize, threads_.size());
  do {
    for (std::size_t i = begin; i < end; ++i) {
      if (threads_[i].state != State::kRunnable) continue;
      current_ = static_cast<int>(i);
      fibres_->Resume(current_);
      current_ = -1;
      if (stopped_) return false;
    }
  } while (ReleaseWarp(warp));
  return !stopped_;
}

void Machine::Barrier(int line) {
  Thread& thread = threads_[static_cast<std::size_t>(current_)];
  thread.state = State::kAtBarrier;
  thread.line = line;
  fibres_->Yield();
}

void Machine::ReleaseBarrier() {
  for (std::size_t i = 1; i < threads_.size(); ++i) {
    if (threads_[i].line == threads_[0].line) continue;
    Stop(Mistake::kBarrierDivergence,
         fmt::format("{} waits at the barrier of line {}, {} at that of line {}", Describe(0),
                     threads_[0].line, Describe(static_cast<int>(i)), threads_[i].line),
         nullptr, threads_[0].line);
    return;
  }
  ++barriers_;
  ++epoch_;
  for (Thread& thread : threads_) thread.state = State::kRunnable;
}

// No thread can go on, and not all are at a barrier.
void Machine::ExplainStuck() {
  const auto waiting = std::find_if(threads_.begin(), threads_.end(), [](const Thread& thread) {
    return thread.state == State::kAtBarrier || thread.state == State::kInWarp;
  });
  const auto other = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& thread) {
    return thread.state != waiting->state;
  });
  const auto where = [&](const Thread& thread) -> std::string {
    if (thread.state == State::kDone) return "has returned";
    if (thread.state == State::kAtBarrier)
      return fmt::format("waits at the barrier of line {}", thread.line);
    return fmt::format("waits for the lanes {:#010x} of its warp", thread.warp.mask);
  };
  std::string message =
      fmt::format("{} {}", Describe(static_cast<int>(waiting - threads_.begin())), where(*waiting));
  if (other != threads_.end())
    message +=
        fmt::format(", {} {}", Describe(static_cast<int>(other - threads_.begin())), where(*other));
  const bool at_barrier = waiting->state == State::kAtBarrier;
  Stop(Mistake::kBarrierDivergence, message, at_barrier ? nullptr : waiting->warp.pc,
       at_barrier ? waiting->line : 0);
}

const KdEmulationIndex* Machine::Index() const {
  return &threads_[static_cast<std::size_t>(current_)].index;
}

void Machine::Stop(Mistake mistake, std::string message, const void* pc, int line) {
  if (!stopped_) stopped_ = {{mistake, std::move(message)}, pc, line};
}

void Machine::HaltIfStopped() {
  if (stopped_) fibres_->Yield();  // for ever
}

std::string Machine::Describe(int thread) const {
  const KdEmulationIndex& i = threads_[static_cast<std::size_t>(thread)].index;
  return fmt::format("thread ({},{},{}) of block ({},{},{})", i.thread[0], i.thread[1], i.thread[2],
                     i.block[0], i.block[1], i.block[2]);
}

}  // namespace kindred::cuda_emulation
