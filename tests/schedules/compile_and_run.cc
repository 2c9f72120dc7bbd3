#include "tests/schedules/compile_and_run.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "schedules/base/seed.h"
#include "schedules/emit_cuda.h"
#include "schedules/inputs.h"
#include "schedules/tolerance.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/schedules/interpreter.h"

namespace kindred::test {
namespace {

constexpr std::size_t kPerUnit = 24;
constexpr std::byte kJunk{0xa5};

using Entry = int (*)(void* const*, const std::int64_t*, void*);

// A buffer that ends (or begins) at a page which must not be touched.
class GuardedBuffer {
 public:
  GuardedBuffer(std::size_t bytes, bool guard_behind) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = std::max<std::size_t>((bytes + page - 1) / page * page, page);
    mapped_ = inner + 2 * page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) != 0)
      std::abort();
    data_ = base_ + page + (guard_behind ? inner - bytes : 0);
    std::fill_n(data_, bytes_, kJunk);
  }
  ~GuardedBuffer() { munmap(base_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  std::byte* data() { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_, mapped_ = 0;
  std::byte *base_ = nullptr, *data_ = nullptr;
};

sigjmp_buf g_escape;
volatile void* g_address;

void OnFault(int, siginfo_t* info, void*) {
  g_address = info->si_addr;
  siglongjmp(g_escape, 1);
}

// Calls the entry; the error names a touched page or the code returned.
Result<void> CallGuarded(Entry entry, void* const* buffers, const std::int64_t* extents,
                         void* workspace) {
  struct sigaction action = {}, old_segv = {}, old_fpe = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &old_segv);
  sigaction(SIGFPE, &action, &old_fpe);
  volatile int code = 0;
  volatile bool faulted = false;
  if (sigsetjmp(g_escape, 1) == 0)
    code = entry(buffers, extents, workspace);
  else
    faulted = true;
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGFPE, &old_fpe, nullptr);
  if (faulted)
    return Internal(fmt::format("fault at address {}",
                                reinterpret_cast<std::uintptr_t>(const_cast<void*>(g_address))));
  if (code != 0) return Internal(fmt::format("the kernel returned {}", static_cast<int>(code)));
  return {};
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::int64_t BytesOf(const KernelArgument& a) { return a.elements * ByteSize(a.type); }

}  // namespace

KernelBatch::~KernelBatch() {
  for (void* library : libraries_) dlclose(library);
  if (!directory_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
}

Result<int> KernelBatch::Add(const Workload& workload, const Program& program, std::string label) {
  KINDRED_CHECK(CheckProgram(program));
  Program named = program;
  named.name = fmt::format("kernel_{}", kernels_.size());
  kernels_.push_back({workload,
                      target_.kind == DeviceKind::kCuda ? EmitCuda(named, workload)
                                                        : EmitC(named, workload, target_),
                      std::move(label), nullptr});
  return static_cast<int>(kernels_.size()) - 1;
}

Result<void> KernelBatch::BuildUnit(const std::string& command,
                                    std::span<const std::size_t> kernels) {
  const std::string stem = fmt::format("{}/unit{}", directory_, libraries_.size());
  std::ofstream out(stem + ".c");
  for (const std::size_t i : kernels) out << kernels_[i].source.code << "\n";
  out.close();
  const std::string whole =
      fmt::format("{0} -w -shared -fPIC -o {1}.so {1}.c -lm 2> {1}.log", command, stem);
  if (std::system(whole.c_str()) != 0)
    return Internal(fmt::format("{}\n{}", whole, ReadFile(stem + ".log").substr(0, 4000)));
  // OpenMP's threads outlive the kernels: their library must stay.
  const int keep = command.find("-fopenmp") == std::string::npos ? 0 : RTLD_NODELETE;
  void* library = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL | keep);
  if (library == nullptr) return Internal(dlerror());
  libraries_.push_back(library);
  for (const std::size_t i : kernels) kernels_[i].library = library;
  return {};
}

Result<void> KernelBatch::Build() {
  if (target_.kind == DeviceKind::kCuda) return {};  // Emulate compiles each
  std::string pattern = (std::filesystem::temp_directory_path() / "kindred-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return Environment("no temporary directory");
  directory_ = pattern;
  std::map<std::string, std::vector<std::size_t>> units;  // by how they are compiled
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const KernelSource& source = kernels_[i].source;
    std::string command = fmt::format("gcc -march=native {}", options_);
    if (options_.empty()) {
      command = fmt::format("{} {}", source.compiler, fmt::join(source.flags, " "));
    } else if (std::find(source.flags.begin(), source.flags.end(), "-fopenmp") !=
               source.flags.end()) {
      command += " -fopenmp";
    }
    units[command].push_back(i);
  }
  for (const auto& [command, kernels] : units)
    for (std::span<const std::size_t> rest = kernels; !rest.empty();) {
      const auto unit = rest.first(std::min(kPerUnit, rest.size()));
      KINDRED_CHECK(BuildUnit(command, unit));
      rest = rest.subspan(unit.size());
    }
  return {};
}

Result<std::vector<Bytes>> KernelBatch::RunOnce(const Kernel& kernel,
                                                const std::vector<Bytes>& inputs,
                                                const std::vector<std::int64_t>& extents,
                                                bool guard_behind) {
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<void*> pointers;
  std::size_t input = 0;
  for (const KernelArgument& a : kernel.source.arguments) {
    buffers.push_back(
        std::make_unique<GuardedBuffer>(static_cast<std::size_t>(BytesOf(a)), guard_behind));
    pointers.push_back(buffers.back()->data());
    if (a.access != KernelArgument::Access::kRead) continue;
    const Bytes& data = inputs.at(input++);
    if (data.size() != buffers.back()->size())
      return Internal(fmt::format("input {} has {} bytes, the kernel expects {}", a.name,
                                  data.size(), buffers.back()->size()));
    std::copy(data.begin(), data.end(), buffers.back()->data());
  }
  GuardedBuffer workspace(static_cast<std::size_t>(kernel.source.workspace_bytes), guard_behind);
  for (const std::string& name : {kernel.source.prepare_entry, kernel.source.entry}) {
    if (name.empty()) continue;
    void* symbol = dlsym(kernel.library, name.c_str());
    if (symbol == nullptr) return Internal(fmt::format("{} is not in the library", name));
    KINDRED_CHECK(CallGuarded(reinterpret_cast<Entry>(symbol), pointers.data(), extents.data(),
                              workspace.data()));
  }
  std::vector<Bytes> outputs;
  input = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Bytes data(buffers[i]->data(), buffers[i]->data() + buffers[i]->size());
    const auto access = kernel.source.arguments[i].access;
    if (access == KernelArgument::Access::kWrite) outputs.push_back(data);
    if (access == KernelArgument::Access::kRead && data != inputs[input++])
      return Internal("the kernel wrote to input " + kernel.source.arguments[i].name);
  }
  return outputs;
}

Result<std::vector<Bytes>> KernelBatch::Emulate(const Kernel& kernel,
                                                const std::vector<Bytes>& inputs,
                                                const std::vector<std::int64_t>& extents) {
  std::vector<Bytes> buffers;
  std::vector<std::span<std::byte>> spans;
  std::size_t input = 0;
  for (const KernelArgument& a : kernel.source.arguments) {
    if (a.access == KernelArgument::Access::kRead)
      buffers.push_back(inputs.at(input++));
    else
      buffers.emplace_back(static_cast<std::size_t>(BytesOf(a)), kJunk);
    if (buffers.back().size() != static_cast<std::size_t>(BytesOf(a)))
      return Internal(fmt::format("input {} has {} bytes, the kernel expects {}", a.name,
                                  buffers.back().size(), BytesOf(a)));
  }
  for (Bytes& buffer : buffers) spans.emplace_back(buffer);
  KINDRED_TRY(const cuda_emulation::Report report,
              cuda_emulation::RunSource(kernel.source, extents, spans, {.block_order = 1}));
  if (report.finding)
    return Internal(fmt::format("{}: {}", Name(report.finding->mistake), report.finding->message));
  std::vector<Bytes> outputs;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (kernel.source.arguments[i].access == KernelArgument::Access::kWrite)
      outputs.push_back(std::move(buffers[i]));
  return outputs;
}

Result<std::vector<Bytes>> KernelBatch::Run(int kernel, const std::vector<Bytes>& inputs,
                                            const std::vector<std::int64_t>& extents) {
  const Kernel& k = kernels_.at(static_cast<std::size_t>(kernel));
  if (target_.kind == DeviceKind::kCuda) return Emulate(k, inputs, extents);
  KINDRED_TRY(auto behind, RunOnce(k, inputs, extents, true));
  KINDRED_TRY(const auto before, RunOnce(k, inputs, extents, false));
  // Different alignments may give different code paths, but not different results.
  if (behind != before) return Internal("two runs on the same inputs differ");
  return behind;
}

std::vector<Bytes> InputBytes(const Workload& workload, std::uint64_t seed) {
  std::vector<Bytes> inputs;
  for (const int id : ArgumentTensors(workload)) {
    const Tensor& t = workload.tensors[static_cast<std::size_t>(id)];
    if (t.role == Role::kOutput) continue;
    Bytes data(static_cast<std::size_t>(kindred::Bytes(t)));
    FillInput(workload, id, seed, data);
    inputs.push_back(std::move(data));
  }
  return inputs;
}

namespace {

Path RandomPath(const Space& space, Random* random, const Choice& sketch) {
  Path path = {sketch};
  while (const auto decision = space.Next(path)) {
    const std::size_t option = random ? random->Below(decision->options.size()) : 0;
    path.push_back({decision->name, decision->options[option],
                    decision->labels.empty() ? "" : decision->labels[option]});
  }
  return path;
}

// Values of the outputs, and how far from them a right kernel may be.
struct Expected {
  const Workload* workload = nullptr;
  std::vector<Bytes> inputs;
  std::vector<TensorValues> values, bounds, choices;
};

Expected Interpreted(const Workload& workload, std::uint64_t seed) {
  Expected expected{&workload, InputBytes(workload, seed), {}, {}, {}};
  const ReferenceWorkload reference = WithErrorBounds(workload);
  std::vector<TensorValues> values(reference.workload.tensors.size());
  std::size_t next = 0;
  for (const int id : ArgumentTensors(workload)) {
    const Tensor& t = workload.tensors[static_cast<std::size_t>(id)];
    if (t.role != Role::kOutput)
      values[static_cast<std::size_t>(id)] = FromBytes(t, expected.inputs[next++]);
  }
  values = Interpret(reference.workload, std::move(values));
  for (const auto& output : reference.outputs) {
    expected.values.push_back(values[static_cast<std::size_t>(output.value)]);
    expected.bounds.push_back(values[static_cast<std::size_t>(output.bound)]);
    expected.choices.push_back(
        output.choices < 0 ? TensorValues{} : values[static_cast<std::size_t>(output.choices)]);
  }
  return expected;
}

// "" or the first element out of bounds.
std::string FirstDifference(const Expected& expected, const std::vector<Bytes>& outputs) {
  std::size_t output = 0;
  for (const int id : ArgumentTensors(*expected.workload)) {
    const Tensor& t = expected.workload->tensors[static_cast<std::size_t>(id)];
    if (t.role != Role::kOutput) continue;
    const TensorValues got = FromBytes(t, outputs.at(output)), &want = expected.values[output];
    const std::vector<double>& bounds = expected.bounds[output].floats;
    const std::vector<std::int64_t>& choices = expected.choices[output++].integers;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (IsInteger(t.type)) {
        const std::int64_t index = got.integers[i];
        const auto count = static_cast<std::int64_t>(choices.size() / bounds.size());
        const bool right =
            choices.empty() ? std::fabs(static_cast<double>(index - want.integers[i])) <= bounds[i]
                            : index >= 0 && index < count &&
                                  choices[i * static_cast<std::size_t>(count) +
                                          static_cast<std::size_t>(index)] != 0;
        if (!right)
          return fmt::format("{}[{}] is {}, not {}", t.name, i, got.integers[i], want.integers[i]);
        continue;
      }
      const double x = got.floats[i], y = want.floats[i];
      const bool same = x == y || (std::isnan(x) && std::isnan(y));
      if (!same && !(std::fabs(x - y) <= bounds[i]))
        return fmt::format("{}[{}] is {}, not {} +- {}", t.name, i, x, y, bounds[i]);
    }
  }
  return "";
}

std::string Compare(KernelBatch& batch, int kernel, const Expected& expected) {
  std::vector<std::int64_t> extents;
  for (const Symbol& s : expected.workload->symbols)
    extents.push_back(s.likely.empty() ? s.high : s.likely[0]);
  const auto outputs = batch.Run(kernel, expected.inputs, extents);
  return outputs ? FirstDifference(expected, *outputs) : outputs.error().message;
}

}  // namespace

std::string CompareWithInterpreter(KernelBatch& batch, int kernel, const Workload& workload,
                                   std::uint64_t seed) {
  return Compare(batch, kernel, Interpreted(workload, seed));
}

std::vector<Path> RandomPaths(const Space& space, int count, std::uint64_t seed) {
  Random random(seed);
  const Decision first = *space.Next({});
  std::vector<Path> paths;
  for (int i = 0; i < count; ++i) {
    const std::size_t option = i == 0 ? 0 : random.Below(first.options.size());
    paths.push_back(RandomPath(space, i == 0 ? nullptr : &random,
                               {first.name, first.options[option], first.labels[option]}));
  }
  return paths;
}

std::vector<std::string> DifferentialTest(const std::vector<Workload>& workloads,
                                          const Target& target,
                                          const DifferentialOptions& options) {
  std::vector<std::string> complaints;
  KernelBatch batch(target, options.options);
  std::vector<std::size_t> workload_of;
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    const auto space = MakeSpace(workloads[w], target);
    const Decision first = *space->Next({});
    Random random(DeriveSeed(options.seed, "paths", w));
    std::set<std::string> seen;
    bool offered = options.sketch.empty();
    for (std::size_t s = 0; s < first.options.size(); ++s) {
      if (!options.sketch.empty() && first.labels[s] != options.sketch) continue;
      offered = true;
      for (int i = 0; i < options.paths_per_sketch; ++i) {
        const Path path = RandomPath(*space, i == 0 ? nullptr : &random,
                                     {first.name, first.options[s], first.labels[s]});
        const std::string label = workloads[w].name + " " + PathToJson(path);
        const auto candidate = space->Lower(path);
        if (!candidate) {
          complaints.push_back(label + ": " + candidate.error().message);
          continue;
        }
        if (!seen.insert(candidate->key.Hex()).second) continue;
        const auto added = batch.Add(workloads[w], *candidate->program, label);
        if (!added)
          complaints.push_back(label + ": " + added.error().message);
        else
          workload_of.push_back(w);
      }
    }
    if (!offered)
      complaints.push_back(workloads[w].name + ": the sketch " + options.sketch +
                           " does not apply");
  }
  if (const auto built = batch.Build(); !built) {
    complaints.push_back(built.error().message);
    return complaints;
  }
  Expected expected;
  for (int k = 0; k < batch.size(); ++k) {
    const std::size_t w = workload_of[static_cast<std::size_t>(k)];
    if (expected.workload != &workloads[w]) expected = Interpreted(workloads[w], options.seed);
    const std::string bad = Compare(batch, k, expected);
    if (!bad.empty()) complaints.push_back(batch.Label(k) + ": " + bad);
  }
  return complaints;
}

Target TestTarget(int vector_bytes) {
  Target target;
  target.vector_bytes = vector_bytes;
  target.vector_registers = vector_bytes == 64 ? 32 : 16;
  return target;
}

}  // namespace kindred::test
