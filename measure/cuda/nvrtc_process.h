// NVRTC in a child process, so that a compilation can be given a deadline and a crash of the
// compiler costs one kernel. The process loads NVRTC once and then compiles kernel after kernel; it
// ends with its parent, or soon after the deadline of what it was compiling then.
//
// One JSON object per line, requests on descriptor 3, answers on descriptor 4:
//   {"do":"version"}   {"version","path","architectures":[80,..]}
//   {"do":"compile","code","options":[..],"names":[..],"cubin","timeout_s"}
//                      {"ok":BOOL,"log","lowered":[..]}; the cubin is in that file
//   anything that could not be served   {"failed":MESSAGE}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/internal/subprocess.h"
#include "schedules/base/result.h"

namespace kindred {

// Serves the requests of its parent; the exit code.
int RunNvrtcProcess();

struct NvrtcVersion {
  std::string version, path;
  std::vector<int> architectures;
};

// The parent's end. Thread safety: none; belongs to one thread after Start.
class NvrtcProcess {
 public:
  // Starts `program nvrtc`, an executable that calls RunNvrtcProcess for that argument. Error
  // (kEnvironment): it cannot be started.
  static Result<NvrtcProcess> Start(const std::string& program);

  // Error (kEnvironment): NVRTC is not installed.
  Result<NvrtcVersion> Version();

  enum class End { kBuilt, kRefused, kTimedOut, kDied };
  struct Reply {
    End end = End::kDied;
    std::string log;                        // kBuilt, kRefused: the compiler's; else what happened
    std::vector<std::string> lowered = {};  // kBuilt: symbols of the names
  };
  // Compiles `code` into the file `cubin`; `names` as for Nvrtc::Compile. After kTimedOut and
  // kDied, alive() is false. Error (kEnvironment): NVRTC is not there, or the file cannot be
  // written.
  Result<Reply> Compile(const std::string& code, const std::vector<std::string>& options,
                        const std::vector<std::string>& names, const std::string& cubin,
                        double timeout_s);

  bool alive() const { return child_.running(); }

 private:
  // The answer line; nullopt: `end` says why there is none, and the process is gone.
  std::optional<std::string> Ask(const std::string& line, double timeout_s, Reply* instead);

  ChildProcess child_;
  FileDescriptor requests_, answers_, errors_;
};

}  // namespace kindred
