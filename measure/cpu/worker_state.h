// What a worker keeps of the workload it serves: buffers, the reference's outputs, and the steps
// that use them. One per process; single-threaded.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "measure/internal/protocol.h"
#include "measure/internal/user_buffers.h"
#include "measure/internal/workload_data.h"
#include "measure/timing.h"

namespace kindred {

class WorkerState {
 public:
  WorkerState();

  // Error: the text does not parse; no memory for the workload's buffers.
  Result<void> Open(const OpenRequest& request);
  // Error: no such file, or not of these inputs.
  Result<void> LoadReference(const std::string& file);
  // Error: the kernel cannot be loaded or returns an error; no memory.
  Result<void> ComputeReference(const ComputeReferenceRequest& request);
  // Buffers without a workload (measure/internal/buffer_protocol.h). Error: no memory; a file that
  // cannot be read.
  Result<void> OpenBuffers(const OpenBuffersRequest& request);
  // What the kernel does wrong is its Outcome.
  Result<Outcome> TakeReference(const TakeReferenceRequest& request);
  // Error: nothing is open. What the candidate does wrong is its Outcome.
  Result<Outcome> Measure(const CandidateRequest& request);

 private:
  struct LoadedKernel;
  Result<LoadedKernel> Load(const KernelCall& call);
  Outcome Run(LoadedKernel& kernel, const CandidateRequest& request);
  // A run without timing; guard zones are checked.
  Result<Outcome> RunOnce(const KernelCall& call);
  void Close();
  // Outputs hold what kernels find there.
  void ResetOutputs();
  // Empty where all outputs are right and nothing else was written.
  Outcome Check(const LoadedKernel& kernel) const;

  WorkloadData data_;
  std::vector<UserBuffer> buffers_;  // of a kernel without a workload
  FirstContents first_contents_;
  bool has_reference_ = false;
  std::size_t processors_ = 1;  // that kernels may use
  ControlKernel control_;
};

}  // namespace kindred
