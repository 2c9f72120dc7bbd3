// MeasurementRecord: what became of each kernel of some workloads, measured once and kept in a
// file.
//
// Searchers that are compared on one record are compared on equal numbers: a kernel's time is what
// its first measurement said. The file is JSON lines: {"target": {...}} first, then one line per
// kernel. A line is written as soon as it is known; a last line that was cut off is dropped when
// the file is opened. Times in nanoseconds. Not thread-safe.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <unordered_map>

#include "schedules/base/result.h"
#include "schedules/outcome.h"
#include "schedules/target.h"

namespace kindred::bench {

class MeasurementRecord {
 public:
  // Begins a record of `target`, or goes on with the file's, whose own target then counts (measured
  // peaks decide what cost models predict). Errors: not readable or writable; not a record; made on
  // another device.
  static Result<MeasurementRecord> OpenOrBegin(const std::string& path, const Target& target);
  // Reads only. Errors: not readable, not a record.
  static Result<MeasurementRecord> Open(const std::string& path);

  const Target& target() const { return target_; }
  // nullptr: not measured yet. `workload` and `kernel` are hashes.
  const Outcome* Find(const std::string& workload, const std::string& kernel) const;
  // Error kEnvironment: the file cannot be written.
  Result<void> Add(const std::string& workload, const std::string& kernel, const Outcome& outcome);

  // Fastest of the workload's validated kernels; 0: none.
  double BestNs(const std::string& workload) const;
  std::size_t Measured(const std::string& workload) const;

 private:
  explicit MeasurementRecord(std::string path) : path_(std::move(path)) {}
  Result<void> Read(std::uintmax_t& complete_bytes);
  Result<void> Write(const std::string& line);

  std::string path_;
  std::ofstream file_;
  Target target_;
  std::map<std::string, std::unordered_map<std::string, Outcome>> outcomes_;
};

}  // namespace kindred::bench
