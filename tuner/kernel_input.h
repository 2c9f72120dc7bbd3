// A user's kernel as the tuner sees it: its description, its source, its space, its place in the
// log.
#pragma once

#include <string>

#include "database/records.h"
#include "measure/kernel_runner.h"
#include "schedules/base/hash.h"
#include "schedules/user/user_kernel.h"

namespace kindred {

struct KernelInput {
  std::string path;    // of the description
  std::string folder;  // where that lies: the kernel's file and data are relative to it
  KernelSpec spec;
  std::string text;  // of the kernel's file; with a digest of what it includes, if that is ours
  ParameterSpace space;
  std::string name;   // for people: "gemm 512x512 (gemm.c)"
  Hash128 key;        // source and what it includes, function, sizes, arguments: what is computed
  Hash128 structure;  // function and arguments' types: kernels of one family
};

// Errors: unreadable files (kNotFound), a bad description (kBadInput, kUnsupported), an empty
// space.
Result<KernelInput> ReadKernelInput(const std::string& path);

// The buffers of its arguments. Error (kBadInput): a file of an argument cannot be read, or is of
// another type or size.
Result<KernelTask> TaskOf(const KernelInput& input, std::uint64_t seed);

// The function that says what is right; empty: none does.
std::string ReferenceName(const KernelSpec& spec);
// Whether a function or the first configuration says what is right.
bool ComparesOutputs(const KernelSpec& spec);

// In place of a workload's text the record holds what the kernel is, in words; in place of its JSON
// {"user_kernel": {"name", "language", "file", "problem_size", "arguments", "compiler_options"}};
// of a command {"user_kernel": {"name", "language": "command", "command", "environment",
// "objective": {"unit", "direction"}}}.
WorkloadRecord ToRecord(const KernelInput& input);
bool IsUserKernel(const WorkloadRecord& record);

KernelRecord ToRecord(const KernelSource& kernel);

}  // namespace kindred
