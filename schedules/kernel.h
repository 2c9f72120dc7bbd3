// KernelSource: readable source code of one candidate with all that is needed to build and call it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/data_type.h"
#include "schedules/expr.h"

namespace kindred {

struct KernelArgument {
  int tensor = -1;  // id in the canonical workload; -1 for a prepared buffer
  std::string name;
  DataType type = DataType::kF32;
  std::int64_t elements = 0;
  enum class Access : std::uint8_t { kRead, kWrite, kPrepared } access = Access::kRead;
  std::string layout;  // "row-major", or of a prepared buffer, e.g. "W[o/16][c][r][s][16]"
};

// One launch of a CUDA kernel: void entry(parameters...).
struct KernelStep {
  struct Parameter {
    enum class Kind : std::uint8_t {
      kArgument,   // pointer: `value` is the place in KernelSource::arguments
      kWorkspace,  // pointer: `value` is the offset in the workspace, bytes (a multiple of 256)
      kExtent,     // 64-bit integer: `value` is the place of the symbolic extent
      kConstant,   // a number: its bytes are the first of `value`, lowest first
    } kind = Kind::kArgument;
    std::int64_t value = 0;
  };
  std::string entry;
  std::array<ExprPtr, 3> grid;  // blocks in x, y, z: expressions of kExtent and constants
  std::array<int, 3> block = {1, 1, 1};
  std::int64_t shared_bytes = 0;  // dynamic shared memory
  std::vector<Parameter> parameters;
};

// Blocks in x, y, z for these symbolic extents.
std::array<std::int64_t, 3> GridOf(const KernelStep& step, std::span<const std::int64_t> extents);

// Every C step's entry is: int entry(void *const *buffers, const int64_t *extents, void
// *workspace), buffers in the order of `arguments`, extents those of the symbolic axes, 0 on
// success. CUDA: `steps` in order, one after the other on one stream; all pointers are aligned to
// 16 bytes at least.
struct KernelSource {
  enum class Language : std::uint8_t { kC, kCuda } language = Language::kC;
  std::string code;
  std::string entry;
  std::string
      prepare_entry;  // empty: nothing to prepare; same signature, run once when weights change
  std::vector<KernelArgument> arguments;
  std::int64_t workspace_bytes = 0;
  std::string compiler = "gcc";
  std::vector<std::string> flags;  // complete, in order
  std::vector<KernelStep> steps;   // CUDA
  // CUDA: the steps' entries are C++ names, "gemm<float, 64>", whose symbols the compiler says.
  bool lower_names = false;
};

}  // namespace kindred
