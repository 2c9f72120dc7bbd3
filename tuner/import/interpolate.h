// Reading between the elements of an image, at places that are computed when the program runs.
//
// A place is split into the element before it and the fraction behind that. What is read is clamped
// into the image; what lies outside counts as zero.
#pragma once

#include <vector>

#include "tuner/import/op_context.h"

namespace kindred {

// A literal of the expression's type.
ExprPtr Real(double value, const ExprPtr& like);
// `x` clamped into [low, high].
ExprPtr Between(const ExprPtr& x, double low, double high);

// An element that is read along one dimension (a whole number), and how much it counts (null: all
// of it).
struct Tap {
  ExprPtr place, weight;
};

// Ties to even.
std::vector<Tap> NearestTap(const ExprPtr& place);
std::vector<Tap> LinearTaps(const ExprPtr& place);
// Keys' cubic convolution with -0.75.
std::vector<Tap> CubicTaps(const ExprPtr& place);

// The weighted sum over all combinations of taps, one list per dimension, of
// image[leading..., places...]; `extents` are of these dimensions. Computed in the accumulator's
// type.
ExprPtr Interpolate(const OpContext& op, int image, const Exprs& leading,
                    const std::vector<std::vector<Tap>>& taps,
                    const std::vector<std::int64_t>& extents);

}  // namespace kindred
