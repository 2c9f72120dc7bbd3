// KernelSpec: a user's kernel, or a command that measures something, as a T1 description tells it:
// source, arguments, launch geometry.
//
// Plain data and what follows from it; no I/O. Expressions are in the language of
// schedules/user/expression.h, over the tunable parameters and ProblemSize, a list of whole
// numbers. Sizes are in elements. docs/users_kernels.md has the fields.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  bool scratch = false;          // written, and of no interest afterwards
  bool random = false;           // filled with random numbers, else with `value`
  std::string file;              // to fill it with, beside the description; empty: none
  bool constant_memory = false;  // CUDA: the __constant__ array of that name, no parameter
  double tolerance = 0;          // relative; 0: the description's
};

// One call of a function: of a CUDA kernel a launch.
struct SpecLaunch {
  std::string name;                        // of the function; of a template "gemm<float, tile>"
  std::vector<std::size_t> arguments;      // places in KernelSpec::arguments, in the call's order
  std::vector<std::int64_t> problem_size;  // at most three
  // CUDA: threads in a block, blocks (or with `global_threads` threads) in the grid where these are
  // given, and what the problem's size is divided by where not.
  std::array<std::string, 3> local_size = {"1", "1", "1"}, global_size;
  std::array<std::vector<std::string>, 3> grid_divisors;
  bool global_threads = false;
  std::string shared_bytes = "0";
};

// A program that is run per configuration and prints what it measured. In its words and variables
// "{EXPRESSION}" stands for the expression's value.
struct SpecCommand {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> files;  // beside the description: what it computes follows from them
  bool maximise = false;
  std::string unit = "ms";
  double timeout_s = 60;
};

struct KernelSpec {
  enum class Language : std::uint8_t { kC, kCpp, kCuda, kCommand } language = Language::kC;
  std::string name;                     // of the function, or of the command
  std::string file;                     // beside the description
  std::vector<SpecLaunch> launches;     // one after the other; none of a command
  std::optional<SpecLaunch> reference;  // of a function of the same file
  std::vector<std::string> verifier;    // a program's words; empty: none
  std::vector<std::string> compiler_options;
  std::vector<std::string> include_paths;  // relative ones are so to the description
  std::vector<std::pair<std::string, std::string>> defines;  // macros: expressions
  std::vector<std::int64_t> problem_size;                    // at most three
  std::vector<SpecArgument> arguments;
  double tolerance = 0;  // relative; 0: by type
  SpecCommand command;
  T1Space space;
};

// Whether a text is a description of a kernel, not only of a space.
bool IsKernelSpec(std::string_view text);

// Error (kBadInput): names `source`, the field and what is expected there; kUnsupported: what T1
// allows and this does not.
Result<KernelSpec> ParseKernelSpec(std::string_view text, std::string_view source);

}  // namespace kindred
