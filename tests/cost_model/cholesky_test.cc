// Factors and solutions against the textbook's formulas in f64; appended rows against whole ones.
#include "cost_model/internal/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>

#include "schedules/base/seed.h"

namespace kindred::internal {
namespace {

// A covariance of points on a line: element (i, j).
std::vector<std::vector<float>> Covariance(std::size_t n) {
  Random random(n);
  std::vector<double> at;
  for (std::size_t i = 0; i < n; ++i) at.push_back(3 * random.Uniform());
  std::vector<std::vector<float>> matrix(n, std::vector<float>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      matrix[i][j] = static_cast<float>(std::exp(-std::fabs(at[i] - at[j])) + (i == j ? 0.01 : 0));
  return matrix;
}

bool FactorOf(const std::vector<std::vector<float>>& matrix, Cholesky& factor) {
  const std::size_t n = matrix.size();
  return factor.Factor(n, [&](std::size_t j, std::size_t first, float* column) {
    for (std::size_t i = first; i < n; ++i) column[i] = matrix[i][j];
  });
}

class CholeskyOfSize : public testing::TestWithParam<std::size_t> {};

TEST_P(CholeskyOfSize, SolvesAsTheFormulasDo) {
  const std::size_t n = GetParam();
  const auto matrix = Covariance(n);
  Cholesky factor;
  ASSERT_TRUE(FactorOf(matrix, factor));
  ASSERT_EQ(factor.size(), n);

  std::vector<std::vector<double>> exact(n, std::vector<double>(n, 0));
  double log_determinant = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = static_cast<double>(matrix[i][j]);
      for (std::size_t k = 0; k < j; ++k) rest -= exact[i][k] * exact[j][k];
      exact[i][j] = i == j ? std::sqrt(rest) : rest / exact[j][j];
      if (i == j) log_determinant += 2 * std::log(exact[i][i]);
    }
  EXPECT_NEAR(factor.LogDeterminant(), log_determinant, 1e-3 * static_cast<double>(n));

  std::vector<float> values(Padded(n), 0), solved(Padded(n));
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 7) - 3;
  double squares = 0;
  std::vector<double> solution(n);
  for (std::size_t i = 0; i < n; ++i) {
    double rest = static_cast<double>(values[i]);
    for (std::size_t k = 0; k < i; ++k) rest -= exact[i][k] * solution[k];
    solution[i] = rest / exact[i][i];
    squares += solution[i] * solution[i];
  }
  EXPECT_NEAR(factor.Solve(values, solved) / squares, 1, 1e-3);
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_NEAR(static_cast<double>(solved[i]), solution[i], 2e-2) << i;

  std::vector<float> sides(n * kSideRows, 0);
  for (std::size_t i = 0; i < n; ++i) sides[i * kSideRows + 5] = values[i];
  float along[kSideRows] = {}, sums[kSideRows] = {};
  factor.SolveSides(sides.data(), solved.data(), along, sums);
  for (std::size_t i = 0; i < n; ++i) EXPECT_FLOAT_EQ(sides[i * kSideRows + 5], solved[i]) << i;
  EXPECT_NEAR(static_cast<double>(sums[5]) / squares, 1, 1e-3);
  EXPECT_NEAR(static_cast<double>(along[5]) / squares, 1, 1e-3);
  EXPECT_EQ(sums[4], 0);
}

TEST_P(CholeskyOfSize, AnAppendedRowIsTheSameAsAFactoredOne) {
  const std::size_t n = GetParam();
  const auto matrix = Covariance(n);
  Cholesky whole, grown;
  ASSERT_TRUE(FactorOf(matrix, whole));
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<float> row(matrix[i].begin(), matrix[i].begin() + static_cast<std::ptrdiff_t>(i));
    row.resize(Padded(i), 99);
    ASSERT_TRUE(grown.Append(row, matrix[i][i]));
  }
  std::vector<float> values(Padded(n), 1), a(Padded(n)), b(Padded(n));
  EXPECT_EQ(whole.Solve(values, a), grown.Solve(values, b));
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(a[i], b[i]) << i;
  EXPECT_EQ(whole.LogDeterminant(), grown.LogDeterminant());
}

INSTANTIATE_TEST_SUITE_P(Sizes, CholeskyOfSize, testing::Values(1, 3, 15, 16, 17, 33, 50, 130));

TEST(Cholesky, SaysWhatIsNotPositiveDefinite) {
  Cholesky factor;
  EXPECT_FALSE(FactorOf({{1, 2}, {2, 1}}, factor));
  EXPECT_EQ(factor.size(), 0u);
  ASSERT_TRUE(FactorOf({{4}}, factor));
  std::vector<float> row(kLanes, 0);
  row[0] = 4;
  EXPECT_FALSE(factor.Append(row, 3));
  EXPECT_EQ(factor.size(), 1u);
  row.assign(kLanes, 0);
  row[0] = 2;
  EXPECT_TRUE(factor.Append(row, 3));
  EXPECT_NEAR(factor.LogDeterminant(), std::log(8.0), 1e-6);
}

}  // namespace
}  // namespace kindred::internal
