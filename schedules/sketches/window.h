// Sliding windows without a shared channel: depthwise convolution, pooling, local response sums.
//
//   out[..., row, x] = combine over k of data[..., row and x moved by k] (* weight[k, ...] |
//   squared)
//
// The innermost output axis x is the vector axis; `row` is the output axis outside it. Windows
// along y and x of an image (NCHW), along the channels (local response), or channels as vectors
// (NHWC) are one case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/sketches/contraction_pattern.h"
#include "schedules/sketches/contraction_plan.h"

namespace kindred {

struct WindowPattern {
  PointwiseChain chain;
  Combiner combiner = Combiner::kSum;
  DataType accumulator = DataType::kF32;
  OperandAccess data;
  std::optional<OperandAccess> weight;
  bool squared = false;
  std::vector<std::int64_t> extents;  // of the anchor's axes
  int spatial = 0;
  int x = -1;
  int row = -1;            // -1: one row
  std::vector<int> outer;  // spatial axes along which nothing slides, outside everything
  std::vector<int> inner;  // other spatial axes over which a copy of the data extends
  std::vector<int> k;      // reduction axes

  std::int64_t Extent(int axis) const {
    return axis < 0 ? 1 : extents[static_cast<std::size_t>(axis)];
  }
  std::int64_t Window() const;  // points of one window
  // Values of the reduction axes at every point of the window, in order.
  std::vector<std::vector<std::int64_t>> Points() const;
};

std::optional<WindowPattern> MatchWindow(const Workload& workload);

struct WindowPlan {
  bool copied = true;       // data goes through a padded copy
  std::int64_t blocks = 1;  // of the outermost sliding axis, each copied at once
  std::int64_t rows = 1, vectors = 1, lanes = 1;  // register tile
  bool written_out = true;  // the window's points are written out, each input vector loaded once
  bool rows_inner = true;   // tiles of rows inside those of x
  std::string compiler = "gcc";
  std::vector<std::string> flags;
};

WindowPlan DecideWindow(const WindowPattern& pattern, const Target& target, Chooser& chooser);

Program LowerWindow(const Workload& workload, const WindowPattern& pattern, const WindowPlan& plan,
                    const Target& target);

// The axis whose blocks are copied one at a time: the outermost of `inner` and `row`; -1: none.
int BlockAxis(const WindowPattern& pattern);

}  // namespace kindred
