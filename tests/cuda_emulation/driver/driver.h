// What the emulated libraries tell each other.
#pragma once

#include <cstdint>

#define KINDRED_EXPORT extern "C" __attribute__((visibility("default")))

// The kernels that have ended since the last call, with the device's own times in ns; returns how
// many there are, at most `room`.
struct KindredEmulatedKernel {
  std::uint64_t start, end;
  std::uint32_t correlation;
};
KINDRED_EXPORT unsigned kindred_emulated_kernels(KindredEmulatedKernel* kernels, unsigned room);
