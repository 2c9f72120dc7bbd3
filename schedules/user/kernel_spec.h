// KernelSpec: a user's kernel as a T1 description tells it: source, arguments, launch geometry.
//
// Plain data and what follows from it; no I/O. Expressions are in the language of
// schedules/user/expression.h, over the tunable parameters and ProblemSize, a list of whole
// numbers. Sizes are in elements.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/data_type.h"
#include "schedules/user/t1_spec.h"

namespace kindred {

struct SpecArgument {
  std::string name;
  std::string c_type;  // "float", "int32_t", ...
  DataType type = DataType::kF32;
  bool scalar = false;
  double value = 0;  // of a scalar; of a constant fill
  std::int64_t elements = 1;
  bool read = true, written = false;
  bool random = false;           // filled with random numbers, else with `value`
  std::string file;              // raw bytes to fill it with, beside the description; empty: none
  bool constant_memory = false;  // CUDA: a __constant__ array of that name
};

struct KernelSpec {
  enum class Language : std::uint8_t { kC, kCpp, kCuda } language = Language::kC;
  std::string name;       // of the function
  std::string file;       // beside the description
  std::string reference;  // function of the same file with the same arguments; empty: none
  std::vector<std::string> compiler_options;
  std::vector<std::int64_t> problem_size;  // at most three
  // CUDA: threads in a block, blocks (or with `global_threads` threads) in the grid where these are
  // given, and what the problem's size is divided by where not.
  std::array<std::string, 3> local_size = {"1", "1", "1"}, global_size;
  std::array<std::vector<std::string>, 3> grid_divisors;
  bool global_threads = false;
  std::string shared_bytes = "0";
  std::vector<SpecArgument> arguments;
  double tolerance = 0;  // relative; 0: by type
  T1Space space;
};

// Whether a text is a description of a kernel, not only of a space.
bool IsKernelSpec(std::string_view text);

// Error (kBadInput): names `source`, the field and what is expected there; kUnsupported: what T1
// allows and this does not.
Result<KernelSpec> ParseKernelSpec(std::string_view text, std::string_view source);

}  // namespace kindred
