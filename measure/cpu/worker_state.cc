#include "measure/cpu/worker_state.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <optional>

#include "measure/cpu/control_kernel.h"
#include "measure/cpu/fault_report.h"
#include "measure/internal/cpu_info.h"
#include "measure/internal/failure.h"
#include "measure/internal/reference_file.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KINDRED_ADDRESS_SPACE_IS_HUGE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KINDRED_ADDRESS_SPACE_IS_HUGE 1
#endif
#endif

namespace kindred {
namespace {

using EntryFunction = int (*)(void* const* buffers, const std::int64_t* extents, void* workspace);

struct LibraryCloser {
  void operator()(void* handle) const { dlclose(handle); }
};

// Bounds what a candidate may allocate, as long as it lives. Where a sanitizer has reserved the
// address space there is no such bound.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t bytes) {
#if !defined(KINDRED_ADDRESS_SPACE_IS_HUGE)
    if (bytes <= 0) return;
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    std::int64_t pages_in_use = 0;
    std::ifstream("/proc/self/statm") >> pages_in_use;
    limit.rlim_cur = static_cast<rlim_t>(pages_in_use * sysconf(_SC_PAGESIZE) + bytes);
    active_ = setrlimit(RLIMIT_AS, &limit) == 0;
#else
    (void)bytes;
#endif
  }
  ~MemoryLimit() {
    if (active_) setrlimit(RLIMIT_AS, &before_);
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_ = {};
  bool active_ = false;
};

void Name(const GuardedBuffer& buffer, bool read_only) {
  AddRegion({buffer.begin(), buffer.end(), buffer.data(), buffer.bytes(), read_only},
            buffer.name());
}

}  // namespace

// A kernel with all of its buffers.
struct WorkerState::LoadedKernel {
  std::unique_ptr<void, LibraryCloser> library;
  EntryFunction entry = nullptr, prepare = nullptr;
  std::vector<GuardedBuffer> prepared;
  std::optional<GuardedBuffer> workspace;
  std::vector<void*> buffers;  // in the order of the arguments
  // Why it cannot be run, if so.
  std::optional<Outcome> failure;

  int Call(EntryFunction function, const std::vector<std::int64_t>& extents) const {
    errno = 0;
    return function(buffers.data(), extents.data(), workspace ? workspace->data() : nullptr);
  }
};

WorkerState::WorkerState() : control_(RunControlKernel) {}

void WorkerState::Close() {
  has_reference_ = false;
  data_ = {};
  first_contents_.clear();
}

Result<void> WorkerState::Open(const OpenRequest& request) {
  Close();
  PinTo(request.cpus);
  processors_ = request.cpus.size();
  KINDRED_TRY(data_, OpenWorkload(request));
  return {};
}

Result<void> WorkerState::LoadReference(const std::string& file) {
  KINDRED_CHECK(ReadReference(file, data_.inputs_hash, data_.expected));
  has_reference_ = true;
  return {};
}

Result<WorkerState::LoadedKernel> WorkerState::Load(const KernelCall& call) {
  LoadedKernel kernel;
  kernel.library.reset(dlopen(call.library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!kernel.library) {
    kernel.failure = Failure(Status::kBuildError, std::string("cannot be loaded: ") + dlerror());
    return kernel;
  }
  const auto symbol = [&](const std::string& name) {
    const auto function =
        reinterpret_cast<EntryFunction>(dlsym(kernel.library.get(), name.c_str()));
    if (function == nullptr)
      kernel.failure =
          Failure(Status::kBuildError, "the source does not define its entry as a C function");
    return function;
  };
  kernel.entry = symbol(call.entry);
  if (!call.prepare_entry.empty()) kernel.prepare = symbol(call.prepare_entry);

  ClearRegions();
  const auto scratch = [&](const std::string& name,
                           std::int64_t bytes) -> std::optional<GuardedBuffer> {
    auto made = GuardedBuffer::Make(name, bytes);
    if (!made) {
      kernel.failure = Failure(Status::kOutOfMemory, made.error().message);
      return std::nullopt;
    }
    made->Fill(kUnwritten);
    return std::move(*made);
  };
  for (const KernelArgument& argument : call.arguments) {
    const std::int64_t bytes = argument.elements * ByteSize(argument.type);
    if (argument.access == KernelArgument::Access::kPrepared) {
      auto buffer = scratch(argument.name, bytes);
      if (!buffer) return kernel;
      kernel.buffers.push_back(buffer->data());
      Name(*buffer, true);
      kernel.prepared.push_back(std::move(*buffer));
      continue;
    }
    const bool output = data_.outputs.contains(argument.tensor);
    const auto& from = output ? data_.outputs : data_.inputs;
    const auto found = from.find(argument.tensor);
    if (found == from.end() || found->second.bytes() != bytes)
      return Internal("argument " + argument.name + " of a kernel is no tensor of its workload");
    kernel.buffers.push_back(found->second.data());
    Name(found->second, !output);
  }
  if (call.workspace_bytes > 0) {
    kernel.workspace = scratch("workspace", call.workspace_bytes);
    if (kernel.workspace) Name(*kernel.workspace, false);
  }
  return kernel;
}

Result<void> WorkerState::ComputeReference(const ComputeReferenceRequest& request) {
  // Its outputs are f64 or integers, of its own workload.
  std::map<int, GuardedBuffer> usual = std::exchange(data_.outputs, {});
  struct Restore {
    std::map<int, GuardedBuffer>&from, &to;
    ~Restore() { to = std::move(from); }
  } restore{usual, data_.outputs};
  std::map<int, const KernelArgument*> written;
  for (const KernelArgument& argument : request.call.arguments) {
    if (argument.access != KernelArgument::Access::kWrite) continue;
    KINDRED_TRY(GuardedBuffer buffer,
                GuardedBuffer::Make(argument.name, argument.elements * ByteSize(argument.type)));
    data_.outputs.emplace(argument.tensor, std::move(buffer));
    written[argument.tensor] = &argument;
  }
  KINDRED_TRY(LoadedKernel kernel, Load(request.call));
  if (kernel.failure) return Internal("the reference " + kernel.failure->message);
  SetStage("in the reference program");
  const double start = NowNs();
  int code = kernel.prepare != nullptr ? kernel.Call(kernel.prepare, data_.extents) : 0;
  if (code == 0) code = kernel.Call(kernel.entry, data_.extents);
  const double took_s = (NowNs() - start) / 1e9;
  SetStage("");
  if (code != 0) return Internal("the reference program returned " + std::to_string(code));

  if (request.outputs.size() != data_.expected.size())
    return Internal("the reference has another number of outputs than the workload");
  for (std::size_t i = 0; i < data_.expected.size(); ++i) {
    const auto value = written.find(request.outputs[i].value),
               bound = written.find(request.outputs[i].bound);
    if (value == written.end() || bound == written.end() ||
        value->second->elements != bound->second->elements)
      return Internal("the reference does not compute output " + data_.expected[i].name);
    const std::byte* const values = data_.outputs.at(value->first).data();
    const std::byte* const bounds = data_.outputs.at(bound->first).data();
    ExpectedOutput& e = data_.expected[i];
    e.integral = IsInteger(value->second->type);
    for (std::int64_t k = 0; k < value->second->elements; ++k) {
      if (e.integral) {
        e.integers.push_back(ReadInteger(value->second->type, values, k));
      } else {
        e.values.push_back(ReadElement(value->second->type, values, k));
      }
      e.bounds.push_back(ReadElement(bound->second->type, bounds, k));
    }
    if (request.outputs[i].choices < 0) continue;
    const auto choices = written.find(request.outputs[i].choices);
    if (choices == written.end())
      return Internal("the reference does not compute the choices of " + data_.expected[i].name);
    for (std::int64_t k = 0; k < choices->second->elements; ++k)
      e.choices.push_back(static_cast<std::uint8_t>(
          ReadInteger(DataType::kBool, data_.outputs.at(choices->first).data(), k)));
  }
  has_reference_ = true;
  if (took_s >= request.keep_from_s)
    return WriteReference(request.file, data_.inputs_hash, data_.expected);
  return {};
}

Outcome WorkerState::Check(const LoadedKernel& kernel) const {
  for (const auto& [tensor, buffer] : data_.outputs) {
    if (std::string damage = buffer.Damage(); !damage.empty())
      return Failure(Status::kOutOfBounds, "output " + damage);
  }
  for (const GuardedBuffer& buffer : kernel.prepared) {
    if (std::string damage = buffer.Damage(); !damage.empty())
      return Failure(Status::kOutOfBounds, "prepared buffer " + damage);
  }
  if (kernel.workspace) {
    if (std::string damage = kernel.workspace->Damage(); !damage.empty())
      return Failure(Status::kOutOfBounds, damage);
  }
  for (std::size_t i = 0; i < data_.expected.size(); ++i) {
    std::string difference =
        FirstDifference(data_.expected[i], data_.outputs.at(data_.output_tensors[i]).data());
    if (!difference.empty()) return Failure(Status::kWrongAnswer, std::move(difference));
  }
  return {};
}

Result<Outcome> WorkerState::Measure(const CandidateRequest& request) {
  if (!has_reference_) return Internal("a candidate came before the reference");
  for (auto& [tensor, buffer] : data_.outputs) buffer.Mend();
  ResetOutputs();
  KINDRED_TRY(LoadedKernel kernel, Load(request.call));
  if (kernel.failure) return std::move(*kernel.failure);
  Outcome outcome;
  {
    const MemoryLimit limit(request.limits.memory_bytes);
    try {
      outcome = Run(kernel, request);
    } catch (const std::bad_alloc&) {  // the candidate has left nothing for the worker itself
      outcome = Failure(Status::kOutOfMemory, "no memory left after a run");
    }
  }
  SetStage("");
  ClearRegions();
  return outcome;
}

Result<Outcome> WorkerState::RunOnce(const KernelCall& call) {
  KINDRED_TRY(LoadedKernel kernel, Load(call));
  if (kernel.failure) return std::move(*kernel.failure);
  SetStage("in the first run");
  const int code = kernel.Call(kernel.entry, data_.extents);
  SetStage("");
  ClearRegions();
  if (code != 0) return Failure(Status::kRunError, "the kernel returned " + std::to_string(code));
  for (const auto& [id, buffer] : data_.outputs)
    if (std::string damage = buffer.Damage(); !damage.empty())
      return Failure(Status::kOutOfBounds, "output " + damage);
  return Outcome{};
}

Outcome WorkerState::Run(LoadedKernel& kernel, const CandidateRequest& request) {
  const auto error = [](const char* what, int code) {
    if (errno == ENOMEM)
      return Failure(Status::kOutOfMemory, std::string(what) + " returned " + std::to_string(code) +
                                               " after an allocation failed");
    return Failure(Status::kRunError, std::string(what) + " returned " + std::to_string(code));
  };
  if (kernel.prepare != nullptr) {
    SetStage("in the prepare step");
    if (const int code = kernel.Call(kernel.prepare, data_.extents); code != 0)
      return error("the prepare step", code);
    for (const GuardedBuffer& buffer : kernel.prepared) {
      if (std::string damage = buffer.Damage(); !damage.empty())
        return Failure(Status::kOutOfBounds, "prepared buffer " + damage);
    }
  }
  for (GuardedBuffer& buffer : kernel.prepared) buffer.SetReadOnly(true);
  SetStage("in the first run");
  const double start = NowNs();
  const int code = kernel.Call(kernel.entry, data_.extents);
  const double first_run_ns = NowNs() - start;
  if (code != 0) return error("the kernel", code);
  Outcome outcome = Check(kernel);
  if (outcome.status != Status::kOk) return outcome;

  SetStage("while it was timed");
  TimingRequest timing_request;
  timing_request.limits = request.limits;
  timing_request.incumbent_ns = request.incumbent_ns;
  timing_request.never_abandon = request.never_abandon;
  timing_request.first_run_ns = first_run_ns;
  TimingClocks clocks = {NowNs, {}};
  if (processors_ == 1) clocks.on_processor = ThreadRunNs;
  Timing timing = TakeSamples(
      timing_request, clocks, [&] { return kernel.Call(kernel.entry, data_.extents); }, control_);
  if (timing.run_error != 0) return error("a repeated run", timing.run_error);
  if (!first_contents_.empty()) {  // the timed runs went on from each other's results
    ResetOutputs();
    if (const int repeated = kernel.Call(kernel.entry, data_.extents); repeated != 0)
      return error("a repeated run", repeated);
  }
  // Again: a kernel that relies on what its first run left behind is wrong.
  outcome = Check(kernel);
  if (outcome.status != Status::kOk) {
    outcome.message += " (in a repeated run; the first was right)";
    return outcome;
  }
  outcome.status = timing.abandoned ? Status::kAbandoned : Status::kOk;
  outcome.validated = true;
  outcome.median_ns = timing.median_ns;
  outcome.samples = std::move(timing.samples);
  outcome.control_ns = timing.control_ns;
  return outcome;
}

}  // namespace kindred
