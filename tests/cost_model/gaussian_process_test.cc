// What is predicted does not depend on whether rows came one by one or at once, and is what was
// measured where it was.
#include "cost_model/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kindred {
namespace {

// A grid of three columns: row (a * 6 + b) * 3 + c.
std::vector<GpColumn> Grid() {
  std::vector<GpColumn> columns(3);
  for (int level = 0; level < 8; ++level)
    columns[0].positions.push_back(static_cast<float>(level) / 7);
  for (int level = 0; level < 6; ++level)
    columns[1].positions.push_back(static_cast<float>(level) / 5);
  columns[2].positions = {0, 0.5f, 1};
  columns[2].unordered = true;
  for (std::uint16_t row = 0; row < 144; ++row) {
    columns[0].levels.push_back(row / 18);
    columns[1].levels.push_back(row / 3 % 6);
    columns[2].levels.push_back(row % 3);
  }
  return columns;
}

double Value(std::size_t row) {
  const double a = static_cast<double>(row / 18), b = static_cast<double>(row / 3 % 6);
  return 5 + 0.1 * (a - 5) * (a - 5) + 0.3 * std::fabs(b - 2) + (row % 3 == 1 ? 0.5 : 0);
}

std::vector<std::size_t> Spread(std::size_t count) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(i * 55 % 144);
  return rows;
}

std::vector<double> Values(std::span<const std::size_t> rows) {
  std::vector<double> values;
  for (const std::size_t row : rows) values.push_back(Value(row));
  return values;
}

TEST(GaussianProcess, RowsThatComeLaterAreAsIfTheyHadAlwaysBeenThere) {
  const auto columns = Grid();
  GaussianProcess grown(columns, 2, 7), whole(columns, 2, 7);
  const auto rows = Spread(60);
  for (std::size_t n = 1; n <= rows.size(); ++n) {
    const auto some = std::span(rows).first(n);
    grown.Fit(some, Values(some), 0);
  }
  // As when an expected value at the end makes way for others.
  std::vector<std::size_t> other(rows.begin(), rows.end() - 1);
  other.push_back(143);
  grown.Fit(other, Values(other), 0);
  grown.Fit(rows, Values(rows), 0);
  whole.Fit(rows, Values(rows), 0);
  const auto all = Spread(144);
  const auto a = grown.Predict(all), b = whole.Predict(all);
  for (std::size_t chain = 0; chain < a.size(); ++chain)
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(a[chain][i].mean, b[chain][i].mean) << i;
      EXPECT_EQ(a[chain][i].sigma, b[chain][i].sigma) << i;
    }
}

TEST(GaussianProcess, KnowsWhatItWasShownAndItsErrorsElsewhere) {
  const auto columns = Grid();
  GaussianProcess process(columns, 3, 1);
  const auto rows = Spread(70);
  process.Fit(rows, Values(rows), 2e7);
  const auto known = process.Predict(rows);
  for (const auto& chain : known)
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_NEAR(static_cast<double>(chain[i].mean), Value(rows[i]), 0.1) << rows[i];
  const auto all = Spread(144);
  const auto unknown = std::span(all).subspan(70);
  double squares = 0, outside = 0;
  const auto beliefs = process.Predict(unknown);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    const double error = static_cast<double>(beliefs[0][i].mean) - Value(unknown[i]);
    squares += error * error / static_cast<double>(unknown.size());
    if (std::fabs(error) > 3 * static_cast<double>(beliefs[0][i].sigma)) ++outside;
  }
  EXPECT_LT(std::sqrt(squares), 0.15);
  EXPECT_LT(outside, 5);
}

}  // namespace
}  // namespace kindred
