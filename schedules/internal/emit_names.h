// What the emitters of all languages share: identifiers, the head comment, the list of arguments.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/kernel.h"
#include "schedules/program.h"
#include "schedules/workload.h"

namespace kindred::internal {

// Identifiers from the names of tensors, axes and symbols; never one of `reserved`, a name that
// begins with kd_, or t0, t1, ..., the printers' temporaries.
class Names {
 public:
  Names(std::set<std::string>& taken, std::span<const std::string_view> reserved)
      : taken_(taken), reserved_(reserved) {}

  // Given out once.
  std::string Unique(const std::string& wanted);
  std::string Identifier(const std::string& wanted) const;

 private:
  std::set<std::string>& taken_;
  std::span<const std::string_view> reserved_;
};

// "// Kernel NAME. ... Computes: ... Schedule: ...".
std::string HeadComment(const Program& program, const Workload& workload);

// The workload's arguments, then the program's prepared buffers.
std::vector<KernelArgument> KernelArguments(const Program& program, const Workload& workload);

// Adds the buffers that a statement reads or writes to `used`, those it writes to `written`.
void CollectBuffers(const Stmt& s, std::set<int>& used, std::set<int>& written);

}  // namespace kindred::internal
