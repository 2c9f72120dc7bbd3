// Writable variables of a compiled kernel: static shared arrays, __device__ and __constant__ data.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kindred::cuda_emulation {

struct Variable {
  std::string name;
  std::size_t address = 0;  // as in the file
  std::size_t bytes = 0;
  bool shared = false;  // declared in a function: __shared__
};

// From the symbol table of an ELF64 library; empty where it has none. The emulation's own are left
// out.
std::vector<Variable> VariablesOf(const std::string& library);

}  // namespace kindred::cuda_emulation
