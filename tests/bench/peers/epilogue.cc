// Epilogue loops behind OpenBLAS's products, compiled with -Ofast so that the compiler makes
// vectors of them.
#include "tests/bench/peers/contestant.h"

#include <cmath>

namespace kindred {
namespace {

// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26; absolute error below 1.5e-7.
inline float Erf(float x) {
  const float a = std::fabs(x);
  const float t = 1.0F / (1.0F + 0.3275911F * a);
  const float sum =
      t * (0.254829592F +
           t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
  return std::copysign(1.0F - sum * std::exp(-a * a), x);
}

}  // namespace

void BiasRelu(float* x, const float* bias, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i, x += columns) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float sum = x[j] + bias[j];
      x[j] = sum > 0 ? sum : 0;
    }
  }
}

void BiasGelu(float* x, const float* bias, std::int64_t rows, std::int64_t columns) {
  constexpr float kRootHalf = 0.70710678F;
  for (std::int64_t i = 0; i < rows; ++i, x += columns) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float sum = x[j] + bias[j];
      x[j] = 0.5F * sum * (1.0F + Erf(sum * kRootHalf));
    }
  }
}

}  // namespace kindred
