#include "schedules/user/json_value.h"

#include <nlohmann/json.hpp>

namespace kindred {

std::optional<Value> ValueFromJson(const nlohmann::ordered_json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    return Value(json.get<double>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number_float()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  if (!json.is_array()) return std::nullopt;
  ValueList list;
  for (const auto& element : json) {
    auto value = ValueFromJson(element);
    if (!value) return std::nullopt;
    list.push_back(std::move(*value));
  }
  return Value(std::move(list));
}

}  // namespace kindred
