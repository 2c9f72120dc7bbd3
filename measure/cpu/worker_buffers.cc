// The requests of a worker that concern kernels without a workload.
#include <cstring>

#include "measure/cpu/worker_state.h"
#include "measure/internal/cpu_info.h"

namespace kindred {

Result<void> WorkerState::OpenBuffers(const OpenBuffersRequest& request) {
  Close();
  PinTo(request.cpus);
  processors_ = request.cpus.size();
  buffers_ = request.buffers;
  return OpenUserBuffers(request, data_, first_contents_);
}

void WorkerState::ResetOutputs() {
  for (auto& [id, buffer] : data_.outputs) {
    const auto first = first_contents_.find(id);
    if (first == first_contents_.end())
      buffer.Fill(kUnwritten);
    else
      std::memcpy(buffer.data(), first->second.data(), first->second.size());
  }
}

Result<Outcome> WorkerState::TakeReference(const TakeReferenceRequest& request) {
  has_reference_ = false;
  for (auto& [id, buffer] : data_.outputs) buffer.Mend();
  ResetOutputs();
  KINDRED_TRY(Outcome outcome, RunOnce(request.call));
  if (outcome.status != Status::kOk) return outcome;
  ExpectOutputs(buffers_, data_);
  KINDRED_CHECK(SaveBuffers(request.save_to, buffers_, data_, first_contents_));
  has_reference_ = true;
  return outcome;
}

}  // namespace kindred
