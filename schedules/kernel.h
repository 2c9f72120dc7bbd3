// KernelSource: readable source code of one candidate with all that is needed to build and call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/data_type.h"

namespace kindred {

struct KernelArgument {
  int tensor = -1;  // id in the canonical workload; -1 for a prepared buffer
  std::string name;
  DataType type = DataType::kF32;
  std::int64_t elements = 0;
  enum class Access : std::uint8_t { kRead, kWrite, kPrepared } access = Access::kRead;
  std::string layout;  // "row-major", or of a prepared buffer, e.g. "W[o/16][c][r][s][16]"
};

// Every C step's entry is: int entry(void *const *buffers, const int64_t *extents, void
// *workspace), buffers in the order of `arguments`, extents those of the symbolic axes, 0 on
// success.
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
};

}  // namespace kindred
