// The device prelude of emitted CUDA C++: the kd_ functions, types and macros that kernels may use.
//
// The text needs no header. Parts marked portable are plain CUDA C++ and compile in the emulation
// (tests/cuda_emulation) as they are; the others are inline PTX or address spaces, stand between
// #ifndef KINDRED_CUDA_EMULATION and #endif, and have a counterpart in the emulation's own header.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kindred::internal {

// A piece of the prelude. It may use the pieces before it only.
struct PreludePart {
  std::string_view words;  // the identifiers it defines, separated by blanks
  bool portable;
  std::string_view text;
};

// Types, memory, warps, copies; then arithmetic and conversions. In this order they are one list.
std::span<const PreludePart> PreludeDeviceParts();
std::span<const PreludePart> PreludeMathParts();

// The parts that `kernel_text` needs, dependencies first: those that define an identifier found in
// it. Identifiers that no part defines are left alone.
std::string CudaPrelude(std::string_view kernel_text);

}  // namespace kindred::internal
