// A workload at many values of one extent: what a sweep of widths goes over.
//
// A name means, in this order:
//   1. a symbolic extent that the text declares: its declaration goes, the value stands in its
//   place;
//   2. an extent that the text writes as NAME=NUMBER in brackets (`f32[co=64,3]`, `Y[n,o,y=28]`):
//      the number is replaced, wherever it is written so;
//   3. an axis of a stage (`o` of `T[m,o] = ...`): its extent, and every axis and dimension that
//   has
//      the same extent and is tied to it by plain indices.
// Other numbers of the text stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/workload.h"

namespace kindred {

struct Sweep {
  std::string name;
  std::vector<std::int64_t> values;  // ascending, distinct, at least 1
};

// "co=16..512:16" (both ends included), "co=16..20" or "co=8,16,100". Error (kBadInput): something
// else, or more than 4096 values.
Result<Sweep> ParseSweep(std::string_view text);

// The workload of `text` with the extent `name` at `value`. `file` is only for messages. Errors:
// those of the text; a name that it does not have (lists those there are); a name of several axes
// whose extents differ; a value outside a symbol's range, or with which an index leaves its tensor.
Result<Workload> AtExtent(const std::string& text, const std::string& file, const std::string& name,
                          std::int64_t value);

}  // namespace kindred
