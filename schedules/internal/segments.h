// Segments: cutting a stage's axes where its conditions change, so that loops over each part have
// no branches. Concatenation and padding become a copy per part.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/internal/lower_common.h"

namespace kindred::internal {

// A part of a stage: axis a runs from begin[a], and `stage` (axes shortened, its variables counting
// from there) computes it. The body has no kPadded.
struct Segment {
  std::vector<std::int64_t> begin;
  Stage stage;
};

// At most `limit` parts; axes are cut from the last one on, as far as that allows. Symbolic axes
// are never cut. Without conditions to cut at: one part, the whole stage.
std::vector<Segment> CutStage(const Workload& workload, const Stage& stage, std::size_t limit);

// Replaces comparisons that the ranges decide, and the selects that follow from them.
ExprPtr SimplifyWithin(const ExprPtr& e, const RangeOf& range);

}  // namespace kindred::internal
