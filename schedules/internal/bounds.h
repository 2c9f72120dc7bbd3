// What an index can be, from the ranges of the variables alone: a plain bottom-up walk, for the hot
// paths of lowering and emission (conditions around an expression are the business of
// internal/interval.h). Used to drop guards that always hold, to read without a guard where that is
// safe, and to choose unsigned 32-bit divisions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "schedules/expr.h"

namespace kindred::internal {

struct Bounds {
  std::int64_t low = 0, high = 0;  // inclusive
};

// Range of variable or (extent = true) symbolic extent `index`; nullopt: unknown.
using RangeOf = std::function<std::optional<Bounds>(int index, bool extent)>;

// nullopt where nothing is known (loads, overflow, an unknown variable).
std::optional<Bounds> BoundsOf(const Expr& e, const RangeOf& range);

// Whether a condition always (true) or never (false) holds; nullopt: it depends.
std::optional<bool> Decide(const Expr& condition, const RangeOf& range);

}  // namespace kindred::internal
