#include "schedules/kernel.h"

#include <cstddef>

namespace kindred {
namespace {

std::int64_t Evaluate(const Expr& e, std::span<const std::int64_t> extents) {
  const auto floor_div = [](std::int64_t a, std::int64_t b) {
    const std::int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  };
  if (e.op == Op::kInt) return e.integer;
  if (e.op == Op::kExtent) return extents[static_cast<std::size_t>(e.index)];
  if (e.op == Op::kNeg) return -Evaluate(*e.args[0], extents);
  const std::int64_t a = Evaluate(*e.args[0], extents), b = Evaluate(*e.args[1], extents);
  switch (e.op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    case Op::kMin: return a < b ? a : b;
    case Op::kMax: return a < b ? b : a;
    case Op::kDiv: return floor_div(a, b);
    default: return a - floor_div(a, b) * b;  // kMod
  }
}

}  // namespace

std::array<std::int64_t, 3> GridOf(const KernelStep& step, std::span<const std::int64_t> extents) {
  std::array<std::int64_t, 3> grid = {};
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = Evaluate(*step.grid[i], extents);
  return grid;
}

}  // namespace kindred
