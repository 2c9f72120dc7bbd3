#include "cost_model/internal/cholesky.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// Loops over vectors are compiled three times, for what processors have; sums are never contracted
// (this file is compiled so), so that all three compute the same.
#if defined(__x86_64__)
#define KINDRED_FOR_VECTORS(function)                                                        \
  __attribute__((target("avx512f,avx512vl,prefer-vector-width=512"))) void function##Avx512( \
      const Work& work) {                                                                    \
    function(work);                                                                          \
  }                                                                                          \
  __attribute__((target("avx2"))) void function##Avx2(const Work& work) { function(work); }  \
  void function##Any(const Work& work) { function(work); }                                   \
  void Run##function(const Work& work) {                                                     \
    if (kLevel == 2) {                                                                       \
      function##Avx512(work);                                                                \
    } else if (kLevel == 1) {                                                                \
      function##Avx2(work);                                                                  \
    } else {                                                                                 \
      function##Any(work);                                                                   \
    }                                                                                        \
  }
#else
#define KINDRED_FOR_VECTORS(function) \
  void Run##function(const Work& work) { function(work); }
#endif

namespace kindred::internal {
namespace {

// Any alignment; elements are floats.
typedef float Lanes __attribute__((vector_size(64), aligned(4), may_alias));
static_assert(sizeof(Lanes) == kLanes * sizeof(float));

[[maybe_unused]] const int kLevel = [] {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return 2;
  if (__builtin_cpu_supports("avx2")) return 1;
#endif
  return 0;
}();

#define KINDRED_INLINE __attribute__((always_inline)) inline

// What the loops are given; each uses some of it.
struct Work {
  float* data = nullptr;
  std::size_t stride = 0, n = 0;
  const float* factors = nullptr;
  float *sides = nullptr, *along = nullptr, *squares = nullptr;
  const float* const* lists = nullptr;
  std::size_t count = 0;
  const std::uint16_t* which = nullptr;
  bool* done = nullptr;
};

KINDRED_INLINE void Products(const Work& work) {
  for (std::size_t i = 0; i < work.n; i += kLanes) {
    Lanes product = *reinterpret_cast<const Lanes*>(work.lists[0] + i);
    for (std::size_t k = 1; k < work.count; ++k)
      product *= *reinterpret_cast<const Lanes*>(work.lists[k] + i);
    *reinterpret_cast<Lanes*>(work.sides + i) = product;
  }
}

KINDRED_INLINE void MultiplyEachRow(const Work& work) {
  for (std::size_t i = 0; i < work.n; ++i)
    *reinterpret_cast<Lanes*>(work.sides + i * kSideRows) *=
        *reinterpret_cast<const Lanes*>(work.factors + work.which[i] * kSideRows);
}

// Column by column; each takes what the columns before it leave.
KINDRED_INLINE void FactorColumns(const Work& work) {
  *work.done = false;
  for (std::size_t j = 0; j < work.n; ++j) {
    float* const column = work.data + j * work.stride;
    const std::size_t first = j / kLanes * kLanes;
    for (std::size_t r = first; r < work.n; r += 2 * kLanes) {
      const bool two = r + kLanes < work.n;
      Lanes a = *reinterpret_cast<const Lanes*>(column + r), b = {};
      if (two) b = *reinterpret_cast<const Lanes*>(column + r + kLanes);
      const float* other = work.data;
      if (two) {
        for (std::size_t k = 0; k < j; ++k, other += work.stride) {
          a -= other[j] * *reinterpret_cast<const Lanes*>(other + r);
          b -= other[j] * *reinterpret_cast<const Lanes*>(other + r + kLanes);
        }
        *reinterpret_cast<Lanes*>(column + r + kLanes) = b;
      } else {
        for (std::size_t k = 0; k < j; ++k, other += work.stride)
          a -= other[j] * *reinterpret_cast<const Lanes*>(other + r);
      }
      *reinterpret_cast<Lanes*>(column + r) = a;
    }
    const float rest = column[j];
    if (!(rest > 1e-7f)) return;
    const float diagonal = std::sqrt(rest), scale = 1 / diagonal;
    for (std::size_t r = first; r < work.n; r += kLanes)
      *reinterpret_cast<Lanes*>(column + r) *= scale;
    for (std::size_t r = first; r < j; ++r) column[r] = 0;
    column[j] = diagonal;
  }
  *work.done = true;
}

// In place, factor \ sides[0]: one right-hand side of work.n elements, padded.
KINDRED_INLINE void SolveOne(const Work& work) {
  float* const x = work.sides;
  for (std::size_t j = 0; j < work.n; ++j) {
    const float* const column = work.data + j * work.stride;
    const float value = x[j] * (1 / column[j]);
    for (std::size_t r = j / kLanes * kLanes; r < work.n; r += kLanes)
      *reinterpret_cast<Lanes*>(x + r) -= value * *reinterpret_cast<const Lanes*>(column + r);
    x[j] = value;
  }
}

constexpr std::size_t kRows = 4;  // of the factor, taken together

KINDRED_INLINE void SolveMany(const Work& work) {
  Lanes along = {}, squares = {};
  for (std::size_t i = 0; i < work.n; i += kRows) {
    const std::size_t rows = std::min(kRows, work.n - i);
    Lanes sums[kRows];
    float* const mine = work.sides + i * kSideRows;
    for (std::size_t q = 0; q < rows; ++q)
      sums[q] = *reinterpret_cast<const Lanes*>(mine + q * kSideRows);
    const float* weights = work.data + i;
    if (rows == kRows) {
      for (std::size_t j = 0; j < i; ++j, weights += work.stride) {
        const Lanes side = *reinterpret_cast<const Lanes*>(work.sides + j * kSideRows);
        for (std::size_t q = 0; q < kRows; ++q) sums[q] -= weights[q] * side;
      }
    } else {
      for (std::size_t j = 0; j < i; ++j, weights += work.stride)
        for (std::size_t q = 0; q < rows; ++q)
          sums[q] -= weights[q] * *reinterpret_cast<const Lanes*>(work.sides + j * kSideRows);
    }
    for (std::size_t q = 0; q < rows; ++q) {
      const float* const column = work.data + (i + q) * work.stride + i;
      sums[q] *= 1 / column[q];
      for (std::size_t later = q + 1; later < rows; ++later) sums[later] -= column[later] * sums[q];
      *reinterpret_cast<Lanes*>(mine + q * kSideRows) = sums[q];
      along += work.factors[i + q] * sums[q];
      squares += sums[q] * sums[q];
    }
  }
  *reinterpret_cast<Lanes*>(work.along) += along;
  *reinterpret_cast<Lanes*>(work.squares) += squares;
}

KINDRED_FOR_VECTORS(Products)
KINDRED_FOR_VECTORS(MultiplyEachRow)
KINDRED_FOR_VECTORS(FactorColumns)
KINDRED_FOR_VECTORS(SolveOne)
KINDRED_FOR_VECTORS(SolveMany)

}  // namespace

static_assert(kSideRows == kLanes);

void ElementProducts(std::span<const float* const> lists, std::size_t n, float* products) {
  Work work;
  work.lists = lists.data();
  work.count = lists.size();
  work.sides = products;
  work.n = n;
  RunProducts(work);
}

void MultiplyRows(float* values, const float* factors, std::span<const std::uint16_t> which) {
  Work work;
  work.sides = values;
  work.factors = factors;
  work.which = which.data();
  work.n = which.size();
  RunMultiplyEachRow(work);
}

void Cholesky::Reserve(std::size_t n) {
  if (Padded(n) <= stride_) return;
  const std::size_t stride = Padded(n + n / 2);
  std::vector<float> data(stride * stride, 0.0f);
  for (std::size_t j = 0; j < size_; ++j)
    std::memcpy(&data[j * stride], Column(j), size_ * sizeof(float));
  data_ = std::move(data);
  stride_ = stride;
}

bool Cholesky::FactorInPlace(std::size_t n) {
  bool done = false;
  Work work;
  work.data = data_.data();
  work.stride = stride_;
  work.n = n;
  work.done = &done;
  RunFactorColumns(work);
  return done;
}

bool Cholesky::Append(std::span<float> row, float diagonal) {
  Reserve(size_ + 1);
  // What lies behind the last row would be solved along.
  for (std::size_t i = size_; i < row.size(); ++i) row[i] = 0;
  Work work;
  work.data = data_.data();
  work.stride = stride_;
  work.n = size_;
  work.sides = row.data();
  RunSolveOne(work);
  float rest = diagonal;
  for (std::size_t j = 0; j < size_; ++j) rest -= row[j] * row[j];
  if (!(rest > 1e-7f)) return false;
  for (std::size_t j = 0; j < size_; ++j) Column(j)[size_] = row[j];
  float* const column = Column(size_);
  std::fill(column + size_ / kLanes * kLanes, column + size_, 0.0f);
  column[size_] = std::sqrt(rest);
  ++size_;
  return true;
}

double Cholesky::Solve(std::span<const float> values, std::span<float> solved) const {
  std::copy(values.begin(), values.end(), solved.begin());
  Work work;
  work.data = const_cast<float*>(data_.data());
  work.stride = stride_;
  work.n = size_;
  work.sides = solved.data();
  RunSolveOne(work);
  double squares = 0;
  for (std::size_t i = 0; i < size_; ++i)
    squares += static_cast<double>(solved[i]) * static_cast<double>(solved[i]);
  return squares;
}

double Cholesky::LogDeterminant() const {
  double sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += 2 * std::log(static_cast<double>(Column(i)[i]));
  return sum;
}

void Cholesky::SolveSides(float* sides, const float* vector, float* along, float* squares) const {
  Work work;
  work.data = const_cast<float*>(data_.data());
  work.stride = stride_;
  work.n = size_;
  work.sides = sides;
  work.factors = vector;
  work.along = along;
  work.squares = squares;
  RunSolveMany(work);
}

}  // namespace kindred::internal
