#include "measure/cuda/cuda_worker_state.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "measure/cuda/host_clock.h"
#include "measure/internal/failure.h"
#include "measure/internal/reference_file.h"

namespace kindred {

Outcome CudaWorkerState::Failed(CudaResult code, const std::string& doing) const {
  return Failure(StatusOf(code), device_->api().Text(code) + " " + doing);
}

CudaResult CudaWorkerState::UploadInputs() {
  for (const auto& [tensor, buffer] : inputs_) {
    CudaResult code = buffer.Mend();
    if (code == 0) code = buffer.Write(data_.inputs.at(tensor).span());
    if (code != 0) return code;
  }
  return 0;
}

CudaResult CudaWorkerState::ClearOutputs() {
  for (const auto& [tensor, buffer] : outputs_) {
    CudaResult code = buffer.Mend();
    const auto first = first_contents_.find(tensor);
    if (code == 0)
      code = first == first_contents_.end() ? buffer.Fill(kUnwritten) : buffer.Write(first->second);
    if (code != 0) return code;
  }
  return 0;
}

void CudaWorkerState::Close() {
  has_reference_ = false;
  inputs_.clear();
  outputs_.clear();
  data_ = {};
  buffers_.clear();
  first_contents_.clear();
}

Result<void> CudaWorkerState::Open(const OpenRequest& request) {
  Close();
  KINDRED_TRY(data_, OpenWorkload(request));
  return AllocateBuffers(static_cast<int>(data_.workload.tensors.size()));
}

Result<void> CudaWorkerState::AllocateBuffers(int inputs) {
  const auto allocate = [&](int tensor, const GuardedBuffer& host,
                            std::map<int, DeviceBuffer>* to) -> Result<void> {
    DeviceBuffer buffer;
    const CudaResult code =
        DeviceBuffer::Make(device_->api(), device_->stream(), host.name(), host.bytes(), &buffer);
    if (code != 0)
      return Environment("no memory on the device for buffer " + host.name() + " of " +
                         std::to_string(host.bytes()) + " bytes: " + device_->api().Text(code));
    to->emplace(tensor, std::move(buffer));
    return {};
  };
  for (const auto& [tensor, host] : data_.inputs)
    if (tensor < inputs) KINDRED_CHECK(allocate(tensor, host, &inputs_));
  for (const auto& [tensor, host] : data_.outputs) KINDRED_CHECK(allocate(tensor, host, &outputs_));
  if (const CudaResult code = UploadInputs(); code != 0)
    return Environment("the inputs cannot be copied to the device: " + device_->api().Text(code));
  return {};
}

Result<void> CudaWorkerState::LoadReference(const std::string& file) {
  KINDRED_CHECK(ReadReference(file, data_.inputs_hash, data_.expected));
  has_reference_ = true;
  return {};
}

std::string CudaWorkerState::MemoryExcess(const CandidateRequest& request) const {
  const std::int64_t asked = request.call.workspace_bytes, limit = request.limits.memory_bytes;
  // What one kernel per stage would keep there is the workload's own.
  std::int64_t intermediates = 0, tensors = 0;
  for (const Stage& stage : data_.workload.stages) {
    const Tensor& tensor = data_.workload.tensors[static_cast<std::size_t>(stage.tensor)];
    if (tensor.role == Role::kTemporary) intermediates += Bytes(tensor);
  }
  for (const auto& buffers : {&inputs_, &outputs_})
    for (const auto& [tensor, buffer] : *buffers) tensors += buffer.bytes();
  const std::string needs = "it needs a workspace of " + std::to_string(asked) + " bytes; ";
  if (limit > 0 && asked > limit + intermediates)
    return needs + "a candidate may have " + std::to_string(limit) +
           " more than its workload's intermediate tensors (" + std::to_string(intermediates) + ")";
  const std::int64_t device = device_->facts().memory_bytes;
  if (asked > device - tensors)
    return needs + "the device has " + std::to_string(device) +
           ", and the workload's tensors take " + std::to_string(tensors);
  return {};
}

Outcome CudaWorkerState::Prepare(const CandidateRequest& request, Candidate* candidate) {
  const KernelCall& call = request.call;
  std::vector<CudaPointer> arguments;
  for (const KernelArgument& argument : call.arguments) {
    const auto& from = outputs_.contains(argument.tensor) ? outputs_ : inputs_;
    const auto found = from.find(argument.tensor);
    if (found == from.end() || found->second.bytes() != argument.elements * ByteSize(argument.type))
      return Failure(Status::kBuildError,
                     "argument " + argument.name + " of a kernel is no tensor of its workload");
    arguments.push_back(found->second.data());
  }
  if (std::string excess = MemoryExcess(request); !excess.empty())
    return Failure(Status::kOutOfMemory, std::move(excess));
  if (call.workspace_bytes > 0) {
    CudaResult code = DeviceBuffer::Make(device_->api(), device_->stream(), "the workspace",
                                         call.workspace_bytes, &candidate->workspace);
    if (code == 0) code = candidate->workspace.Fill(kUnwritten);
    if (code != 0)
      return Failed(code, "for a workspace of " + std::to_string(call.workspace_bytes) + " bytes");
  }
  std::ifstream file(call.library, std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(file), {});
  if (image.empty()) return Failure(Status::kBuildError, "there is no cubin " + call.library);
  if (const CudaResult code = candidate->kernels.Load(*device_, image, call.launches, arguments,
                                                      candidate->workspace.data(), data_.extents);
      code != 0)
    return Failed(code, "when it was loaded");
  return FillConstants(*candidate);
}

Outcome CudaWorkerState::CheckZones(const Candidate& candidate, bool inputs) {
  std::string damage;
  CudaResult code = 0;
  for (const auto& [tensor, buffer] : outputs_) {
    if (code == 0) code = buffer.Damage(&damage);
    if (!damage.empty()) return Failure(Status::kOutOfBounds, "output " + damage);
  }
  if (candidate.workspace.data() != 0) {
    if (code == 0) code = candidate.workspace.Damage(&damage);
    if (!damage.empty()) return Failure(Status::kOutOfBounds, damage);
  }
  for (const auto& [tensor, buffer] : inputs_) {
    if (!inputs) break;
    bool same = true;
    if (code == 0) code = buffer.Damage(&damage);
    if (!damage.empty()) return Failure(Status::kOutOfBounds, "input " + damage);
    if (code == 0) code = buffer.Equal(data_.inputs.at(tensor).span(), &same);
    if (!same) return Failure(Status::kOutOfBounds, "input " + buffer.name() + " was written");
  }
  return code == 0 ? Outcome{} : Failed(code, "when its outputs were copied back");
}

Outcome CudaWorkerState::Check(const Candidate& candidate, bool inputs) {
  Outcome outcome = CheckZones(candidate, inputs);
  if (outcome.status != Status::kOk) return outcome;
  CudaResult code = 0;
  for (std::size_t i = 0; i < data_.expected.size() && code == 0; ++i) {
    const int tensor = data_.output_tensors[i];
    const GuardedBuffer& host = data_.outputs.at(tensor);
    code = outputs_.at(tensor).Read(host.span());
    if (code != 0) break;
    std::string difference = FirstDifference(data_.expected[i], host.data());
    if (!difference.empty()) return Failure(Status::kWrongAnswer, std::move(difference));
  }
  return code == 0 ? Outcome{} : Failed(code, "when its outputs were copied back");
}

Outcome CudaWorkerState::Run(const CandidateRequest& request, double* device_s) {
  if (const CudaResult code = ClearOutputs(); code != 0)
    return Failed(code, "before the kernel began");
  Candidate candidate;
  Outcome outcome = Prepare(request, &candidate);
  if (outcome.status != Status::kOk) return outcome;

  const double begin_ns = HostNow_ns();
  DeviceTiming timing;
  struct Spent {
    const double begin_ns;
    const DeviceTiming& timing;
    double* device_s;
    ~Spent() { *device_s = (HostNow_ns() - begin_ns) / 1e9 - timing.waited_s; }
  } spent{begin_ns, timing, device_s};

  const GroupTimes first = RunGroup(*device_, candidate.kernels, 1, true);
  if (first.code != 0) return Failed(first.code, "in the first run");
  outcome = Check(candidate, false);
  if (outcome.status != Status::kOk) return outcome;

  TimingRequest timing_request;
  timing_request.limits = request.limits;
  timing_request.incumbent_ns = request.incumbent_ns;
  timing_request.never_abandon = request.never_abandon;
  timing_request.first_run_ns = first.run_ns.front();
  CudaResult code = 0;
  TimedDevice timed = OnHostClock(*device_);
  timed.run_group = [&](int runs) -> std::optional<std::vector<double>> {
    GroupTimes group = RunGroup(*device_, candidate.kernels, runs, request.cold);
    code = group.code;
    if (code != 0) return std::nullopt;
    return std::move(group.run_ns);
  };
  timing = TakeDeviceSamples(timing_request, timed);
  if (timing.failed) return Failed(code, "in a repeated run");
  if (!first_contents_.empty()) {  // the timed runs went on from each other's results
    code = ClearOutputs();
    if (code == 0) code = RunGroup(*device_, candidate.kernels, 1, request.cold).code;
    if (code != 0) return Failed(code, "in a repeated run");
  }
  // Again: a kernel that relies on what its first run left behind is wrong.
  outcome = Check(candidate, true);
  if (outcome.status != Status::kOk) {
    outcome.message += " (in a repeated run; the first was right)";
    return outcome;
  }
  outcome.status = timing.abandoned ? Status::kAbandoned : Status::kOk;
  outcome.validated = true;
  outcome.median_ns = timing.median_ns;
  outcome.samples = timing.samples;
  outcome.timer = device_->facts().timer;
  outcome.cold = request.cold;
  outcome.sm_clock_mhz = timing.sm_clock_mhz;
  outcome.throttled = timing.throttled;
  return outcome;
}

Result<Answer> CudaWorkerState::Measure(const CandidateRequest& request) {
  if (!has_reference_) return Internal("a candidate came before the reference");
  Answer answer;
  answer.outcome = Run(request, &answer.device_s);
  // After a failure the buffers may hold anything, or the device's context may be dead.
  if (!answer.outcome.Timed()) answer.ends = !device_->alive() || UploadInputs() != 0;
  return answer;
}

Result<std::map<std::string, double>> CudaWorkerState::Profile(const ProfileRequest& request) {
  CandidateRequest asked;
  asked.call = request.call;
  asked.limits = request.limits;
  Candidate candidate;
  CudaResult code = ClearOutputs();
  if (code == 0)
    if (const Outcome prepared = Prepare(asked, &candidate); prepared.status != Status::kOk)
      return Environment("no hardware counters: " + prepared.message);
  if (code == 0 && profiler_ == nullptr) {
    KINDRED_TRY(profiler_, RangeProfiler::Start(device_->facts().index, device_->context()));
  }
  const auto waited = [this] { return device_->api().stream_synchronize(device_->stream()); };
  const auto before = [&] {
    CudaResult done = request.cold ? device_->Flush(1) : candidate.kernels.Launch();
    return done == 0 ? waited() : done;
  };
  const auto run = [&] {
    const CudaResult done = candidate.kernels.Launch();
    return done == 0 ? waited() : done;
  };
  if (code == 0) code = run();  // what the kernel does wrong shows here
  if (code == 0) return profiler_->Collect(before, run);
  return Environment("no hardware counters: " + device_->api().Text(code));
}

}  // namespace kindred
