// One `kindred tune` as a child process. It dies with this process, whatever ends that; what it
// measured is in the log, and the same command goes on from there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "schedules/base/result.h"

namespace kindred {

class TunerProcess {
 public:
  // Runs this program with `arguments`; its standard output and error go to files.
  static Result<TunerProcess> Start(const std::vector<std::string>& arguments,
                                    const std::string& output, const std::string& errors);
  TunerProcess(TunerProcess&& other) noexcept : process_(other.process_) { other.process_ = -1; }
  TunerProcess& operator=(TunerProcess&&) = delete;
  // Stops it (SIGTERM, then SIGKILL) and waits.
  ~TunerProcess();

  // The exit code once it has ended (128 + signal where one ended it), else nothing.
  std::optional<int> Poll();
  // Asks it to stop after the trial under way.
  void RequestStop();

 private:
  explicit TunerProcess(pid_t process) : process_(process) {}
  pid_t process_ = -1;
};

}  // namespace kindred
