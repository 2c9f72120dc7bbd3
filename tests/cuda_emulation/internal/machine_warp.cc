// Shuffles, votes and barriers of a warp. They are carried out when all lanes of the mask have come
// to the same operation with the same mask.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tests/cuda_emulation/internal/machine.h"

namespace kindred::cuda_emulation {

std::uint64_t Machine::WarpOperation(KdEmulationWarpOp op, unsigned mask, std::uint64_t bits,
                                     int operand, int width, const void* pc) {
  Thread& thread = threads_[static_cast<std::size_t>(current_)];
  const int lane = current_ % kWarpSize;
  if ((mask >> lane & 1u) == 0)
    Stop(Mistake::kWarpMask,
         fmt::format("{} is lane {} of its warp and not in its own mask {:#010x}",
                     Describe(current_), lane, mask),
         pc);
  if (width < 1 || width > kWarpSize || !std::has_single_bit(static_cast<unsigned>(width)))
    Stop(Mistake::kWarpMask,
         fmt::format("a shuffle's width is a power of two up to 32, not {}", width), pc);
  thread.warp = {
      .op = op, .mask = mask, .bits = bits, .operand = operand, .width = width, .pc = pc};
  thread.state = State::kInWarp;
  fibres_->Yield();
  return thread.warp.result;
}

bool Machine::ReleaseWarp(int warp) {
  const std::size_t begin = static_cast<std::size_t>(warp) * kWarpSize;
  const std::size_t end = std::min(begin + kWarpSize, threads_.size());
  bool released = false;
  for (std::size_t i = begin; i < end && !stopped_; ++i) {
    if (threads_[i].state != State::kInWarp) continue;
    const WarpCall call = threads_[i].warp;
    if (!CanRelease(warp, call)) continue;
    Release(warp, call);
    released = true;
  }
  return released && !stopped_;
}

bool Machine::CanRelease(int warp, const WarpCall& call) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((call.mask >> lane & 1u) == 0) continue;
    const std::size_t i =
        static_cast<std::size_t>(warp) * kWarpSize + static_cast<std::size_t>(lane);
    if (i >= threads_.size() || threads_[i].state == State::kDone) {
      Stop(Mistake::kWarpMask,
           fmt::format("the mask {:#010x} names lane {} of warp {}, which {}", call.mask, lane,
                       warp, i >= threads_.size() ? "the block does not have" : "has returned"),
           call.pc);
      return false;
    }
    const Thread& other = threads_[i];
    if (other.state != State::kInWarp || other.warp.op != call.op || other.warp.mask != call.mask)
      return false;
  }
  return true;
}

std::optional<int> Machine::ShuffleSource(int lane, const WarpCall& call) {
  const int first = lane & ~(call.width - 1), last = first + call.width - 1;
  int source = lane;
  switch (call.op) {
    case kKdShuffle: source = first | (call.operand & (call.width - 1)); break;
    case kKdShuffleXor: source = lane ^ call.operand; break;
    case kKdShuffleUp: source = lane - call.operand; break;
    default: source = lane + call.operand; break;
  }
  if (source > last || (call.op == kKdShuffleUp && source < first)) source = lane;
  if (source < 0 || source >= kWarpSize || (call.mask >> source & 1u) == 0) return std::nullopt;
  return source;
}

void Machine::Release(int warp, const WarpCall& call) {
  Thread* const lanes = &threads_[static_cast<std::size_t>(warp) * kWarpSize];
  std::uint64_t votes = 0;
  std::uint16_t known[kWarpSize] = {};
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((call.mask >> lane & 1u) == 0) continue;
    votes |= lanes[lane].warp.bits << lane;
    for (int of = 0; of < kWarpSize; ++of) known[of] = std::max(known[of], lanes[lane].clock[of]);
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((call.mask >> lane & 1u) == 0) continue;
    Thread& thread = lanes[lane];
    thread.state = State::kRunnable;
    if (call.op == kKdSyncWarp) {
      std::copy(std::begin(known), std::end(known), std::begin(thread.clock));
      ++thread.clock[lane];
    } else if (call.op == kKdBallot) {
      thread.warp.result = votes;
    } else {
      const std::optional<int> source = ShuffleSource(lane, thread.warp);
      if (!source) {
        Stop(Mistake::kWarpMask,
             fmt::format("{}, lane {}, shuffles by {} and so reads a lane that is not in the mask "
                         "{:#010x}",
                         Describe(warp * kWarpSize + lane), lane, thread.warp.operand, call.mask),
             call.pc);
        return;
      }
      thread.warp.result = lanes[*source].warp.bits;
    }
  }
}

}  // namespace kindred::cuda_emulation
