#include <algorithm>

#include <fmt/format.h>

#include "schedules/user/internal/read_spec.h"

namespace kindred {
namespace {

using Json = SpecFields::Json;

constexpr const char* kAxes[] = {"X", "Y", "Z"};
constexpr const char* kDivisors[] = {"GridDivX", "GridDivY", "GridDivZ"};

Result<void> ReadGeometry(const SpecFields& fields, const Json& kernel, SpecLaunch& launch) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto read = [&](const char* field, std::string& into) -> Result<void> {
      if (!kernel.contains(field) || !kernel[field].is_object() ||
          !kernel[field].contains(kAxes[axis]))
        return {};
      KINDRED_TRY(into, fields.Formula(kernel[field][kAxes[axis]],
                                       fmt::format("{}.{}", field, kAxes[axis])));
      return {};
    };
    KINDRED_CHECK(read("LocalSize", launch.local_size[axis]));
    KINDRED_CHECK(read("GlobalSize", launch.global_size[axis]));
    // Where nothing else is said, a thread is for one element of the first axis.
    const Json usual = axis == 0 && launch.global_size[0].empty()
                           ? Json::array({launch.local_size[0]})
                           : Json::array();
    const Json divisors = kernel.value(kDivisors[axis], usual);
    if (!divisors.is_array() && !divisors.is_null())
      return fields.Bad(fmt::format("{} is no list", kDivisors[axis]));
    for (const Json& divisor : divisors) {
      KINDRED_TRY(std::string text, fields.Formula(divisor, kDivisors[axis]));
      launch.grid_divisors[axis].push_back(std::move(text));
    }
  }
  // A kernel's own divisors say how many blocks there are; GlobalSize may be of another problem.
  if (std::any_of(std::begin(kDivisors), std::end(kDivisors),
                  [&](const char* divisor) { return kernel.contains(divisor); }))
    launch.global_size = {};
  KINDRED_TRY(const std::string kind, fields.Text(kernel, "GlobalSizeType", false));
  if (kind != "" && kind != "CUDA" && kind != "OpenCL")
    return fields.Bad(
        fmt::format("GlobalSizeType is '{}'; known are CUDA (blocks) and OpenCL (threads)", kind));
  launch.global_threads = kind == "OpenCL";
  if (kernel.contains("SharedMemory") && !kernel["SharedMemory"].is_null()) {
    KINDRED_TRY(launch.shared_bytes, fields.Formula(kernel["SharedMemory"], "SharedMemory"));
  }
  return {};
}

}  // namespace

Result<SpecLaunch> ReadLaunch(const SpecFields& fields, const Json& kernel,
                              const std::vector<SpecArgument>& arguments,
                              const std::vector<std::int64_t>& problem_size) {
  SpecLaunch launch;
  KINDRED_TRY(launch.name, fields.Text(kernel, "KernelName", true));
  launch.problem_size = problem_size;
  if (kernel.contains("ProblemSize")) {
    KINDRED_TRY(launch.problem_size, fields.Sizes(kernel["ProblemSize"]));
  }
  KINDRED_CHECK(ReadGeometry(fields, kernel, launch));
  if (kernel.contains("Arguments")) {
    KINDRED_TRY(const auto names, fields.TextList(kernel, "Arguments"));
    for (const std::string& name : names) {
      const auto found = std::find_if(arguments.begin(), arguments.end(),
                                      [&](const SpecArgument& a) { return a.name == name; });
      if (found == arguments.end())
        return fields.Bad(fmt::format("{} takes the argument '{}', which Arguments does not have",
                                      launch.name, name));
      launch.arguments.push_back(static_cast<std::size_t>(found - arguments.begin()));
    }
    return launch;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].constant_memory) launch.arguments.push_back(i);
  return launch;
}

}  // namespace kindred
