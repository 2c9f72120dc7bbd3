#include "tuner/import/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>

#include "tuner/import/constant.h"

namespace kindred {
namespace {

// The place in the input, in elements, that element `i` of the result lies over.
using Coordinate = float (*)(const ResizedAxis& axis, float i);

float HalfPixel(const ResizedAxis& axis, float i) { return (i + 0.5F) / axis.scale - 0.5F; }

float PytorchHalfPixel(const ResizedAxis& axis, float i) {
  return axis.out > 1 ? HalfPixel(axis, i) : 0;
}

float HalfPixelSymmetric(const ResizedAxis& axis, float i) {
  const float adjustment = static_cast<float>(axis.out) / axis.length;
  return static_cast<float>(axis.in) / 2 * (1 - adjustment) + HalfPixel(axis, i);
}

float Asymmetric(const ResizedAxis& axis, float i) { return i / axis.scale; }

float HalfPixelForNearest(const ResizedAxis& axis, float i) { return (i + 0.5F) / axis.scale; }

float AlignCorners(const ResizedAxis& axis, float i) {
  if (axis.out == 1) return 0;
  return i * static_cast<float>(axis.in - 1) / (axis.length - 1);
}

float CropAndResize(const ResizedAxis& axis, float i) {
  const auto last = static_cast<float>(axis.in - 1);
  if (axis.out == 1) return 0.5F * (axis.roi_begin + axis.roi_end) * last;
  return axis.roi_begin * last +
         i * (axis.roi_end - axis.roi_begin) * last / static_cast<float>(axis.out - 1);
}

const std::map<std::string_view, Coordinate> kCoordinates = {
    {"half_pixel", HalfPixel},
    {"pytorch_half_pixel", PytorchHalfPixel},
    {"half_pixel_symmetric", HalfPixelSymmetric},
    {"asymmetric", Asymmetric},
    {"tf_half_pixel_for_nn", HalfPixelForNearest},
    {"align_corners", AlignCorners},
    {"tf_crop_and_resize", CropAndResize}};

using Rounding = float (*)(float x, float scale);

const std::map<std::string_view, Rounding> kRoundings = {
    {"round_prefer_floor", [](float x, float) { return std::ceil(x - 0.5F); }},
    {"round_prefer_ceil", [](float x, float) { return std::floor(x + 0.5F); }},
    {"floor", [](float x, float) { return std::floor(x); }},
    {"ceil", [](float x, float) { return std::ceil(x); }},
    {"simple", [](float x, float scale) { return scale < 1 ? std::ceil(x) : std::floor(x); }}};

// How much an element at distance `x` counts.
float LinearFilter(float x) { return std::max(0.0F, 1 - std::fabs(x)); }

// Keys' cubic convolution.
float CubicFilter(float x, float a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The weights of `taps` elements from `first` on, for the place `x`.
std::vector<float> Weights(const ResizeRule& rule, std::int64_t in, float x, std::int64_t first,
                           std::int64_t taps, float shrink) {
  const bool normalises = rule.antialias || rule.exclude_outside;
  std::vector<float> weights;
  float sum = 0;
  for (std::int64_t t = 0; t < taps; ++t) {
    const std::int64_t at = first + t;
    const float distance = (static_cast<float>(at) - x) * shrink;
    float weight = rule.mode == ResizeRule::Mode::kLinear ? LinearFilter(distance)
                                                          : CubicFilter(distance, rule.cubic);
    if (rule.exclude_outside && (at < 0 || at >= in)) weight = 0;
    weights.push_back(weight);
    sum += weight;
  }
  if (normalises && sum != 0)
    for (float& weight : weights) weight /= sum;
  return weights;
}

// Without the taps that count nothing anywhere.
ResizeTaps DropIdleTaps(const ResizeTaps& all) {
  const auto weight = [&](std::int64_t i, std::int64_t t) {
    return all.weight[static_cast<std::size_t>(i * all.taps + t)];
  };
  std::vector<std::int64_t> kept;
  bool ones = true;
  for (std::int64_t t = 0; t < all.taps; ++t) {
    bool idle = true;
    for (std::int64_t i = 0; i < all.out; ++i) {
      idle = idle && weight(i, t) == 0;
      ones = ones && (weight(i, t) == 0 || weight(i, t) == 1);
    }
    if (!idle) kept.push_back(t);
  }
  ResizeTaps result = all;
  result.taps = static_cast<std::int64_t>(kept.size());
  result.index.clear();
  result.weight.clear();
  for (std::int64_t i = 0; i < all.out; ++i)
    for (const std::int64_t t : kept) {
      result.index.push_back(all.index[static_cast<std::size_t>(i * all.taps + t)]);
      result.weight.push_back(weight(i, t));
    }
  if (result.taps == 1 && ones) result.weight.clear();
  return result;
}

ResizeTaps Filtered(const ResizeRule& rule, const ResizedAxis& axis,
                    const std::vector<float>& coordinates, ResizeTaps taps) {
  const bool linear = rule.mode == ResizeRule::Mode::kLinear;
  const float shrink = rule.antialias ? std::min(axis.scale, 1.0F) : 1.0F;
  const auto reach = static_cast<std::int64_t>(std::ceil((linear ? 1.0F : 2.0F) / shrink));
  taps.taps = 2 * reach;
  const auto last = static_cast<float>(axis.in - 1);
  for (float x : coordinates) {
    // Far outside there is nothing but the border.
    x = std::clamp(x, -last - 4, 2 * last + 4);
    if (linear && !rule.antialias) x = std::clamp(x, 0.0F, last);
    const std::int64_t first = static_cast<std::int64_t>(std::floor(x)) - reach + 1;
    for (const float weight : Weights(rule, axis.in, x, first, taps.taps, shrink))
      taps.weight.push_back(ShortestDecimal(weight));
    for (std::int64_t t = 0; t < taps.taps; ++t)
      taps.index.push_back(std::clamp<std::int64_t>(first + t, 0, axis.in - 1));
  }
  return DropIdleTaps(taps);
}

}  // namespace

Result<ResizeTaps> SampleAxis(const ResizeRule& rule, const ResizedAxis& axis) {
  const auto coordinate = kCoordinates.find(rule.coordinates);
  if (coordinate == kCoordinates.end())
    return Unsupported("coordinate_transformation_mode '" + rule.coordinates + "'");
  const auto rounding = kRoundings.find(rule.rounding);
  if (rounding == kRoundings.end()) return Unsupported("nearest_mode '" + rule.rounding + "'");
  const auto last = static_cast<float>(axis.in - 1);
  ResizeTaps taps;
  taps.out = axis.out;
  std::vector<float> coordinates;
  std::vector<std::int64_t> inside;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    coordinates.push_back(coordinate->second(axis, static_cast<float>(i)));
    if (!rule.Crops() || (coordinates.back() >= 0 && coordinates.back() <= last))
      inside.push_back(i);
  }
  if (!inside.empty()) {
    taps.first_inside = inside.front();
    taps.end_inside = inside.back() + 1;
  }
  if (rule.mode != ResizeRule::Mode::kNearest) return Filtered(rule, axis, coordinates, taps);
  for (const float x : coordinates)
    taps.index.push_back(
        static_cast<std::int64_t>(std::clamp(rounding->second(x, axis.scale), 0.0F, last)));
  return taps;
}

}  // namespace kindred
