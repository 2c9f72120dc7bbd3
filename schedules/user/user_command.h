// UserCommand: a program of the user's with what it is given, as text: the KernelSource::code of a
// configuration of a command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

struct UserCommand {
  std::vector<std::string> words;  // program (a path, or a name on PATH) and arguments
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
};

// The JSON form {"command": [..], "environment": {..}}; of a name that stands twice the later
// value.
std::string ToText(const UserCommand& command);
// Error (kInternal): not such a text.
Result<UserCommand> ParseUserCommand(const std::string& text);

}  // namespace kindred
