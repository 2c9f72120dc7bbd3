// The text form (.kd) and the JSON form of workloads. docs/workload_language.md is the language's
// manual.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "schedules/workload.h"

namespace kindred {

// Errors: "FILE:LINE:COLUMN: what; what to do". `file` is only for messages.
Result<Workload> ParseWorkload(std::string_view text, std::string_view file = "workload");

// Parses back to an equal workload (same key, same names).
std::string PrintWorkload(const Workload& workload);

// {"name", "text", "symbols", "tensors", "stages", "contract"}; expressions are the text form's.
nlohmann::json WorkloadToJson(const Workload& workload);
Result<Workload> WorkloadFromJson(const nlohmann::json& json);

// Well-formed UTF-8 (RFC 3629), as names must be: JSON can hold nothing else.
bool IsUtf8(std::string_view text);

}  // namespace kindred
