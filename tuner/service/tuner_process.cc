#include "tuner/service/tuner_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

namespace kindred {
namespace {

constexpr std::chrono::milliseconds kPatience{3000};

// Between fork and exec only what is safe after a fork of a threaded process.
[[noreturn]] void BecomeTuner(char* const* arguments, int output, int errors, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

}  // namespace

Result<TunerProcess> TunerProcess::Start(const std::vector<std::string>& arguments,
                                         const std::string& output, const std::string& errors) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int out = ::open(output.c_str(), kFlags, 0644);
  const int err = ::open(errors.c_str(), kFlags, 0644);
  const auto close_both = [&] {
    if (out >= 0) ::close(out);
    if (err >= 0) ::close(err);
  };
  if (out < 0 || err < 0) {
    const int failure = errno;
    close_both();
    return Environment(
        fmt::format("cannot write {}: {}", out < 0 ? output : errors, std::strerror(failure)));
  }
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) BecomeTuner(raw.data(), out, err, parent);
  const int failure = errno;
  close_both();
  if (process < 0)
    return Environment(fmt::format("cannot start a tuner: {}", std::strerror(failure)));
  return TunerProcess(process);
}

TunerProcess::~TunerProcess() {
  if (process_ < 0) return;
  RequestStop();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!Poll()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(process_, SIGKILL);
      int status = 0;
      ::waitpid(process_, &status, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::optional<int> TunerProcess::Poll() {
  if (process_ < 0) return 0;
  int status = 0;
  const pid_t ended = ::waitpid(process_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
  process_ = -1;
  if (ended < 0) return 127;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void TunerProcess::RequestStop() {
  if (process_ >= 0) ::kill(process_, SIGTERM);
}

}  // namespace kindred
