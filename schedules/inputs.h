// Test data for a workload's inputs and weights: random, never zeros, the same for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schedules/workload.h"

namespace kindred {

// Fills `bytes` (Bytes(tensor) long) for tensor `id`, an input or weight of a checked workload.
// Unless a DataSpec says otherwise: floats are uniform in [-1, 1) without 0, but in [0.25, 1.25)
// where the tensor is read under log, sqrt, rsqrt, pow or as a divisor (directly, cast, or with a
// constant added); integers used as an index into tensors are valid indices of all of these; other
// integers cover their type up to 8 bits, else [-64, 64], and are positive as divisors; bools are
// half true. Both parts of a complex number are made like floats. A DataSpec's `density` below 1 makes the other elements zero. Data of kind "file" are
// for the caller to read (schedules/ does no I/O); here they are made as if unnamed.
void FillInput(const Workload& workload, int tensor, std::uint64_t seed,
               std::span<std::byte> bytes);

}  // namespace kindred
