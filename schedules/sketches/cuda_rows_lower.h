// Lowering of the row CUDA sketch.
#pragma once

#include <cstdint>

#include "schedules/program.h"
#include "schedules/sketches/cuda_row_pattern.h"

namespace kindred::internal {

enum class Residency : std::uint8_t {
  kNone,       // every pass over the columns reads memory again
  kRegisters,  // the row's data are fetched once into registers of its threads,
  kShared,     // or into shared memory
};

struct RowSchedule {
  std::int64_t owners = 1;     // threads of a row: part of a warp, a warp, or several
  std::int64_t lanes = 1;      // neighbouring elements that a thread moves at once
  std::int64_t threads = 128;  // per block; a multiple of the owners
  Residency residency = Residency::kNone;
  bool online = false;      // maximum and sum of exponentials in one pass
  std::int64_t splits = 1;  // blocks that share a reduction of a row; a second step joins them
};

Program LowerCudaRows(const RowPattern& pattern, const RowSchedule& schedule);

// Elements of each fetched load that one thread holds.
std::int64_t FetchedElements(const RowPattern& pattern, const RowLoad& load,
                             const RowSchedule& schedule);

}  // namespace kindred::internal
