#include "schedules/user/internal/configuration_values.h"

#include <cctype>

#include <fmt/format.h>

#include "schedules/user/expression.h"
#include "schedules/user/internal/spec_fields.h"

namespace kindred {
namespace {

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string PlainText(const Value& value) {
  if (value.Text()) return *value.Text();
  if (value.IsInteger()) return fmt::format("{}", value.Integer());
  return Repr(value);
}

ConfigurationValues::ConfigurationValues(const ParameterSpace& space, std::size_t configuration,
                                         const std::vector<std::int64_t>& problem_size) {
  const auto row = space.Configuration(configuration);
  for (std::size_t i = 0; i < row.size(); ++i) {
    names_.push_back(space.parameters()[i].name);
    values_.push_back(space.parameters()[i].values[row[i]]);
  }
  ValueList sizes;
  for (const std::int64_t size : problem_size) sizes.emplace_back(size);
  names_.emplace_back("ProblemSize");
  values_.emplace_back(std::move(sizes));
}

Result<Value> ConfigurationValues::Evaluate(const std::string& formula,
                                            std::string_view what) const {
  auto expression = Expression::Parse(formula, names_);
  auto value = expression ? expression->Evaluate(values_) : Result<Value>(expression.error());
  if (!value) return BadInput(fmt::format("{} \"{}\": {}", what, formula, value.error().message));
  return value;
}

Result<std::int64_t> ConfigurationValues::Whole(const std::string& formula, std::int64_t least,
                                                std::string_view what) const {
  KINDRED_TRY(const Value value, Evaluate(formula, what));
  if (!value.IsNumber() || value.Number() < static_cast<double>(least) ||
      value.Number() > 2147483647 ||
      value.Number() != static_cast<double>(static_cast<std::int64_t>(value.Number())))
    return BadInput(fmt::format("{} \"{}\" is {}, which is no whole number from {} on", what,
                                formula, Repr(value), least));
  return static_cast<std::int64_t>(value.Number());
}

Result<std::string> ConfigurationValues::Fill(const std::string& text,
                                              std::string_view what) const {
  KINDRED_TRY(const auto parts, TemplateParts(text));
  std::string filled;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i % 2 == 0) {
      filled += parts[i];
      continue;
    }
    KINDRED_TRY(const Value value, Evaluate(parts[i], what));
    filled += PlainText(value);
  }
  return filled;
}

std::string ConfigurationValues::Instantiated(const std::string& name) const {
  if (name.find('<') == std::string::npos) return name;
  std::string out;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && IsWordPart(name[end])) ++end;
    if (end == at) {
      out += name[at++];
      continue;
    }
    std::string word = name.substr(at, end - at);
    for (const auto& [parameter, value] : Parameters())
      if (parameter == word) {
        word = value;
        break;
      }
    out += word;
    at = end;
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> ConfigurationValues::Parameters() const {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (std::size_t i = 0; i + 1 < names_.size(); ++i)
    parameters.emplace_back(names_[i], PlainText(values_[i]));
  return parameters;
}

}  // namespace kindred
