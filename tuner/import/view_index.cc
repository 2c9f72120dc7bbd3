#include "tuner/import/view_index.h"

#include <algorithm>
#include <set>

namespace kindred {
namespace {

std::vector<std::size_t> NonUnit(const Shape& shape, std::size_t first, std::size_t last) {
  std::vector<std::size_t> dims;
  for (std::size_t d = first; d < last; ++d)
    if (shape[d] != 1) dims.push_back(d);
  return dims;
}

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

// Splits a flat affine index over dimensions of the given extents, outermost first.
std::optional<std::vector<ExprPtr>> SplitAffine(Affine flat, const Shape& dims,
                                                const Shape& extents) {
  std::vector<ExprPtr> parts;
  std::int64_t stride = ElementCount(dims);
  for (const std::int64_t extent : dims) {
    stride /= extent;
    Affine part;
    part.coefficients.assign(flat.coefficients.size(), 0);
    std::int64_t low = 0, high = 0;  // of what stays for the inner dimensions
    for (std::size_t a = 0; a < flat.coefficients.size(); ++a) {
      std::int64_t& c = flat.coefficients[a];
      if (c != 0 && c % stride == 0) {
        part.coefficients[a] = c / stride;
        c = 0;
      }
      (c < 0 ? low : high) += c * (extents[a] - 1);
    }
    part.constant = FloorDiv(flat.constant + low, stride);
    flat.constant -= part.constant * stride;
    if (flat.constant + low < 0 || flat.constant + high >= stride) return std::nullopt;
    parts.push_back(FromAffine(part));
  }
  return parts;
}

bool StaysInside(const Expr& index, std::int64_t extent, const Shape& extents) {
  if (index.op == Op::kInt) return index.integer >= 0 && index.integer < extent;
  return index.op == Op::kVar && extents[static_cast<std::size_t>(index.index)] <= extent;
}

}  // namespace

std::optional<std::vector<ExprPtr>> ComposeView(const std::vector<ExprPtr>& index,
                                                const Shape& view, const Shape& storage,
                                                const Shape& extents, bool padded) {
  std::vector<ExprPtr> result(storage.size(), IntExpr(0));
  std::size_t i = 0, j = 0;
  while (i < view.size() || j < storage.size()) {
    const std::size_t first_i = i, first_j = j;
    std::int64_t view_count = i < view.size() ? view[i++] : 1;
    std::int64_t storage_count = j < storage.size() ? storage[j++] : 1;
    while (view_count != storage_count) {
      if (view_count < storage_count) {
        if (i == view.size()) return std::nullopt;
        view_count *= view[i++];
      } else {
        if (j == storage.size()) return std::nullopt;
        storage_count *= storage[j++];
      }
    }
    const auto from = NonUnit(view, first_i, i), to = NonUnit(storage, first_j, j);
    if (from.empty()) continue;
    bool same = from.size() == to.size();
    for (std::size_t d = 0; same && d < from.size(); ++d) same = view[from[d]] == storage[to[d]];
    if (same) {
      for (std::size_t d = 0; d < from.size(); ++d) result[to[d]] = index[from[d]];
      continue;
    }
    ExprPtr flat = IntExpr(0);
    Shape dims;
    for (const std::size_t d : from) {
      if (padded && !StaysInside(*index[d], view[d], extents)) return std::nullopt;
      flat = flat * view[d] + index[d];
    }
    if (to.size() == 1) {
      result[to[0]] = flat;
      continue;
    }
    for (const std::size_t d : to) dims.push_back(storage[d]);
    const auto affine = AsAffine(*flat, static_cast<int>(extents.size()));
    if (!affine) return std::nullopt;
    const auto parts = SplitAffine(*affine, dims, extents);
    if (!parts) return std::nullopt;
    for (std::size_t d = 0; d < to.size(); ++d) result[to[d]] = (*parts)[d];
  }
  return result;
}

std::optional<Shape> CommonRefinement(const Shape& a, const Shape& b) {
  if (ElementCount(a) != ElementCount(b)) return std::nullopt;
  std::set<std::int64_t> strides = {1};  // element counts behind each boundary
  for (const Shape* shape : {&a, &b}) {
    std::int64_t count = 1;
    for (std::size_t d = shape->size(); d-- > 0;) strides.insert(count *= (*shape)[d]);
  }
  Shape refined;
  std::int64_t last = 1;
  for (const std::int64_t stride : strides) {
    if (stride % last != 0) return std::nullopt;
    if (stride != last) refined.insert(refined.begin(), stride / last);
    last = stride;
  }
  return refined;
}

std::optional<Affine> FlatIndex(const Expr& load, const Shape& shape, const Shape& extents) {
  ExprPtr flat = IntExpr(0);
  for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + load.args[d];
  auto affine = AsAffine(*flat, static_cast<int>(extents.size()));
  if (!affine) return std::nullopt;
  for (std::size_t a = 0; a < extents.size(); ++a)
    if (extents[a] == 1) affine->coefficients[a] = 0;
  return affine;
}

Affine IdentityIndex(const Shape& extents, std::size_t spatial, std::int64_t inner) {
  Affine affine;
  affine.coefficients.assign(extents.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t d = spatial; d-- > 0;) {
    if (extents[d] != 1 && stride % inner == 0) affine.coefficients[d] = stride / inner;
    stride *= extents[d];
  }
  return affine;
}

}  // namespace kindred
