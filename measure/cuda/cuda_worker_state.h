// What a CUDA worker keeps of the workload it serves: the device, its buffers, the reference's
// outputs; and the steps that use them. One per process; single-threaded.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/device.h"
#include "measure/cuda/device_buffer.h"
#include "measure/cuda/launch_group.h"
#include "measure/cuda/range_profiler.h"
#include "measure/cuda/sequence_replay.h"
#include "measure/internal/protocol.h"
#include "measure/internal/user_buffers.h"
#include "measure/internal/workload_data.h"

namespace kindred {

class CudaWorkerState {
 public:
  explicit CudaWorkerState(std::unique_ptr<Device> device)
      : device_(std::move(device)), sequence_(*device_) {}

  // Error: the text does not parse; no memory for the workload's buffers, here or on the device.
  Result<void> Open(const OpenRequest& request);
  // Error: no such file, or not of these inputs.
  Result<void> LoadReference(const std::string& file);
  // Buffers without a workload (measure/internal/buffer_protocol.h). Error: no memory, here or on
  // the device; a file that cannot be read.
  Result<void> OpenBuffers(const OpenBuffersRequest& request);
  // What the kernel does wrong is the answer's Outcome.
  Answer TakeReference(const TakeReferenceRequest& request);
  // Error: nothing is open. What the candidate does wrong is its Outcome.
  Result<Answer> Measure(const CandidateRequest& request);

  // Hardware counters of a run, by name. Nothing is timed or checked. Error: nothing is open; the
  // kernel fails; there are no counters.
  Result<std::map<std::string, double>> Profile(const ProfileRequest& request);

  Device& device() { return *device_; }
  SequenceReplay& sequence() { return sequence_; }

 private:
  // What runs: its module and its workspace.
  struct Candidate {
    DeviceBuffer workspace;
    LoadedKernels kernels;
  };
  void Close();
  // On the device, for the inputs below `inputs` and all outputs.
  Result<void> AllocateBuffers(int inputs);
  // Copies arguments into the __constant__ arrays of their names.
  Outcome FillConstants(const Candidate& candidate) const;
  Outcome RunReference(const TakeReferenceRequest& request);
  Outcome Run(const CandidateRequest& request, double* device_s);
  // Why its memory is too much, which is known before it is taken; empty: it is not.
  std::string MemoryExcess(const CandidateRequest& request) const;
  Outcome Prepare(const CandidateRequest& request, Candidate* candidate);
  // kOk where nothing beside the outputs was written; `inputs` too: nor these.
  Outcome CheckZones(const Candidate& candidate, bool inputs);
  // ... and all outputs are right.
  Outcome Check(const Candidate& candidate, bool inputs);
  CudaResult UploadInputs();
  CudaResult ClearOutputs();
  Outcome Failed(CudaResult code, const std::string& doing) const;

  std::unique_ptr<Device> device_;
  WorkloadData data_;
  std::map<int, DeviceBuffer> inputs_, outputs_;  // by tensor id
  std::vector<UserBuffer> buffers_;               // of a kernel without a workload
  FirstContents first_contents_;
  std::unique_ptr<RangeProfiler> profiler_;       // made when it is asked for
  SequenceReplay sequence_;
  bool has_reference_ = false;
};

}  // namespace kindred
