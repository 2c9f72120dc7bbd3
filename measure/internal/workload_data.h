// What a worker keeps of the workload it serves: inputs, room for the outputs, and what these
// should be.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "measure/internal/guarded_buffer.h"
#include "measure/internal/protocol.h"
#include "measure/internal/validate.h"
#include "schedules/base/hash.h"
#include "schedules/base/result.h"
#include "schedules/workload.h"

namespace kindred {

struct WorkloadData {
  Workload workload;
  std::vector<std::int64_t> extents;  // of the symbolic axes
  // By tensor id; the reference's index inputs lie beyond the workload's ids. Inputs are read-only.
  std::map<int, GuardedBuffer> inputs, outputs;
  Hash128 inputs_hash;
  std::vector<ExpectedOutput> expected;  // in the order of the workload's outputs; without values
  std::vector<int> output_tensors;       // of `expected`
};

// Fills the inputs from the seed. Error: the text does not parse; no memory for the buffers.
Result<WorkloadData> OpenWorkload(const OpenRequest& request);

// For which values of its symbolic axes a workload is measured.
std::vector<std::int64_t> MeasuredExtents(const Workload& workload);

}  // namespace kindred
