#include "schedules/user/parameter_space.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "schedules/user/expression.h"

namespace kindred {
namespace {

Result<void> CheckParameters(std::span<const TunableParameter> parameters) {
  if (parameters.empty()) return BadInput("the space has no parameters");
  std::set<std::string> names;
  for (const TunableParameter& parameter : parameters) {
    if (!names.insert(parameter.name).second)
      return BadInput(fmt::format("the parameter '{}' is there twice", parameter.name));
    if (parameter.values.empty() || parameter.values.size() > 65535)
      return BadInput(fmt::format("the parameter '{}' has {} values; it must have 1 to 65535",
                                  parameter.name, parameter.values.size()));
    for (std::size_t i = 0; i < parameter.values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (Equal(parameter.values[i], parameter.values[j]))
          return BadInput(fmt::format("the parameter '{}' has the value {} twice", parameter.name,
                                      Repr(parameter.values[i])));
  }
  return {};
}

// Goes through the parameters in order and leaves a branch at the first condition that refuses it.
class Enumeration {
 public:
  Enumeration(std::span<const TunableParameter> parameters, std::vector<Expression> conditions)
      : parameters_(parameters),
        conditions_(std::move(conditions)),
        decided_(parameters.size()),
        values_(parameters.size()),
        row_(parameters.size()) {
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const auto& used = conditions_[i].parameters();
      decided_[used.empty() ? 0 : used.back()].push_back(i);
    }
  }

  Result<std::vector<std::uint16_t>> Run() {
    KINDRED_CHECK(Descend(0));
    if (!table_.empty()) return std::move(table_);
    std::string text = "the space is empty: no configuration satisfies the conditions";
    for (const Expression& condition : conditions_)
      text += fmt::format("{} \"{}\"", &condition == conditions_.data() ? "" : " and",
                          condition.text());
    return BadInput(text);
  }

 private:
  Result<bool> Allowed(std::size_t parameter) const {
    for (const std::size_t i : decided_[parameter]) {
      auto holds = conditions_[i].Evaluate(values_);
      if (!holds) {
        std::string text = holds.error().message + "; with";
        for (const std::size_t used : conditions_[i].parameters())
          text += fmt::format(" {}={}", parameters_[used].name, Repr(values_[used]));
        return BadInput(text);
      }
      if (!Truth(*holds)) return false;
    }
    return true;
  }

  Result<void> Descend(std::size_t parameter) {
    if (parameter == parameters_.size()) {
      if (table_.size() / parameters_.size() == ParameterSpace::kMostConfigurations)
        return Unsupported(fmt::format("the space has more than {} configurations; add conditions",
                                       ParameterSpace::kMostConfigurations));
      table_.insert(table_.end(), row_.begin(), row_.end());
      return {};
    }
    for (std::size_t i = 0; i < parameters_[parameter].values.size(); ++i) {
      values_[parameter] = parameters_[parameter].values[i];
      row_[parameter] = static_cast<std::uint16_t>(i);
      KINDRED_TRY(const bool allowed, Allowed(parameter));
      if (allowed) KINDRED_CHECK(Descend(parameter + 1));
    }
    return {};
  }

  std::span<const TunableParameter> parameters_;
  std::vector<Expression> conditions_;
  std::vector<std::vector<std::size_t>> decided_;  // conditions, by their last parameter
  std::vector<Value> values_;
  std::vector<std::uint16_t> row_;
  std::vector<std::uint16_t> table_;
};

std::vector<bool> WhichAreWhole(std::span<const TunableParameter> parameters) {
  std::vector<bool> whole;
  for (const TunableParameter& parameter : parameters)
    whole.push_back(std::all_of(
        parameter.values.begin(), parameter.values.end(),
        [](const Value& value) { return std::holds_alternative<std::int64_t>(value); }));
  return whole;
}

}  // namespace

Result<ParameterSpace> ParameterSpace::Make(std::vector<TunableParameter> parameters,
                                            std::span<const std::string> conditions) {
  KINDRED_CHECK(CheckParameters(parameters));
  std::vector<std::string> names;
  for (const TunableParameter& parameter : parameters) names.push_back(parameter.name);
  std::vector<Expression> parsed;
  for (const std::string& condition : conditions) {
    KINDRED_TRY(Expression expression, Expression::Parse(condition, names));
    parsed.push_back(std::move(expression));
  }
  ParameterSpace space;
  KINDRED_TRY(space.table_, Enumeration(parameters, std::move(parsed)).Run());
  space.whole_ = WhichAreWhole(parameters);
  space.parameters_ = std::move(parameters);
  return space;
}

Result<ParameterSpace> ParameterSpace::Of(std::vector<TunableParameter> parameters,
                                          std::vector<std::vector<std::uint16_t>> configurations) {
  KINDRED_CHECK(CheckParameters(parameters));
  if (configurations.empty()) return BadInput("the space is empty: it has no configuration");
  std::sort(configurations.begin(), configurations.end());
  configurations.erase(std::unique(configurations.begin(), configurations.end()),
                       configurations.end());
  ParameterSpace space;
  for (const auto& row : configurations) {
    if (row.size() != parameters.size())
      return Internal("a configuration has not one value per parameter");
    space.table_.insert(space.table_.end(), row.begin(), row.end());
  }
  space.whole_ = WhichAreWhole(parameters);
  space.parameters_ = std::move(parameters);
  return space;
}

std::optional<std::size_t> ParameterSpace::Find(
    std::span<const std::uint16_t> configuration) const {
  Rows rows{0, size()};
  for (std::size_t i = 0; i < configuration.size(); ++i) rows = Narrow(rows, i, configuration[i]);
  return rows.begin == rows.end ? std::nullopt : std::optional(rows.begin);
}

std::string ParameterSpace::Describe(std::size_t index) const { return PathToJson(PathOf(index)); }

ParameterSpace::Rows ParameterSpace::Narrow(Rows rows, std::size_t parameter,
                                            std::uint16_t value) const {
  const auto first_at_least = [&](std::uint32_t bound) {
    std::size_t low = rows.begin, high = rows.end;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (Configuration(middle)[parameter] < bound)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  return {first_at_least(value), first_at_least(std::uint32_t{value} + 1)};
}

Choice ParameterSpace::ChoiceOf(std::size_t parameter, std::uint16_t value) const {
  const Value& chosen = parameters_[parameter].values[value];
  if (whole_[parameter]) return {parameters_[parameter].name, chosen.Integer(), ""};
  return {parameters_[parameter].name, value, chosen.Text() ? *chosen.Text() : Repr(chosen)};
}

std::optional<std::uint16_t> ParameterSpace::ValueOf(std::size_t parameter,
                                                     const Choice& choice) const {
  const auto& values = parameters_[parameter].values;
  if (!whole_[parameter])
    return choice.value >= 0 && choice.value < static_cast<std::int64_t>(values.size())
               ? std::optional(static_cast<std::uint16_t>(choice.value))
               : std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].Integer() == choice.value) return static_cast<std::uint16_t>(i);
  return std::nullopt;
}

std::optional<ParameterSpace::Rows> ParameterSpace::RowsOf(const Path& path) const {
  Rows rows{0, size()};
  if (path.size() > parameters_.size()) return std::nullopt;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto value = ValueOf(i, path[i]);
    if (path[i].decision != parameters_[i].name || !value) return std::nullopt;
    rows = Narrow(rows, i, *value);
    if (rows.begin == rows.end) return std::nullopt;
  }
  return rows;
}

Path ParameterSpace::PathOf(std::size_t index) const {
  Path path;
  const auto row = Configuration(index);
  for (std::size_t i = 0; i < row.size(); ++i) path.push_back(ChoiceOf(i, row[i]));
  return path;
}

std::optional<std::size_t> ParameterSpace::IndexOf(const Path& path) const {
  const auto rows = RowsOf(path);
  if (path.size() != parameters_.size() || !rows) return std::nullopt;
  return rows->begin;
}

std::optional<Decision> ParameterSpace::Next(const Path& path) const {
  const auto rows = RowsOf(path);
  if (path.size() == parameters_.size() || !rows) return std::nullopt;
  const std::size_t parameter = path.size();
  Decision decision;
  decision.name = parameters_[parameter].name;
  for (std::size_t at = rows->begin; at < rows->end;) {
    const std::uint16_t value = Configuration(at)[parameter];
    const Choice choice = ChoiceOf(parameter, value);
    decision.options.push_back(choice.value);
    if (!choice.label.empty() || !whole_[parameter]) decision.labels.push_back(choice.label);
    at = Narrow({at, rows->end}, parameter, value).end;
  }
  return decision;
}

Result<Candidate> ParameterSpace::Lower(const Path& path) const {
  const auto index = IndexOf(path);
  if (!index) return Internal("a path is no configuration of its space");
  Candidate candidate;
  candidate.path = path;
  candidate.key = HashOf(Describe(*index));
  return candidate;
}

}  // namespace kindred
