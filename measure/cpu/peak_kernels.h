// Small loops that drive a core to its peaks, for the probe. Each works on the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace kindred {

// Which instructions the loops use.
enum class VectorLevel { kGeneric, kAvx2, kAvx512 };
VectorLevel VectorLevelOf(const std::set<std::string>& cpu_flags);

enum class PeakKind { kF32, kF64, kI8 };
// Runs about `steps` steps of independent multiply-adds; returns the operations done (a
// multiply-add is 2). `dot_i8`: the processor multiplies bytes and adds them to 32-bit sums in one
// instruction.
double RunMultiplyAdds(VectorLevel level, PeakKind kind, bool dot_i8, std::int64_t steps);

// Reads the whole buffer once (its length is a multiple of 1 KiB); returns the bytes read.
double RunReads(VectorLevel level, const std::byte* buffer, std::size_t bytes);

}  // namespace kindred
