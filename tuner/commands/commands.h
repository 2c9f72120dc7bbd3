// The subcommands of `kindred`: one file each in this folder. Each returns an exit code (0 done, 1
// failed, 2 bad input), prints its result on standard output and everything else on standard error.
// With `json`, standard output is exactly one JSON object.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/target.h"
#include "tuner/session.h"

namespace kindred {

struct CommonOptions {
  bool json = false;
  std::string cache;  // directory; empty: DefaultCacheDirectory()
};

// How models are read.
struct ModelOptions {
  std::vector<std::string> dims;  // "NAME=NUMBER,NUMBER"
  double trips = 1;
  int merge = 1;  // instances
};

struct TuneCommand : CommonOptions {
  std::vector<std::string> inputs;
  ModelOptions models;
  std::string target = "cpu";
  bool target_given = false;
  int threads = 0;  // shorthand for target cpu:threads=N; 0: not given
  std::string log = "kindred.db";
  TuneOptions options;
  bool searcher_given = false;
  int builders = 2;  // compilers at a time
  bool quiet = false;
  bool profile = false;  // hardware counters of the winners
};
int RunTune(const TuneCommand& command);
// Of a kernel's description (tune_kernel.cc).
Result<void> TuneUserKernel(const TuneCommand& command, const std::function<bool()>& stop);

struct QueryCommand : CommonOptions {
  std::string asked;  // WORKLOAD.kd, MODEL.onnx or a key of 32 hexadecimal digits
  ModelOptions models;
  std::string log;  // empty: kindred.db where that exists
  std::string target = "cpu";
  std::optional<std::int64_t> epoch;
  std::string cubin;  // file for what NVRTC makes of the kernel; empty: none
};
int RunQuery(const QueryCommand& command);

struct BenchmarkCommand : CommonOptions {
  std::vector<std::string> inputs;
  ModelOptions models;
  std::string log = "kindred.db";
  std::string target = "cuda:0";
  std::uint64_t seed = 0;
};
int RunBenchmark(const BenchmarkCommand& command);

struct RecordCommand : CommonOptions {
  std::string log, out;
  std::string target;        // record id or name; empty: the log's only one
  std::int64_t least = 100;  // schedules of a workload
};
int RunRecord(const RecordCommand& command);

struct ServeCommand : CommonOptions {
  std::string log = "kindred.db";
  std::string listen = "127.0.0.1:8311";
  std::string target = "cpu";
};
int RunServe(const ServeCommand& command);

struct ImportCommand : CommonOptions {
  std::vector<std::string> inputs;
  ModelOptions models;
  std::string strip;  // file for the one input without its weights; empty: none
};
int RunImport(const ImportCommand& command);

struct ReplayCommand : CommonOptions {
  std::string space;  // a recording
  std::string spec;   // its T1 description; empty: none
  std::string searcher = "surrogate";
  std::vector<std::string> transfer;  // recordings of other devices
  bool noise = false;
  int budget = 200;
  int seeds = 20;
  std::uint64_t first_seed = 1;
};
int RunReplay(const ReplayCommand& command);

struct LogCommand : CommonOptions {
  std::string action;  // "ls", "show", "export", "import", "verify"
  std::string log, argument;
  std::string target;  // "t4"; empty: the only one there is
};
int RunLog(const LogCommand& command);

struct FamiliesCommand : CommonOptions {
  std::string action;  // "ls", "show", "merge", "split", "pin", "unpin"
  std::string log, family;
  std::vector<std::string>
      others;          // "merge": families; "split": keys of members, or how they begin
  std::string target;  // record id or name; empty: that with most trials
};
int RunFamilies(const FamiliesCommand& command);

struct AnalyzeCommand : CommonOptions {
  std::string log, html, compare;
};
int RunAnalyze(const AnalyzeCommand& command);

struct ExplainCommand : CommonOptions {
  std::string key;
  std::string log = "kindred.db";
  std::string target = "cpu";
};
int RunExplain(const ExplainCommand& command);

struct PredictCommand : CommonOptions {
  std::string workload;  // WORKLOAD.kd
  std::string sweep;     // "co=16..512:16"; empty: the schedules of the workload are ranked
  int schedules = 10;    // at most so many
  std::string log;       // empty: kindred.db where that exists
  std::string target = "cpu";
  int measure = 0;           // points of the sweep to tune first
  std::int64_t trials = 16;  // of each of these
  std::uint64_t seed = 0;
};
int RunPredict(const PredictCommand& command);

struct DeviceCommand : CommonOptions {
  std::string target = "cpu";
  bool probe = false;  // measure the peaks anew
};
int RunDevice(const DeviceCommand& command);

// Shared by the commands.
int Fail(const Error& error);  // prints it, returns its exit code
// $KINDRED_CACHE, else $XDG_CACHE_HOME/kindred, else ~/.cache/kindred
std::string DefaultCacheDirectory();
Result<InputOptions> ToInputOptions(const ModelOptions& options);

}  // namespace kindred
