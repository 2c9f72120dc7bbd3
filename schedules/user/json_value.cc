#include "schedules/user/json_value.h"

#include <nlohmann/json.hpp>

namespace kindred {

std::optional<ParameterValue> ValueFromJson(const nlohmann::ordered_json& json) {
  if (json.is_boolean()) return ParameterValue(json.get<bool>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    return ParameterValue(json.get<double>());
  if (json.is_number_integer()) return ParameterValue(json.get<std::int64_t>());
  if (json.is_number_float()) return ParameterValue(json.get<double>());
  if (json.is_string()) return ParameterValue(json.get<std::string>());
  if (!json.is_array()) return std::nullopt;
  ValueList list;
  for (const auto& element : json) {
    auto value = ValueFromJson(element);
    if (!value) return std::nullopt;
    list.push_back(std::move(*value));
  }
  return ParameterValue(std::move(list));
}

}  // namespace kindred
