// The space of a T1 description: parameters and conditions of a kernel, in the format of the
// auto-tuning community's benchmark hub.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedules/user/parameter_space.h"

namespace kindred {

struct T1Space {
  std::vector<TunableParameter> parameters;
  std::vector<std::string> conditions;
};

// Error (kBadInput): not JSON, or without ConfigurationSpace; `source` names the text in messages.
Result<T1Space> ParseT1Space(std::string_view text, std::string_view source);

}  // namespace kindred
