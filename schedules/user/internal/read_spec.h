// Parts of a kernel's description.
#pragma once

#include "schedules/user/internal/spec_fields.h"
#include "schedules/user/kernel_spec.h"

namespace kindred {

// `entry` is one of Arguments; `place` its place there.
Result<SpecArgument> ReadArgument(const SpecFields& fields, const SpecFields::Json& entry,
                                  std::size_t place);

// `kernel` has what is said of the launch, `arguments` are all there are: those that it names are
// the call's, in that order; where it names none, all of them.
Result<SpecLaunch> ReadLaunch(const SpecFields& fields, const SpecFields::Json& kernel,
                              const std::vector<SpecArgument>& arguments,
                              const std::vector<std::int64_t>& problem_size);

Result<SpecCommand> ReadCommand(const SpecFields& fields, const SpecFields::Json& kernel);

}  // namespace kindred
