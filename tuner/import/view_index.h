// Index arithmetic of views: the same contiguous memory read in another shape.
#pragma once

#include <optional>
#include <vector>

#include "schedules/workload.h"
#include "tuner/import/constant.h"

namespace kindred {

// Turns an index into `view` (a shape) into the index of the same element in `storage` (a shape
// with as many elements). nullopt where that would need divisions. `extents`: of the stage's axes.
// `padded`: the index may leave the tensor; dimensions that change then must not.
std::optional<std::vector<ExprPtr>> ComposeView(const std::vector<ExprPtr>& index,
                                                const Shape& view, const Shape& storage,
                                                const Shape& extents, bool padded);

// The coarsest shape from which both can be made by merging neighbours; nullopt if there is none.
std::optional<Shape> CommonRefinement(const Shape& a, const Shape& b);

// Row-major flat index of a load as coefficients of the stage's axes (axes of extent 1: 0).
// nullopt: not affine.
std::optional<Affine> FlatIndex(const Expr& load, const Shape& shape, const Shape& extents);

// What FlatIndex gives where element i of the stage's first `spatial` axes reads element i /
// `inner`.
Affine IdentityIndex(const Shape& extents, std::size_t spatial, std::int64_t inner);

}  // namespace kindred
