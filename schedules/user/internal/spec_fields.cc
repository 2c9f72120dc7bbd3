#include "schedules/user/internal/spec_fields.h"

#include <cmath>

#include <fmt/format.h>

#include "schedules/user/expression.h"

namespace kindred {
namespace {

constexpr double kMostElements = 1e12;

}  // namespace

SpecFields::SpecFields(std::string_view source, std::vector<std::string> names,
                       std::vector<Value> lists)
    : source_(source), names_(std::move(names)), lists_(std::move(lists)) {}

void SpecFields::SetProblemSize(const std::vector<std::int64_t>& sizes) {
  ValueList list;
  for (const std::int64_t size : sizes) list.emplace_back(size);
  names_.emplace_back("ProblemSize");
  lists_.emplace_back(std::move(list));
}

Error SpecFields::Bad(std::string_view what) const {
  return BadInput(fmt::format("{}: {}", source_, what));
}

Error SpecFields::NotSupported(std::string_view what) const {
  return Unsupported(fmt::format("{}: {}", source_, what));
}

Result<std::string> SpecFields::Text(const Json& object, const char* field, bool needed) const {
  if (!object.contains(field)) {
    if (needed) return Bad(fmt::format("KernelSpecification.{} is missing", field));
    return std::string();
  }
  if (!object[field].is_string()) return Bad(fmt::format("{} is no text", field));
  return object[field].get<std::string>();
}

Result<std::vector<std::string>> SpecFields::TextList(const Json& object, const char* field) const {
  std::vector<std::string> list;
  if (!object.contains(field) || object[field].is_null()) return list;
  if (!object[field].is_array()) return Bad(fmt::format("{} is no list of texts", field));
  for (const Json& entry : object[field]) {
    if (!entry.is_string()) return Bad(fmt::format("{} is no list of texts", field));
    list.push_back(entry.get<std::string>());
  }
  return list;
}

Result<double> SpecFields::Number(const Json& value, std::string_view where) const {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return Bad(fmt::format("{} is neither a number nor a text", where));
  const auto expression = Expression::Parse(value.get<std::string>(), names_);
  if (!expression) return Bad(fmt::format("{}: {}", where, expression.error().message));
  const auto result = expression->Evaluate(lists_);
  if (!result)
    return Bad(
        fmt::format("{}: {} (parameters stand for the lists of their values here: write "
                    "max(x))",
                    where, result.error().message));
  if (!result->IsNumber()) return Bad(fmt::format("{} is no number: {}", where, Repr(*result)));
  return result->Number();
}

Result<std::vector<std::int64_t>> SpecFields::Sizes(const Json& value) const {
  std::vector<std::int64_t> sizes;
  for (const Json& size : value.is_array() ? value : Json::array({value})) {
    const auto number = Number(size, "ProblemSize");
    if (!number) return number.error();
    if (!(*number >= 1 && *number <= kMostElements) || *number != std::floor(*number))
      return Bad(fmt::format("ProblemSize has {}, which is no whole number above 0", *number));
    sizes.push_back(static_cast<std::int64_t>(*number));
  }
  if (sizes.empty() || sizes.size() > 3) return Bad("ProblemSize must have one to three numbers");
  return sizes;
}

Result<std::string> SpecFields::Formula(const Json& value, std::string_view where) const {
  const std::string text = value.is_string()           ? value.get<std::string>()
                           : value.is_number_integer() ? value.dump()
                                                       : "";
  if (text.empty()) return Bad(fmt::format("{} is neither a whole number nor a text", where));
  const auto expression = Expression::Parse(text, names_);
  if (!expression) return Bad(fmt::format("{}: {}", where, expression.error().message));
  return text;
}

Result<std::string> SpecFields::Template(const std::string& text, std::string_view where) const {
  const auto parts = TemplateParts(text);
  if (!parts) return Bad(fmt::format("{}: {}", where, parts.error().message));
  for (std::size_t i = 1; i < parts->size(); i += 2)
    if (const auto expression = Expression::Parse((*parts)[i], names_); !expression)
      return Bad(fmt::format("{} '{}': {}", where, text, expression.error().message));
  return text;
}

Result<std::vector<std::string>> TemplateParts(const std::string& text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool inside = parts.size() % 2 == 0;
    const bool twice = i + 1 < text.size() && text[i + 1] == text[i];
    if (!inside && twice && (text[i] == '{' || text[i] == '}')) {
      parts.back() += text[i++];
    } else if (text[i] == (inside ? '}' : '{')) {
      parts.emplace_back();
    } else if (text[i] == (inside ? '{' : '}')) {
      return BadInput(fmt::format("'{}' has a brace too many; write {{{{ or }}}} for one", text));
    } else {
      parts.back() += text[i];
    }
  }
  if (parts.size() % 2 == 0) return BadInput(fmt::format("'{}' lacks a closing brace", text));
  return parts;
}

}  // namespace kindred
