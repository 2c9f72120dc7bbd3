#include "tests/cuda_emulation/emulation.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <vector>

#include "tests/cuda_emulation/device_interface.h"
#include "tests/cuda_emulation/internal/compile.h"
#include "tests/cuda_emulation/internal/machine.h"
#include "tests/cuda_emulation/internal/memory.h"

namespace kindred::cuda_emulation {
namespace {

constexpr unsigned kMostParameters = 128;

// The value of a parameter.
union Passed {
  std::byte* memory = nullptr;
  std::int64_t value;
};

// Where the library that contains `code` lies in memory.
void FindImage(KernelImage* image, const void* code) {
  struct Search {
    const std::byte* code;
    KernelImage* image;
  } search = {static_cast<const std::byte*>(code), image};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        const auto* s = static_cast<Search*>(data);
        const std::byte *begin = nullptr, *end = nullptr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD) continue;
          const auto* from = reinterpret_cast<const std::byte*>(info->dlpi_addr + part.p_vaddr);
          begin = begin == nullptr ? from : std::min(begin, from);
          end = std::max(end, from + part.p_memsz);
        }
        if (s->code < begin || s->code >= end) return 0;
        s->image->begin = begin;
        s->image->end = end;
        return 1;
      },
      &search);
}

Result<void> CheckLaunch(const Launch& launch) {
  std::uint64_t threads = 1, blocks = 1;
  for (int i = 0; i < 3; ++i) {
    threads *= std::min(launch.block[static_cast<std::size_t>(i)], 4096u);
    blocks *= launch.grid[static_cast<std::size_t>(i)];
  }
  if (threads == 0 || threads > 1024)
    return BadInput(fmt::format("a block has 1 to 1024 threads, not {}", threads));
  if (blocks == 0 || blocks > (1u << 24))
    return BadInput(fmt::format("the emulation runs 1 to 2^24 blocks, not {}", blocks));
  return {};
}

}  // namespace

std::string_view Name(Mistake mistake) {
  switch (mistake) {
    case Mistake::kRace: return "race";
    case Mistake::kBarrierDivergence: return "barrier divergence";
    case Mistake::kOutOfBounds: return "out of bounds";
    case Mistake::kMisaligned: return "misaligned";
    case Mistake::kReadOnly: return "read-only memory";
    case Mistake::kUninitialised: return "uninitialised shared memory";
    case Mistake::kCopyInFlight: return "copy in flight";
    case Mistake::kWarpMask: return "warp mask";
    case Mistake::kTooManyAccesses: return "too many accesses";
  }
  return "";
}

struct Module::State {
  std::unique_ptr<Library> library;
  struct Static {
    Variable variable;
    std::byte* begin = nullptr;
  };
  std::vector<Static> statics;
};

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}
Module::~Module() = default;

Result<std::unique_ptr<Module>> Module::Compile(std::string_view source,
                                                std::span<const std::string> entries,
                                                std::span<const std::string> include_paths) {
  auto state = std::make_unique<State>();
  KINDRED_TRY(state->library, Library::Compile(source, entries, include_paths));
  auto* bind = reinterpret_cast<void (*)(const KdEmulationHost*)>(
      state->library->Symbol("kd_emulation_bind"));
  bind(HostFunctions());
  KernelImage image;
  FindImage(&image, reinterpret_cast<const void*>(bind));
  for (Variable& variable : state->library->Variables()) {
    auto* begin = const_cast<std::byte*>(image.begin) + variable.address;
    state->statics.push_back({std::move(variable), begin});
  }
  return std::unique_ptr<Module>(new Module(std::move(state)));
}

std::vector<Parameter> Module::Parameters(std::string_view entry) const {
  auto* describe = reinterpret_cast<unsigned (*)(KdEmulationParameter*, unsigned)>(
      state_->library->Symbol(fmt::format("kd_emulation_describe_{}", entry)));
  std::array<KdEmulationParameter, kMostParameters> all = {};
  const unsigned count = describe == nullptr ? 0 : describe(all.data(), kMostParameters);
  std::vector<Parameter> parameters;
  for (unsigned i = 0; i < count && i < kMostParameters; ++i)
    parameters.push_back({all[i].element_bytes != 0, all[i].writable != 0});
  return parameters;
}

std::size_t Module::SharedBytes() const {
  std::size_t bytes = 0;
  for (const State::Static& s : state_->statics)
    if (s.variable.shared) bytes += s.variable.bytes;
  return bytes;
}

std::span<std::byte> Module::Global(std::string_view name) const {
  for (const State::Static& s : state_->statics)
    if (!s.variable.shared && s.variable.name == name) return {s.begin, s.variable.bytes};
  return {};
}

Result<Report> Module::Run(std::string_view entry, const Launch& launch,
                           std::span<const Argument> arguments) {
  const Library& library = *state_->library;
  KINDRED_CHECK(CheckLaunch(launch));
  void* call = library.Symbol(fmt::format("kd_emulation_call_{}", entry));
  auto* describe = reinterpret_cast<unsigned (*)(KdEmulationParameter*, unsigned)>(
      library.Symbol(fmt::format("kd_emulation_describe_{}", entry)));
  if (call == nullptr || describe == nullptr)
    return BadInput(fmt::format("the module was compiled without the entry {}", entry));
  std::array<KdEmulationParameter, kMostParameters> parameters = {};
  const unsigned count = describe(parameters.data(), kMostParameters);
  if (count > kMostParameters || count != arguments.size())
    return BadInput(fmt::format("{} has {} parameters, {} arguments were given", entry, count,
                                arguments.size()));

  KINDRED_TRY(auto memory, Memory::Make(launch.shared_bytes));
  std::vector<Passed> passed(arguments.size());
  std::vector<void*> addresses(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* buffer = std::get_if<std::span<std::byte>>(&arguments[i]);
    if ((buffer != nullptr) != (parameters[i].element_bytes != 0))
      return BadInput(fmt::format("parameter {} of {} is {} pointer", i, entry,
                                  buffer != nullptr ? "no" : "a"));
    addresses[i] = &passed[i];
    if (buffer == nullptr) {
      passed[i].value = std::get<std::int64_t>(arguments[i]);
      continue;
    }
    KINDRED_TRY(passed[i].memory,
                memory->AddBuffer(fmt::format("parameter {}", i), buffer->size(),
                                  parameters[i].element_bytes, parameters[i].writable != 0));
    std::copy(buffer->begin(), buffer->end(), passed[i].memory);
  }
  for (const State::Static& s : state_->statics)
    memory->AddStatic(s.variable.name, s.begin, s.variable.bytes, s.variable.shared);
  KernelImage image;
  image.call = reinterpret_cast<void (*)(void**)>(call);
  FindImage(&image, call);
  Machine machine(image, launch, memory.get());
  KINDRED_CHECK(machine.Run(addresses.data()));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const auto* buffer = std::get_if<std::span<std::byte>>(&arguments[i]);
        buffer != nullptr && parameters[i].writable != 0)
      std::copy_n(passed[i].memory, buffer->size(), buffer->begin());

  Report report;
  report.accesses = machine.accesses();
  report.barriers = machine.barriers();
  if (const std::optional<StoppedAt>& stopped = machine.stopped()) {
    report.finding = stopped->finding;
    const int line = stopped->pc != nullptr ? library.LineOf(stopped->pc) : stopped->line;
    if (line > 0)
      report.finding->message = fmt::format("line {}: {}", line, report.finding->message);
  }
  return report;
}

}  // namespace kindred::cuda_emulation
