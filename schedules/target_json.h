// The JSON form of a target: what the log and the probe's cache store.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "schedules/base/result.h"
#include "schedules/target.h"

namespace kindred {

// Every field of Target, by its name; "kind" is "cpu" or "cuda".
nlohmann::json TargetToJson(const Target& target);

// Error kBadInput: not an object, a field missing or of another type. Without "compilers", which
// older logs lack, both gcc and clang are taken as offered.
Result<Target> TargetFromJson(const nlohmann::json& json);

}  // namespace kindred
