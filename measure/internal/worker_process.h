// The runner's end of a worker: starts it, asks it, ends it.
//
// A worker has descriptors 0 to 4 and no others: 0 and 1 are /dev/null, 2 is a file in memory whose
// end is quoted when the worker dies without an answer, 3 the requests, 4 the answers. It ends with
// the thread that started it, or at the end of the requests. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>

#include "measure/internal/protocol.h"
#include "measure/internal/subprocess.h"

namespace kindred {

class WorkerProcess {
 public:
  // Starts `program role`. Error (kEnvironment): the program cannot be started.
  static Result<WorkerProcess> Start(const std::string& program,
                                     const std::string& role = "worker");

  enum class End {
    kAnswered,
    kTimedOut,  // killed at the deadline
    kDied,      // by itself, without an answer
    kWasDead,   // before the request reached it
  };
  struct Reply {
    End end = End::kAnswered;
    Answer answer;      // kAnswered
    std::string cause;  // kDied, kWasDead
    int signal = 0;     // that killed it; 0: none
  };
  // Sends one request and waits for its answer. After anything but kAnswered, and after an answer
  // that reported a signal or its end, alive() is false.
  Reply Ask(const std::string& request_line, double timeout_s);

  bool alive() const { return child_.running(); }
  pid_t pid() const { return child_.pid(); }

 private:
  Reply Dead(End end);

  ChildProcess child_;
  FileDescriptor requests_, answers_, errors_;
  std::string unread_;
};

}  // namespace kindred
