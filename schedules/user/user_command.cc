#include "schedules/user/user_command.h"

#include <nlohmann/json.hpp>

namespace kindred {

std::string ToText(const UserCommand& command) {
  nlohmann::ordered_json text = {{"command", command.words},
                                 {"environment", nlohmann::ordered_json::object()}};
  for (const auto& [name, value] : command.environment) text["environment"][name] = value;
  return text.dump(2) + "\n";
}

Result<UserCommand> ParseUserCommand(const std::string& text) {
  const auto parsed = nlohmann::ordered_json::parse(text, nullptr, false);
  UserCommand command;
  try {
    command.words = parsed.at("command").get<std::vector<std::string>>();
    for (const auto& [name, value] : parsed.at("environment").items())
      command.environment.emplace_back(name, value.get<std::string>());
  } catch (const nlohmann::json::exception& e) {
    return Internal(std::string("a command's text is damaged: ") + e.what());
  }
  return command;
}

}  // namespace kindred
