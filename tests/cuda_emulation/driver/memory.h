// The emulated device's memory: host memory, each allocation between zones that fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace kindred::cuda_emulation {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : left_(bytes) {}

  // nullopt: not so much is left.
  std::optional<std::uintptr_t> Allocate(std::size_t bytes);
  bool Free(std::uintptr_t address);
  // Memory of others that may be copied to and from: a module's variable; until it is forgotten.
  void Lend(std::uintptr_t address, std::size_t bytes) { allocations_[address] = bytes; }
  void Forget(std::uintptr_t address) { allocations_.erase(address); }
  // Bytes from `address` to the end of its allocation; 0: it lies in none.
  std::size_t BytesFrom(std::uintptr_t address) const;

 private:
  std::size_t left_;
  std::map<std::uintptr_t, std::size_t> allocations_;
};

}  // namespace kindred::cuda_emulation
