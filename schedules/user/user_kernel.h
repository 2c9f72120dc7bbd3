// The sources of a user's kernel, one per configuration.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedules/kernel.h"
#include "schedules/user/kernel_spec.h"

namespace kindred {

// `text` is the kernel's file, `folder` what its #includes and relative include paths start from.
// Each parameter is defined as a macro, by a flag, in CUDA by the code. C and C++: the entry calls
// the functions with their arguments; what they return does not count, and scalars are loaded from
// memory, so that compilers do not know their values. CUDA: a launch for each function; the grid
// follows from the problem's size. A buffer's place in `arguments` is also its
// KernelArgument::tensor. Of a command the code is what is run, as JSON (UserCommand), and the
// compiler "command". Errors (kBadInput): an expression that fails to evaluate, a launch
// geometry that is no positive number.
Result<KernelSource> EmitUserKernel(const KernelSpec& spec, const ParameterSpace& space,
                                    std::size_t configuration, const std::string& text,
                                    const std::string& folder);

// The same call of the reference function; of a kernel that names one. Its macros are those of the
// first configuration.
Result<KernelSource> EmitUserReference(const KernelSpec& spec, const ParameterSpace& space,
                                       const std::string& text, const std::string& folder);

// Include paths of the compiler options and of the description, absolute.
std::vector<std::string> IncludePathsOf(const KernelSpec& spec, const std::string& folder);

// What programs of the user's find in their environment: KINDRED_PARAMETER_NAME=value.
std::vector<std::pair<std::string, std::string>> ParameterVariables(const ParameterSpace& space,
                                                                    std::size_t configuration);

}  // namespace kindred
