// Outcome: what became of one candidate on a device. A failure is data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kindred {

enum class Status : std::uint8_t {
  kOk,
  kBuildError,
  kBuildTimeout,
  kCrash,  // signal, named in message
  kRunTimeout,
  kOutOfMemory,
  kWrongAnswer,  // first bad element in message
  kOutOfBounds,  // a read or write outside of a buffer, or a write to an input
  kRunError,     // entry returned non-zero
  kAbandoned,    // correct, but far above the best: sampled once or a few times
};

// "ok", "build_error", ...: the spelling of the log and of every JSON form.
std::string_view Name(Status status);

// What the build told. Zero: unknown.
struct BuildFacts {
  std::int64_t code_bytes = 0;
  std::int64_t registers = 0;     // CUDA: per thread
  std::int64_t spill_bytes = 0;   // CUDA: from ptxas; CPU: stack frame
  std::int64_t shared_bytes = 0;  // CUDA
};

struct Outcome {
  Status status = Status::kOk;
  std::string message;          // cause, for failures
  double median_ns = 0;         // of samples; set for kOk and kAbandoned
  std::vector<double> samples;  // ns, each one run (or the mean of an inner loop of short runs)
  // Measured again among the fastest ones, in so many passes (tuner/final_race.h); 0: proposed by a
  // search.
  int interleaved_passes = 0;
  bool validated = false;  // outputs were compared with the reference and were right
  double control_ns = 0;   // control kernel beside the samples: how noisy the machine was
  double build_s = 0, run_s = 0;
  BuildFacts facts;
  std::string compiler;  // name and version of what built it, e.g. "gcc 12.2.0"

  // GPUs; empty and 0 elsewhere.
  std::string driver;       // "580.65.06 (CUDA 13.0)"; without NVML "CUDA 13.0"
  std::string timer;        // who timed the samples: "cupti" or "events"
  bool cold = false;        // the second-level cache was flushed before each run
  double sm_clock_mhz = 0;  // mean beside the samples; 0: NVML does not say
  std::string throttled;    // what slowed the clocks beside the samples: "power", "thermal (87 C)"

  bool Timed() const { return status == Status::kOk || status == Status::kAbandoned; }
};

}  // namespace kindred
