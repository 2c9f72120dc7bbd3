// A sequence of kernels of several workloads, replayed as one CUDA graph, and launched one by one.
//
// Each workload has buffers of its own with random data: nothing is handed from one to the next,
// and nothing is checked. In a worker process that has the device; single-threaded.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "measure/cuda/device.h"
#include "measure/internal/protocol.h"
#include "schedules/base/result.h"

namespace kindred {

// Tracing kernels slows a graph down, so that a device gives the first two or the last.
struct SequenceTiming {
  std::vector<double> graph_ns;     // each replay, by events
  std::vector<double> launched_ns;  // each time that the kernels were launched one by one instead
  double kernels_ns = 0;            // of the kernels of a replay alone, by CUPTI, median
};

class SequenceReplay {
 public:
  explicit SequenceReplay(Device& device);
  ~SequenceReplay();

  // A workload and its kernels; later steps name it by its number, from 0. Error: the text does not
  // parse, no memory, a cubin that cannot be loaded.
  Result<void> Add(const SequencePart& part);
  // Error: the device fails, cannot capture a graph, or traces it and has no records.
  Result<SequenceTiming> Run(const SequenceRequest& request);

 private:
  struct Part;
  struct Graph;
  Result<void> Check(CudaResult code, const char* doing) const;
  CudaResult LaunchAll(const std::vector<int>& order) const;
  CudaResult Waited(CudaResult code) const;
  Result<std::vector<double>> Timed(const MeasureLimits& limits,
                                    const std::function<CudaResult()>& run);
  Result<double> Traced(std::size_t kernels, const std::function<CudaResult()>& run);

  Device& device_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace kindred
