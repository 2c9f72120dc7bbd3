// The sources of a user's kernel, one per configuration.
#pragma once

#include <string>

#include "schedules/kernel.h"
#include "schedules/user/kernel_spec.h"

namespace kindred {

// `text` is the kernel's file, `folder` what its #includes are relative to. Each parameter is
// defined as a macro. C and C++: the entry calls the function with its arguments; what it returns
// does not count, and scalars are loaded from memory, so that compilers do not know their values.
// CUDA: one launch; the grid follows from the problem's size. A buffer's place in `arguments` is
// also its KernelArgument::tensor.
// Errors (kBadInput): a launch geometry that fails to evaluate or is no positive number.
Result<KernelSource> EmitUserKernel(const KernelSpec& spec, const ParameterSpace& space,
                                    std::size_t configuration, const std::string& text,
                                    const std::string& folder);

// The same call of the reference function; of a C or C++ kernel that names one.
Result<KernelSource> EmitUserReference(const KernelSpec& spec, const ParameterSpace& space,
                                       const std::string& text, const std::string& folder);

}  // namespace kindred
