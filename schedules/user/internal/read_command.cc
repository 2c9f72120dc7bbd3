#include <fmt/format.h>

#include "schedules/user/internal/read_spec.h"

namespace kindred {
namespace {

using Json = SpecFields::Json;

constexpr double kLongest_s = 7 * 24 * 3600;

}  // namespace

Result<SpecCommand> ReadCommand(const SpecFields& fields, const Json& kernel) {
  SpecCommand command;
  KINDRED_TRY(const auto words, fields.TextList(kernel, "Command"));
  if (words.empty() || words.front().empty())
    return fields.Bad("Command is missing: a list of texts, the program and its arguments");
  for (const std::string& word : words) {
    KINDRED_TRY(std::string checked, fields.Template(word, "Command"));
    command.words.push_back(std::move(checked));
  }
  const Json environment = kernel.value("Environment", Json::object());
  if (!environment.is_object()) return fields.Bad("Environment is no object of texts");
  for (const auto& [name, value] : environment.items()) {
    if (!value.is_string() || name.empty() || name.find('=') != std::string::npos)
      return fields.Bad("Environment is no object of texts");
    KINDRED_TRY(std::string checked,
                fields.Template(value.get<std::string>(), "Environment." + name));
    command.environment.emplace_back(name, std::move(checked));
  }
  KINDRED_TRY(command.files, fields.TextList(kernel, "Files"));
  KINDRED_TRY(const std::string direction, fields.Text(kernel, "Direction", false));
  if (direction != "" && direction != "minimise" && direction != "minimize" &&
      direction != "maximise" && direction != "maximize")
    return fields.Bad(fmt::format("Direction is '{}'; known are minimise and maximise", direction));
  command.maximise = direction.starts_with("max");
  if (kernel.contains("Unit")) {
    KINDRED_TRY(command.unit, fields.Text(kernel, "Unit", true));
  }
  if (kernel.contains("Timeout")) {
    KINDRED_TRY(command.timeout_s, fields.Number(kernel["Timeout"], "Timeout"));
    if (!(command.timeout_s > 0 && command.timeout_s <= kLongest_s))
      return fields.Bad("Timeout must be a number of seconds above 0");
  }
  return command;
}

}  // namespace kindred
