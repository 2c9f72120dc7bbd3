// Builder: C sources in, shared libraries out.
//
// Every source is looked up in a content-addressed cache first (key: source, entries, compiler
// version, flags, CPU model), so equal sources are compiled once, within a call, between calls and
// between runs. What is not there is compiled by child processes, `jobs` at a time; up to
// kSourcesPerRun sources with the same compiler and flags share one compiler run (measured: saves
// 7% of gcc's time and 37% of clang's). Each is a translation unit of its own there: in a common
// one the compiler's decisions about one kernel would depend on its neighbours. Where such a run
// fails, its sources are compiled one by one, so that each has its own cause.
//
// A library appears in the cache by hard link or rename only: complete or not at all. Several
// processes may share a cache directory. Invariant: a library exports the entries under the names
// of its key, so that one file may hold several kernels.
//
// Thread safety: none; one Builder belongs to one thread. Times in seconds, sizes in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/kernel.h"
#include "schedules/outcome.h"

namespace kindred {

inline constexpr int kSourcesPerRun = 4;

struct BuilderOptions {
  std::string cache_directory;  // made if absent
  int jobs = 2;
  double timeout_s = 30;                         // of one compiler run
  std::int64_t cache_limit_bytes = 512ll << 20;  // the oldest libraries go first
};

struct BuiltKernel {
  Status status = Status::kOk;  // kOk, kBuildError or kBuildTimeout
  std::string message;          // the compiler's first error, for failures
  std::string key;              // equal for equal builds
  std::string library;          // path of the shared library
  std::string entry,
      prepare_entry;  // symbols in it; the latter empty where there is nothing to prepare
  std::vector<std::string> lowered =
      {};  // CUDA: KernelSource::lower_names' names, by step; or empty
  BuildFacts facts;
  double build_s = 0;  // its share of the compiler run; 0: found in the cache
};

struct BuilderCounters {
  std::int64_t compiler_runs = 0;
  std::int64_t compiled = 0;    // kernels
  std::int64_t cache_hits = 0;  // kernels found, also within one call
};

class Builder {
 public:
  // Error (kEnvironment): the directory cannot be made or written; gcc, the compiler of the untuned
  // program and of the reference, is not on PATH.
  static Result<std::unique_ptr<Builder>> Make(BuilderOptions options);
  ~Builder();

  // One result per source, in order; `stop` is polled between compiler runs, and once it is true
  // the result is shorter: it ends before the first source that was not reached. A source whose
  // compiler is not installed fails with kBuildError. Error (kEnvironment): the disk is full or
  // cannot be written.
  Result<std::vector<BuiltKernel>> Build(std::span<const KernelSource> sources,
                                         const std::function<bool()>& stop = {});
  // The same with another deadline.
  Result<BuiltKernel> BuildOne(const KernelSource& source, double timeout_s);

  BuilderCounters counters() const;

 private:
  struct State;
  explicit Builder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// First line of `compiler --version` and where it was found. Error (kEnvironment): not on PATH;
// says what to install.
struct CompilerInfo {
  std::string path, version;
};
Result<CompilerInfo> FindCompiler(const std::string& compiler);

}  // namespace kindred
