// Cholesky factors of symmetric matrices in f32, a row at a time or as a whole, and solutions with
// many right-hand sides.
//
// Each element is computed by the same operations in the same order whatever vectors the processor
// has, and whether its row was appended or factored with the others. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kindred::internal {

inline constexpr std::size_t kLanes = 16;     // arrays are padded to this many floats
inline constexpr std::size_t kSideRows = 16;  // right-hand sides solved together

inline std::size_t Padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// products[i] = the product over `lists`, at least one, of list[i], for i < n, a multiple of
// kLanes.
void ElementProducts(std::span<const float* const> lists, std::size_t n, float* products);
// Row i of `values` (kSideRows floats each) *= row which[i] of `factors`, for all i.
void MultiplyRows(float* values, const float* factors, std::span<const std::uint16_t> which);

class Cholesky {
 public:
  std::size_t size() const { return size_; }

  // The factor of the n x n matrix whose column j is written by fill(j, first, column): its rows
  // from `first`, a multiple of kLanes not above j, to n; what is there beyond counts for nothing.
  // False, and a size of 0: not positive definite.
  template <typename Fill>
  bool Factor(std::size_t n, Fill fill) {
    Reserve(n);
    size_ = 0;
    for (std::size_t j = 0; j < n; ++j) fill(j, j / kLanes * kLanes, Column(j));
    if (!FactorInPlace(n)) return false;
    size_ = n;
    return true;
  }
  // One more row of the matrix: `row` holds size() elements, padded, and is overwritten. False: not
  // positive definite; nothing is changed then.
  bool Append(std::span<float> row, float diagonal);
  // The first n rows.
  void Truncate(std::size_t n) { size_ = n; }

  // factor \ values, both of size() padded. Returns the sum of its squares.
  double Solve(std::span<const float> values, std::span<float> solved) const;
  double LogDeterminant() const;  // of the matrix

  // In place, factor \ sides: size() rows of kSideRows floats, one right-hand side per column. Adds
  // to `along` the products with `vector`, to `squares` the sums of squares, by side.
  void SolveSides(float* sides, const float* vector, float* along, float* squares) const;

 private:
  float* Column(std::size_t j) { return data_.data() + j * stride_; }
  const float* Column(std::size_t j) const { return data_.data() + j * stride_; }
  void Reserve(std::size_t n);
  bool FactorInPlace(std::size_t n);

  std::size_t size_ = 0, stride_ = 0;
  std::vector<float> data_;  // by columns; above the diagonal zeros, at least up to kLanes
};

}  // namespace kindred::internal
