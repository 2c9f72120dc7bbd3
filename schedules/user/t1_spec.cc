#include "schedules/user/t1_spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "schedules/user/expression.h"
#include "schedules/user/json_value.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

// "Values" is a list, or the text of an expression that makes one.
Result<TunableParameter> ReadParameter(const json& entry, std::string_view source) {
  if (!entry.is_object() || !entry.contains("Name") || !entry["Name"].is_string() ||
      !entry.contains("Values"))
    return BadInput(fmt::format("{}: each of TuningParameters needs Name and Values", source));
  TunableParameter parameter;
  parameter.name = entry["Name"].get<std::string>();
  Value values;
  if (entry["Values"].is_string()) {
    const auto parsed = Expression::Parse(entry["Values"].get<std::string>(), {});
    auto list = parsed ? parsed->Evaluate({}) : Result<Value>(parsed.error());
    if (!list)
      return BadInput(
          fmt::format("{}: values of '{}': {}", source, parameter.name, list.error().message));
    values = std::move(*list);
  } else if (auto list = ValueFromJson(entry["Values"])) {
    values = std::move(*list);
  }
  if (!values.List())
    return BadInput(fmt::format("{}: values of '{}' are no list", source, parameter.name));
  parameter.values = *values.List();
  return parameter;
}

}  // namespace

Result<T1Space> ParseT1Space(std::string_view text, std::string_view source) {
  const json spec = json::parse(text, nullptr, false);
  if (!spec.is_object()) return BadInput(fmt::format("{}: is not a JSON object", source));
  const auto space = spec.find("ConfigurationSpace");
  if (space == spec.end() || !space->is_object() || !space->contains("TuningParameters") ||
      !(*space)["TuningParameters"].is_array())
    return BadInput(fmt::format(
        "{}: is no T1 description: ConfigurationSpace.TuningParameters is missing", source));
  T1Space result;
  for (const json& entry : (*space)["TuningParameters"]) {
    KINDRED_TRY(TunableParameter parameter, ReadParameter(entry, source));
    result.parameters.push_back(std::move(parameter));
  }
  if (!space->contains("Conditions")) return result;
  for (const json& entry : (*space)["Conditions"]) {
    const json& condition =
        entry.is_object() && entry.contains("Expression") ? entry["Expression"] : entry;
    if (!condition.is_string())
      return BadInput(fmt::format("{}: a condition is no text: {}", source, entry.dump()));
    result.conditions.push_back(condition.get<std::string>());
  }
  return result;
}

}  // namespace kindred
