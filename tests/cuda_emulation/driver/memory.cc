#include "tests/cuda_emulation/driver/memory.h"

#include <sys/mman.h>

namespace kindred::cuda_emulation {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kZone = 1 << 20;

std::size_t Mapped(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

std::optional<std::uintptr_t> DeviceMemory::Allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > left_) return std::nullopt;
  void* all = mmap(nullptr, Mapped(bytes) + 2 * kZone, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return std::nullopt;
  std::byte* begin = static_cast<std::byte*>(all) + kZone;
  mprotect(begin, Mapped(bytes), PROT_READ | PROT_WRITE);
  left_ -= bytes;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  allocations_[address] = bytes;
  return address;
}

bool DeviceMemory::Free(std::uintptr_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  munmap(reinterpret_cast<std::byte*>(address) - kZone, Mapped(found->second) + 2 * kZone);
  left_ += found->second;
  allocations_.erase(found);
  return true;
}

std::size_t DeviceMemory::BytesFrom(std::uintptr_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return 0;
  --after;
  const std::size_t offset = address - after->first;
  return offset < after->second ? after->second - offset : 0;
}

}  // namespace kindred::cuda_emulation
