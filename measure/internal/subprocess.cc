#include "measure/internal/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

extern char** environ;

namespace kindred {
namespace {

constexpr int kFirstHighDescriptor = 16;

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

ExitStatus FromWaitStatus(int status) {
  ExitStatus exit;
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
  } else {
    exit.code = WEXITSTATUS(status);
  }
  return exit;
}

std::vector<std::string> ChildEnvironment(const std::vector<std::string>& extra) {
  std::vector<std::string> environment = extra;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(extra.begin(), extra.end(), [&](const std::string& e) {
      return !name.empty() && e.starts_with(name);
    });
    if (!replaced) environment.emplace_back(text);
  }
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void FileDescriptor::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

Result<ChildProcess> ChildProcess::Spawn(const SpawnOptions& options) {
  std::vector<std::string> arguments = {options.program};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = ChildEnvironment(options.extra_environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  for (int i = 0; i < static_cast<int>(options.descriptors.size()); ++i) {
    if (options.descriptors[i] < 0) {
      posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i == 0 ? O_RDONLY : O_WRONLY, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions, options.descriptors[i], i);
    }
  }
  if (!options.folder.empty())
    posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  posix_spawn_file_actions_addclosefrom_np(&actions, static_cast<int>(options.descriptors.size()));

  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.program.c_str(), &actions, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return Environment("cannot start " + options.program + ": " + std::strerror(error));
  if (options.cpu_seconds > 0) {
    const rlimit limit = {static_cast<rlim_t>(options.cpu_seconds),
                          static_cast<rlim_t>(options.cpu_seconds)};
    prlimit(pid, RLIMIT_CPU, &limit, nullptr);
  }
  return ChildProcess(pid);
}

bool ChildProcess::Wait(double timeout_s, ExitStatus& status) {
  const auto start = SteadyClock::now();
  // A pidfd becomes readable when the process ends: no polling, no signal handler.
  const FileDescriptor handle(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  for (;;) {
    siginfo_t info = {};
    const int error = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (error != 0 || info.si_pid == pid_) {
      status = Kill();  // reaps it; whatever it started goes with it
      return true;
    }
    const double left = timeout_s - SecondsSince(start);
    if (left <= 0) return false;
    const int left_ms = static_cast<int>(std::min(left * 1e3 + 1, 1e6));
    if (handle) {
      pollfd poll_for = {handle.get(), POLLIN, 0};
      poll(&poll_for, 1, left_ms);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left_ms, 5)));
    }
  }
}

ExitStatus ChildProcess::Kill() {
  ExitStatus status;
  if (pid_ <= 0) return status;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // in case it has left its group
  int raw = 0;
  while (waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return FromWaitStatus(raw);
}

Result<RunResult> RunProgram(SpawnOptions options, double timeout_s) {
  const auto start = SteadyClock::now();
  KINDRED_TRY(const FileDescriptor errors, MemoryFile("stderr"));
  options.descriptors = {-1, -1, errors.get()};
  KINDRED_TRY(ChildProcess child, ChildProcess::Spawn(options));
  RunResult result;
  if (!child.Wait(timeout_s, result.status)) {
    result.timed_out = true;
    child.Kill();
  }
  result.error_text = Tail(errors.get(), 1 << 20);
  result.wall_s = SecondsSince(start);
  return result;
}

std::string FindOnPath(const std::string& program) {
  const auto executable = [](const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos) return executable(program) ? program : std::string();
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
    if (executable(candidate)) return candidate;
  }
  return {};
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  if (name == nullptr) return "signal " + std::to_string(signal);
  return "SIG" + std::string(name) +
         (description != nullptr ? " (" + std::string(description) + ")" : "");
}

FileDescriptor AwayFromLow(FileDescriptor fd) {
  if (fd.get() < 0 || fd.get() >= kFirstHighDescriptor) return fd;
  return FileDescriptor(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstHighDescriptor));
}

Result<FileDescriptor> MemoryFile(const char* name) {
  FileDescriptor fd = AwayFromLow(FileDescriptor(memfd_create(name, MFD_CLOEXEC)));
  if (!fd) return Environment(std::string("cannot make a file in memory: ") + std::strerror(errno));
  return fd;
}

std::string Tail(int fd, std::size_t limit) {
  struct stat info;
  if (fstat(fd, &info) != 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  std::string text(std::min(size, limit), '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

}  // namespace kindred
