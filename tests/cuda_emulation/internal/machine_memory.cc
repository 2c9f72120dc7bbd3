// What is checked of each access: bounds, alignment, order. Shared memory and asynchronous copies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda_emulation/internal/machine.h"

namespace kindred::cuda_emulation {
namespace {

bool Writes(KdEmulationAccess kind) { return kind == kKdWrite || kind == kKdAtomic; }

std::string_view Verb(KdEmulationAccess kind) {
  return kind == kKdAtomic ? "adds atomically to" : Writes(kind) ? "writes" : "reads";
}

bool IsAligned(const std::byte* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

std::string Machine::Describe(const Area& area, const std::byte* address, std::size_t bytes) const {
  const std::ptrdiff_t first = address - area.begin;
  return fmt::format("bytes {} to {} of {} ({} bytes of {} memory)", first,
                     first + static_cast<std::ptrdiff_t>(bytes) - 1, area.name, area.bytes,
                     area.shared ? "shared" : "global");
}

std::string Machine::DescribeStamp(const Stamp& stamp) const {
  const KdEmulationIndex& i = threads_[stamp.thread].index;
  if (stamp.epoch >= block_epoch_)
    return fmt::format("thread ({},{},{})", i.thread[0], i.thread[1], i.thread[2]);
  return fmt::format("thread ({},{},{}) of another block", i.thread[0], i.thread[1], i.thread[2]);
}

void Machine::Access(const std::byte* address, std::size_t bytes, std::size_t alignment,
                     KdEmulationAccess kind, const void* pc) {
  if (fibres_->OnStack(current_, address)) return;
  if (!Writes(kind) && address >= image_.begin && address + bytes <= image_.end &&
      memory_->Find(address, bytes) == nullptr)
    return;
  if (++accesses_ > launch_.max_accesses)
    return Stop(
        Mistake::kTooManyAccesses,
        fmt::format("more than {} accesses to memory: an endless loop?", launch_.max_accesses), pc);
  const Area* area = memory_->Find(address, bytes);
  if (area == nullptr) {
    const Area* nearest = memory_->Nearest(address);
    return Stop(Mistake::kOutOfBounds,
                fmt::format("{} {} {}", Describe(current_), Verb(kind),
                            nearest == nullptr ? "memory, and the kernel has none"
                                               : Describe(*nearest, address, bytes)),
                pc);
  }
  if (!IsAligned(address, alignment))
    return Stop(Mistake::kMisaligned,
                fmt::format("{} {} {}, not aligned to {} bytes", Describe(current_), Verb(kind),
                            Describe(*area, address, bytes), alignment),
                pc);
  if (Writes(kind) && !area->writable)
    return Stop(Mistake::kReadOnly,
                fmt::format("{} {} {}, which is const", Describe(current_), Verb(kind),
                            Describe(*area, address, bytes)),
                pc);
  const auto first = static_cast<std::size_t>(address - area->begin);
  for (std::size_t i = first / area->granule; i <= (first + bytes - 1) / area->granule; ++i) {
    CheckCell(*area, i, kind, address, bytes, pc);
    if (stopped_) return;
    Touch(&area->cells[i], kind);
  }
  if (area->shared) return;
  if (kind == kKdWrite) threads_[static_cast<std::size_t>(current_)].fenced = false;
  if (kind == kKdAtomic) ReleaseAndAcquire(address);
}

void Machine::CheckCell(const Area& area, std::size_t index, KdEmulationAccess kind,
                        const std::byte* address, std::size_t bytes, const void* pc) {
  const Cell& cell = area.cells[index];
  const auto stop = [&](Mistake mistake, const std::string& why) {
    Stop(mistake,
         fmt::format("{} {} {}, {}", Describe(current_), Verb(kind), Describe(area, address, bytes),
                     why),
         pc);
  };
  if (cell.in_flight) return stop(Mistake::kCopyInFlight, "into which a cp.async is under way");
  if (area.shared && kind != kKdWrite && cell.write.epoch < block_epoch_)
    return stop(Mistake::kUninitialised, "which no thread of the block has written");
  if (kind == kKdReadConstant && cell.write.epoch != 0)
    return stop(Mistake::kReadOnly,
                "through the read-only cache, though the kernel has written it");
  if (!IsOrdered(cell.write, area.shared) && !(cell.atomic && kind == kKdAtomic))
    return stop(Mistake::kRace, fmt::format("which {} wrote, with no barrier in between",
                                            DescribeStamp(cell.write)));
  if (!Writes(kind)) return;
  for (const Stamp* read : {&cell.read, &cell.other_read})
    if (!IsOrdered(*read, area.shared))
      return stop(Mistake::kRace,
                  fmt::format("which {} read, with no barrier in between", DescribeStamp(*read)));
}

void Machine::Touch(Cell* cell, KdEmulationAccess kind) {
  const Stamp now = Now(current_);
  if (Writes(kind)) {
    cell->write = now;
    cell->atomic = kind == kKdAtomic;
    cell->read = cell->other_read = Stamp{};
  } else if (cell->read.thread == now.thread || cell->read.epoch != now.epoch) {
    cell->read = now;
  } else {
    cell->other_read = now;
  }
}

Stamp Machine::Now(int thread) const {
  return {epoch_, static_cast<std::uint16_t>(thread),
          threads_[static_cast<std::size_t>(thread)].clock[thread % kWarpSize]};
}

// Whether the thread that runs comes after the stamp.
bool Machine::IsOrdered(const Stamp& stamp, bool shared) const {
  if (stamp.epoch == 0) return true;
  if (stamp.epoch < block_epoch_) return shared || acquired_.contains(BlockOf(stamp));
  if (stamp.epoch < epoch_ || stamp.thread == current_) return true;
  if (stamp.thread / kWarpSize != current_ / kWarpSize) return false;
  const Thread& thread = threads_[static_cast<std::size_t>(current_)];
  return thread.clock[stamp.thread % kWarpSize] >= stamp.clock;
}

int Machine::BlockOf(const Stamp& stamp) const {
  return static_cast<int>(
      std::upper_bound(first_epochs_.begin(), first_epochs_.end(), stamp.epoch) -
      first_epochs_.begin() - 1);
}

// Atomics order blocks: one that has fenced its writes before an atomic comes before those that
// reach the same address later.
void Machine::ReleaseAndAcquire(const std::byte* address) {
  std::set<int>& released = released_[address];
  acquired_.insert(released.begin(), released.end());
  if (!threads_[static_cast<std::size_t>(current_)].fenced) return;
  released.insert(acquired_.begin(), acquired_.end());
  released.insert(static_cast<int>(first_epochs_.size()) - 1);
}

void Machine::Fence() { threads_[static_cast<std::size_t>(current_)].fenced = true; }

void Machine::DeclareSharedMemory(std::size_t alignment) {
  if (alignment > 1024 || alignment == 0 || (alignment & (alignment - 1)) != 0)
    Stop(
        Mistake::kMisaligned,
        fmt::format("shared memory cannot be aligned to {} bytes, only to powers of two up to 1024",
                    alignment),
        nullptr);
}

void* Machine::DeclareShared(std::size_t offset, std::size_t bytes, std::size_t alignment,
                             const char* name) {
  if (offset % alignment != 0)
    Stop(Mistake::kMisaligned,
         fmt::format("{} lies at byte {} of shared memory, not aligned to {} bytes", name, offset,
                     alignment),
         nullptr);
  std::byte* view = memory_->SharedView(offset, bytes, name);
  if (view == nullptr)
    Stop(Mistake::kOutOfBounds,
         fmt::format("{} takes bytes {} to {} of shared memory, the launch has {}", name, offset,
                     offset + bytes - 1, launch_.shared_bytes),
         nullptr);
  return view;
}

void* Machine::DynamicShared(const char* name) {
  return launch_.shared_bytes == 0 ? nullptr : DeclareShared(0, launch_.shared_bytes, 16, name);
}

void Machine::Copy(std::byte* to, const std::byte* from, unsigned size, int bytes, const void* pc) {
  const Area* target = memory_->Find(to, size);
  if (target != nullptr && !target->shared)
    return Stop(
        Mistake::kOutOfBounds,
        fmt::format("{}: cp.async writes shared memory, not {}", Describe(current_), target->name),
        pc);
  if (bytes < 0 || bytes > static_cast<int>(size))
    return Stop(
        Mistake::kOutOfBounds,
        fmt::format("{}: cp.async of {} bytes is told to read {}", Describe(current_), size, bytes),
        pc);
  if (!IsAligned(from, size))
    return Stop(Mistake::kMisaligned,
                fmt::format("{}: the source of a cp.async of {} bytes is not aligned to as many",
                            Describe(current_), size),
                pc);
  if (bytes > 0) Access(from, static_cast<std::size_t>(bytes), 1, kKdRead, pc);
  if (!stopped_) Access(to, size, size, kKdWrite, pc);
  if (stopped_) return;
  target = memory_->Find(to, size);
  Cell* cells = target->cells + (to - target->begin);
  for (unsigned i = 0; i < size; ++i) cells[i].in_flight = true;
  std::memset(to, 0xff, size);
  threads_[static_cast<std::size_t>(current_)].open_copies.push_back(
      {to, from, size, static_cast<unsigned>(bytes), cells});
}

void Machine::CommitCopies() {
  Thread& thread = threads_[static_cast<std::size_t>(current_)];
  thread.groups.push_back(std::move(thread.open_copies));
  thread.open_copies.clear();
}

void Machine::WaitCopies(int groups_left) {
  Thread& thread = threads_[static_cast<std::size_t>(current_)];
  while (thread.groups.size() > static_cast<std::size_t>(groups_left)) {
    for (const PendingCopy& copy : thread.groups.front()) Finish(copy);
    thread.groups.pop_front();
  }
}

void Machine::Finish(const PendingCopy& copy) {
  std::memset(copy.to, 0, copy.size);
  std::memcpy(copy.to, copy.from, copy.bytes);
  for (unsigned i = 0; i < copy.size; ++i) {
    copy.cells[i].in_flight = false;
    copy.cells[i].write = Now(current_);
  }
}

}  // namespace kindred::cuda_emulation
