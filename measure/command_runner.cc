#include "measure/command_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "measure/internal/failure.h"
#include "measure/internal/user_program.h"
#include "measure/timing.h"

namespace kindred {
namespace {

using nlohmann::json;

constexpr double kNsPerMs = 1e6;
constexpr std::size_t kQuoted = 200;

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  return text;
}

// Null where it is no JSON; `overflow` where that is because of a number.
json Parsed(std::string_view text, bool* overflow) {
  try {
    return json::parse(text);
  } catch (const json::out_of_range&) {
    *overflow = true;
  } catch (const json::parse_error&) {
  }
  return {};
}

// JSON has no NaN; many programs print it all the same.
bool NamesNoNumber(std::string_view text) {
  return text.find("NaN") != std::string_view::npos || text.find("nan") != std::string_view::npos ||
         text.find("Infinity") != std::string_view::npos ||
         text.find("inf") != std::string_view::npos;
}

class CommandRunner final : public KernelRunner {
 public:
  explicit CommandRunner(CommandOptions options) : options_(std::move(options)) {}

  Result<Outcome> TakeReference(const KernelSource&) override { return Outcome{}; }
  bool has_reference() const override { return true; }
  Result<void> BuildAhead(std::span<const KernelSource>, const std::function<bool()>&) override {
    return {};
  }
  Result<Outcome> Measure(const KernelSource& candidate, double incumbent_ns,
                          bool patient) override;

 private:
  const CommandOptions options_;
};

Result<Outcome> CommandRunner::Measure(const KernelSource& candidate, double, bool) {
  KINDRED_TRY(const UserCommand command, ParseUserCommand(candidate.code));
  KINDRED_TRY(const UserProgramRun run,
              RunUserProgram(command, options_.folder, options_.timeout_s));
  Outcome outcome =
      run.failure.status == Status::kOk ? OutcomeOf(run.output, options_) : run.failure;
  outcome.run_s = run.wall_s;
  outcome.compiler = "command";
  return outcome;
}

}  // namespace

Outcome OutcomeOf(const std::string& output, const CommandOptions& options) {
  const std::string_view text = Trimmed(output);
  bool overflow = false;
  json said = Parsed(text, &overflow);
  const std::string_view last = text.substr(text.rfind('\n') + 1);
  if (!said.is_object()) said = Parsed(last, &overflow);
  if (!said.is_object()) {
    if (text.empty()) return Failure(Status::kRunError, "the program printed nothing");
    return Failure(Status::kRunError, (overflow || NamesNoNumber(last)
                                           ? "the program printed a number that is not finite: "
                                           : "the program's last line is no JSON object: ") +
                                          std::string(last.substr(0, kQuoted)));
  }
  if (said.contains("invalid"))
    return Failure(Status::kWrongAnswer, said["invalid"].is_string()
                                             ? said["invalid"].get<std::string>()
                                             : "the program says: " + said["invalid"].dump());
  const bool time = said.contains("time_ms");
  if (!time && !said.contains("objective"))
    return Failure(Status::kRunError,
                   "the program's answer has neither time_ms nor objective nor invalid: " +
                       said.dump().substr(0, kQuoted));
  const json unit = said.value("unit", json(time ? "ms" : options.unit));
  if (unit != json(options.unit))
    return Failure(Status::kRunError, "the program measured in " + unit.dump() +
                                          ", and the description's Unit is \"" + options.unit +
                                          "\"");
  const json given = said[time ? "time_ms" : "objective"];
  Outcome outcome;
  for (const json& value : given.is_array() ? given : json::array({given})) {
    const double number = value.is_number() ? value.get<double>() : 0;
    if (!std::isfinite(number) || number <= 0)
      return Failure(Status::kRunError,
                     std::string("the program's ") + (time ? "time_ms" : "objective") +
                         " must be finite and above zero, and is " + value.dump());
    outcome.samples.push_back(kNsPerMs * (options.maximise ? 1 / number : number));
  }
  if (outcome.samples.empty())
    return Failure(Status::kRunError, "the program's list of samples is empty");
  outcome.median_ns = Median(outcome.samples);
  outcome.validated = true;
  return outcome;
}

Result<std::unique_ptr<KernelRunner>> MakeCommandRunner(CommandOptions options) {
  std::error_code code;
  if (!std::filesystem::is_directory(options.folder, code))
    return BadInput(options.folder + ": is no folder in which a program could run");
  return std::unique_ptr<KernelRunner>(new CommandRunner(std::move(options)));
}

}  // namespace kindred
