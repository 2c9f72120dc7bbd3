// Values as they stand in JSON.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "schedules/user/value.h"

namespace kindred {

// Numbers, truth values, strings and lists of them; nullopt: something else.
std::optional<Value> ValueFromJson(const nlohmann::ordered_json& json);

}  // namespace kindred
