// A workload that computes a grid of another one's output elements, for workloads whose full
// reference would take too long.
//
// Dimensions of outputs (and of temporaries that are read with plain axes only) are restricted to
// some of their indices: axis i becomes I[i], with I a new index input after the tensors of the
// original. Example:
//   T[m,n] = sum[k](X[m,k] * W[k,n])   ->   T[m,n] = sum[k](X[I0[m],k] * W[k,I1[n]])
// A dimension that some reader walks differently (a reduction over it, an offset, an indirect
// index) is kept whole, so every element computed is exactly the original's.
//
// The positions hold the edges, and between them one index per stratum such that every residue
// modulo 64 is met where there are 64 strata: an error at any fixed place of a tile shows.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/workload.h"

namespace kindred {

struct SampledWorkload {
  Workload workload;
  struct IndexInput {
    int tensor = -1;  // id in `workload`
    std::vector<std::int64_t> positions;
  };
  std::vector<IndexInput> index_inputs;
  // Per output of the original, in the order of its arguments, per dimension: the positions
  // computed; empty: all.
  std::vector<std::vector<std::vector<std::int64_t>>> positions;
};

// Restricts dimensions, the longest first, until Flop() is at most `flop_limit` and all stages
// together compute at most `element_limit` elements, or nothing is left to restrict. A workload
// within the limits, or with symbolic extents, comes back as it is.
SampledWorkload SampleOutputs(const Workload& workload, std::int64_t flop_limit,
                              std::int64_t element_limit);

// `count` of the indices of an axis of `extent`, ascending; all of them where count >= extent.
std::vector<std::int64_t> SamplePositions(std::int64_t extent, std::int64_t count);

}  // namespace kindred
