#include "cost_model/configuration_columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>

namespace kindred {
namespace {

constexpr int kMostTwos = 6;
constexpr std::size_t kMostLevels = 4096;  // of a product: a table of its square is kept

// "block_size" of "block_size_x"; empty: no part to share.
std::string Stem(const std::string& name) {
  const std::size_t cut = name.rfind('_');
  return cut == std::string::npos ? "" : name.substr(0, cut);
}

// Appends a column of one number per configuration, unless they are all alike.
void Append(const std::vector<double>& by_row, std::vector<GpColumn>& columns) {
  std::vector<double> levels = by_row;
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  if (levels.size() < 2 || levels.size() > kMostLevels) return;
  GpColumn& column = columns.emplace_back();
  const double low = levels.front(), range = levels.back() - low;
  for (const double level : levels)
    column.positions.push_back(static_cast<float>((level - low) / range));
  column.levels.reserve(by_row.size());
  for (const double value : by_row)
    column.levels.push_back(static_cast<std::uint16_t>(
        std::lower_bound(levels.begin(), levels.end(), value) - levels.begin()));
}

// One number per configuration from one per value of a parameter.
std::vector<double> ByRow(const ParameterSpace& space, std::size_t parameter,
                          const std::vector<double>& of_value) {
  std::vector<double> numbers;
  numbers.reserve(space.size());
  for (std::size_t i = 0; i < space.size(); ++i)
    numbers.push_back(of_value[space.Configuration(i)[parameter]]);
  return numbers;
}

void AppendTwos(const ParameterSpace& space, std::size_t parameter,
                std::vector<GpColumn>& columns) {
  const auto& values = space.parameters()[parameter].values;
  bool powers = true;
  std::vector<double> twos;
  for (const Value& value : values) {
    if (!value.IsInteger()) return;
    const auto number = static_cast<std::uint64_t>(value.Integer());
    powers = powers && std::has_single_bit(number);
    twos.push_back(std::min(kMostTwos, std::countr_zero(number)));
  }
  if (!powers) Append(ByRow(space, parameter, twos), columns);
}

}  // namespace

std::vector<GpColumn> ConfigurationColumns(const ParameterSpace& space) {
  std::vector<GpColumn> columns;
  std::map<std::string, std::vector<std::vector<double>>> alike;  // logarithms, by common name
  const auto& parameters = space.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto& values = parameters[p].values;
    if (values.size() < 2) continue;
    const bool numbers =
        std::all_of(values.begin(), values.end(), [](const Value& v) { return v.IsNumber(); });
    const bool positive = numbers && std::all_of(values.begin(), values.end(),
                                                 [](const Value& v) { return v.Number() > 0; });
    std::vector<double> of_value;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double number = numbers ? values[i].Number() : static_cast<double>(i);
      of_value.push_back(positive ? std::log2(number) : number);
    }
    const std::size_t before = columns.size();
    Append(ByRow(space, p, of_value), columns);
    if (columns.size() == before) continue;
    columns.back().unordered = !numbers;
    if (!positive) continue;
    AppendTwos(space, p, columns);
    if (!Stem(parameters[p].name).empty())
      alike[Stem(parameters[p].name)].push_back(ByRow(space, p, of_value));
  }
  for (const auto& [stem, members] : alike) {
    if (members.size() < 2) continue;
    std::vector<double> sums(space.size(), 0);
    // Rounded, so that equal products are one level.
    for (const auto& member : members)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += std::round(member[i] * 256) / 256;
    Append(sums, columns);
  }
  return columns;
}

}  // namespace kindred
