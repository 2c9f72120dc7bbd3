#include "measure/internal/user_program.h"

#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include "measure/internal/cache_directory.h"
#include "measure/internal/subprocess.h"

namespace kindred {
namespace {

constexpr std::size_t kLongestOutput = 1 << 20, kQuoted = 1024;
// An orphan ends when it has used so many times its deadline on the processors.
constexpr double kOrphan = 64;

// The last line that is not empty.
std::string LastLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  const std::size_t at = text.rfind('\n');
  return at == std::string::npos ? text : text.substr(at + 1);
}

}  // namespace

Result<UserProgramRun> RunUserProgram(const UserCommand& command, const std::string& folder,
                                      double timeout_s) {
  if (command.words.empty()) return BadInput("a command without a program");
  SpawnOptions options;
  const std::string& program = command.words.front();
  const bool path = program.find('/') != std::string::npos;
  options.program = FindOnPath(path ? (std::filesystem::path(folder) / program).string() : program);
  if (options.program.empty())
    return BadInput("the program " + program + " cannot be run: " +
                    (path ? "there is no such executable file in " + folder : "it is not on PATH"));
  options.arguments.assign(command.words.begin() + 1, command.words.end());
  for (const auto& [name, value] : command.environment)
    options.extra_environment.push_back(name + "=" + value);
  options.folder = folder;
  options.cpu_seconds = static_cast<int>(timeout_s * kOrphan) + 1;
  KINDRED_TRY(const FileDescriptor output, MemoryFile("stdout"));
  KINDRED_TRY(const FileDescriptor errors, MemoryFile("stderr"));
  options.descriptors = {-1, output.get(), errors.get()};

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  KINDRED_TRY(ChildProcess child, ChildProcess::Spawn(options));
  const rlimit no_core = {0, 0};
  prlimit(child.pid(), RLIMIT_CORE, &no_core, nullptr);
  // Should memory run out, it goes, not this process. Refusal does no harm.
  (void)WriteFile("/proc/" + std::to_string(child.pid()) + "/oom_score_adj", "1000").has_value();
  ExitStatus status;
  const bool ended = child.Wait(timeout_s, status);
  if (!ended) child.Kill();
  UserProgramRun run;
  run.wall_s = std::chrono::duration<double>(Clock::now() - begin).count();
  run.output = Tail(output.get(), kLongestOutput);
  const std::string said = LastLine(Tail(errors.get(), kQuoted));
  const std::string quoted = said.empty() ? std::string() : "; it said: " + said;
  if (!ended) {
    run.failure.status = Status::kRunTimeout;
    run.failure.message = "the program did not end within " +
                          std::to_string(static_cast<int>(timeout_s)) + " s" + quoted;
  } else if (status.signal != 0) {
    run.failure.status = Status::kCrash;
    run.failure.message = "the program died of " + SignalName(status.signal) + quoted;
  } else if (status.code != 0) {
    run.failure.status = Status::kRunError;
    run.failure.message =
        "the program ended with exit code " + std::to_string(status.code) + quoted;
  }
  return run;
}

}  // namespace kindred
