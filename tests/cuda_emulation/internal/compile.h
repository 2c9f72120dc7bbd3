// From the text of kernels to a loaded library.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/result.h"
#include "tests/cuda_emulation/internal/variables.h"

namespace kindred::cuda_emulation {

// A library in a temporary folder; both go with it.
class Library {
 public:
  // `source` with its `entries`, compiled by g++. Errors: emulation.h.
  static Result<std::unique_ptr<Library>> Compile(std::string_view source,
                                                  std::span<const std::string> entries,
                                                  std::span<const std::string> include_paths);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* Symbol(const std::string& name) const;  // nullptr: there is none
  // Its writable variables, with their addresses in the file.
  std::vector<Variable> Variables() const { return VariablesOf(folder_ + "/unit.so"); }
  // The line of `source` that an address of code comes from; 0 where addr2line does not say.
  int LineOf(const void* pc) const;

 private:
  Library() = default;

  std::string folder_;
  void* handle_ = nullptr;
};

}  // namespace kindred::cuda_emulation
