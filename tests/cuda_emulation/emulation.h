// CUDA kernels without a GPU: the text of a kernel is compiled as host C++ and run thread by
// thread, and what a GPU would let pass in silence is found.
//
// The threads of a block are fibres; blocks run one after the other. Found are: races (two threads
// touch a byte, one writes, and no barrier orders them; two blocks likewise), barriers that not all
// threads reach, accesses outside of buffers and of shared arrays, misaligned ones, shared memory
// that is read before it was written, data of cp.async used before the wait, shuffles and votes
// whose mask is wrong. A test device: it never says how long anything takes.
//
// What is not modelled: named barriers, mbarriers, tensor cores, TMA; races of threads that spin
// on memory (they hang: a run ends after `max_accesses`); rounding of contracted multiply-adds.
// Thread safety: none; a Module belongs to one thread. Sizes in bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/kernel.h"

namespace kindred::cuda_emulation {

enum class Mistake : std::uint8_t {
  kRace,
  kBarrierDivergence,  // also threads that wait for each other for ever
  kOutOfBounds,
  kMisaligned,
  kReadOnly,       // write to an argument declared const, or a cached read of what was written
  kUninitialised,  // shared memory
  kCopyInFlight,   // bytes of a cp.async touched before its wait
  kWarpMask,       // a mask without its caller or with absent lanes, a lane read that is not in it
  kTooManyAccesses,  // taken for an endless loop
};

std::string_view Name(Mistake mistake);

struct Finding {
  Mistake mistake = Mistake::kRace;
  std::string message;  // who did what to which bytes, with thread, block and line of the kernel
};

struct Launch {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  unsigned shared_bytes = 0;      // dynamic shared memory
  std::uint64_t block_order = 0;  // 0: ascending; otherwise a seed of a random order
  std::int64_t max_accesses = 1LL << 31;
};

struct Report {
  std::optional<Finding> finding;  // the first mistake; the run ended there
  std::int64_t accesses = 0;       // to global and shared memory
  std::int64_t barriers = 0;       // of whole blocks
};

// What a parameter is given: the memory that it points to, of exactly this size, or a number.
using Argument = std::variant<std::span<std::byte>, std::int64_t>;

struct Parameter {
  bool pointer = false;
  bool writable = false;  // what it points to
};

class Module {
 public:
  // Compiles `source` with g++; `entries` are its extern "C" kernels. Error (kEnvironment): there
  // is no g++ or no temporary directory; (kBadInput): the source does not compile, with what g++
  // says.
  static Result<std::unique_ptr<Module>> Compile(std::string_view source,
                                                 std::span<const std::string> entries,
                                                 std::span<const std::string> include_paths = {});
  ~Module();

  // Of a kernel; none for an entry that the module was compiled without.
  std::vector<Parameter> Parameters(std::string_view entry) const;

  // Of the static arrays in shared memory.
  std::size_t SharedBytes() const;
  // A __device__ or __constant__ variable in this process; empty: there is none of that name.
  std::span<std::byte> Global(std::string_view name) const;

  // Runs a kernel with one argument per parameter. Memory that the kernel may write is changed,
  // also where a mistake was found. Error (kBadInput): the launch or the arguments do not suit the
  // kernel.
  Result<Report> Run(std::string_view entry, const Launch& launch,
                     std::span<const Argument> arguments);

 private:
  struct State;
  explicit Module(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Runs all steps of a CUDA source one after the other, with a workspace of their own, up to the
// first mistake. `buffers` are those of source.arguments, in order; `options` gives what a launch
// has beside its shape. Errors: as above.
Result<Report> RunSource(const KernelSource& source, std::span<const std::int64_t> extents,
                         std::span<const std::span<std::byte>> buffers, const Launch& options = {});

}  // namespace kindred::cuda_emulation
