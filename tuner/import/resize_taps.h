// Where the elements of a resized dimension come from: the sampling rules of ONNX's Resize and
// Upsample, worked out ahead of time for one dimension.
//
// Element i of the result is sum[t] weight[i,t] * x[index[i,t]]. Coordinates are computed in f32,
// as runtimes do: in f64 some lie on the other side of a rounding boundary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

struct ResizeRule {
  enum class Mode : std::uint8_t { kNearest, kLinear, kCubic };
  Mode mode = Mode::kNearest;
  // coordinate_transformation_mode; rounding: nearest_mode, or "simple" (operator sets up to 10:
  // down where the dimension grows, up where it shrinks).
  std::string coordinates, rounding;
  float cubic = -0.75F;          // cubic_coeff_a
  bool exclude_outside = false;  // places outside get no weight, instead of the border's element
  bool antialias = false;        // the filter widens where the dimension shrinks

  bool Crops() const { return coordinates == "tf_crop_and_resize"; }
};

struct ResizedAxis {
  std::int64_t in = 1, out = 1;
  float scale = 1;   // as given; need not be out / in
  float length = 1;  // of the result before it was rounded to `out`
  // Of tf_crop_and_resize.
  float roi_begin = 0, roi_end = 1;
};

struct ResizeTaps {
  std::int64_t out = 0, taps = 1;
  std::vector<std::int64_t> index;  // [out, taps], inside the input
  std::vector<double> weight;       // [out, taps], values of f32; empty: all 1, and taps is 1
  // Elements in [first_inside, end_inside) lie over the input; the others of a rule that crops are
  // the extrapolation value.
  std::int64_t first_inside = 0, end_inside = 0;
};

// Error (kUnsupported): coordinates or a rounding that are not known.
Result<ResizeTaps> SampleAxis(const ResizeRule& rule, const ResizedAxis& axis);

}  // namespace kindred
