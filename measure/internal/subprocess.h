// Child processes without a shell: spawned in a process group of their own, with the descriptors
// named here and no others, killed as a group when their time is up.
//
// Thread safety: the functions may be called from several threads at once; a ChildProcess belongs
// to one. Signals typed at the terminal (Ctrl-C) reach the parent only.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

// Owns a file descriptor. -1: none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~FileDescriptor() { Reset(-1); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct SpawnOptions {
  std::string program;                         // path; PATH is not searched
  std::vector<std::string> arguments;          // without the program's own name
  std::string folder;                          // where it runs; empty: where we do
  std::vector<std::string> extra_environment;  // "NAME=value", replacing the inherited one
  // descriptors[i] becomes descriptor i of the child; -1: /dev/null. Nothing else is inherited.
  std::vector<int> descriptors;
  int cpu_seconds = 0;  // RLIMIT_CPU, so that an orphan ends; 0: none
};

// How a child ended.
struct ExitStatus {
  int code = -1;   // of a normal exit
  int signal = 0;  // that killed it; 0: normal exit
};

class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() { Kill(); }  // kills and reaps

  // Error (kEnvironment): the program cannot be started; names it and the cause.
  static Result<ChildProcess> Spawn(const SpawnOptions& options);

  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // Waits until the process ends or the time is up (false). Reaps it and fills `status`.
  bool Wait(double timeout_s, ExitStatus& status);
  // Kills the whole process group and reaps the process. How it ended, where it had ended by
  // itself.
  ExitStatus Kill();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

struct RunResult {
  ExitStatus status;
  bool timed_out = false;
  std::string error_text;  // what it wrote to standard error (at most 1 MiB)
  double wall_s = 0;
};

// Runs a program to its end with standard input and output at /dev/null.
Result<RunResult> RunProgram(SpawnOptions options, double timeout_s);

// Full path of a program on PATH; empty if there is none.
std::string FindOnPath(const std::string& program);

// "SIGSEGV (segmentation fault)", ...
std::string SignalName(int signal);

// A copy of `fd` above those that a child's layout uses (closed on exec). Closes `fd`.
FileDescriptor AwayFromLow(FileDescriptor fd);

// An empty anonymous file in memory.
Result<FileDescriptor> MemoryFile(const char* name);
// The last `limit` bytes of a file.
std::string Tail(int fd, std::size_t limit);

}  // namespace kindred
