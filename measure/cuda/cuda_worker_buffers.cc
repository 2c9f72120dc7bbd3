// The requests of a CUDA worker that concern kernels without a workload.
#include "measure/cuda/cuda_worker_state.h"

namespace kindred {

Result<void> CudaWorkerState::OpenBuffers(const OpenBuffersRequest& request) {
  Close();
  buffers_ = request.buffers;
  KINDRED_CHECK(OpenUserBuffers(request, data_, first_contents_));
  return AllocateBuffers(static_cast<int>(request.buffers.size()));
}

Outcome CudaWorkerState::RunReference(const TakeReferenceRequest& request) {
  if (const CudaResult code = ClearOutputs(); code != 0)
    return Failed(code, "before the kernel began");
  CandidateRequest as_candidate;
  as_candidate.call = request.call;
  Candidate candidate;
  Outcome outcome = Prepare(as_candidate, &candidate);
  if (outcome.status != Status::kOk) return outcome;
  const GroupTimes run = RunGroup(device(), candidate.kernels, 1, true);
  if (run.code != 0) return Failed(run.code, "in the first run");
  outcome = CheckZones(candidate, true);
  if (outcome.status != Status::kOk) return outcome;
  for (const auto& [id, buffer] : outputs_)
    if (const CudaResult code = buffer.Read(data_.outputs.at(id).span()); code != 0)
      return Failed(code, "when its outputs were copied back");
  ExpectOutputs(buffers_, data_);
  if (const auto saved = SaveBuffers(request.save_to, buffers_, data_, first_contents_); !saved) {
    outcome.status = Status::kRunError;
    outcome.message = saved.error().message;
    return outcome;
  }
  has_reference_ = true;
  return {};
}

Outcome CudaWorkerState::FillConstants(const Candidate& candidate) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].constant) continue;
    const CudaResult code = candidate.kernels.FillConstant(
        buffers_[i].name, data_.inputs.at(static_cast<int>(i)).span());
    if (code == 0) continue;
    Outcome failed = Failed(code, "when its __constant__ " + buffers_[i].name + " was filled");
    failed.status = Status::kBuildError;
    return failed;
  }
  return {};
}

Answer CudaWorkerState::TakeReference(const TakeReferenceRequest& request) {
  has_reference_ = false;
  Answer answer;
  answer.outcome = RunReference(request);
  if (!has_reference_) answer.ends = !device_->alive() || UploadInputs() != 0;
  return answer;
}

}  // namespace kindred
