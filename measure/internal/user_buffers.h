// The buffers of a kernel without a workload, in a worker: filled as their request says, and what
// is right taken from what a kernel has written. For the workers of both kinds of device.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "measure/internal/buffer_protocol.h"
#include "measure/internal/workload_data.h"

namespace kindred {

// What outputs hold before a run, by their place among the buffers: of those that are read too.
using FirstContents = std::map<int, std::vector<std::byte>>;

// Fills `data` and `first`; a buffer's id is its place. Error (kEnvironment): no memory;
// (kBadInput) a file that cannot be read.
Result<void> OpenUserBuffers(const OpenBuffersRequest& request, WorkloadData& data,
                             FirstContents& first);

// What the outputs hold is right from now on, within the buffers' tolerances.
void ExpectOutputs(const std::vector<UserBuffer>& buffers, WorkloadData& data);

// Writes all buffers as NAME.npy, and what outputs held before the run as NAME.before.npy. What
// does not change is written once. Nothing where `folder` is empty. Error (kEnvironment): a file
// cannot be written.
Result<void> SaveBuffers(const std::string& folder, const std::vector<UserBuffer>& buffers,
                         const WorkloadData& data, const FirstContents& first);

}  // namespace kindred
