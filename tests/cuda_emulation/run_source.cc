#include <fmt/format.h>

#include <map>
#include <vector>

#include "tests/cuda_emulation/emulation.h"

namespace kindred::cuda_emulation {
namespace {

constexpr std::int64_t kWorkspaceAlignment = 256;

// The parts of the workspace that the steps' parameters point to: each ends where the next begins.
std::map<std::int64_t, std::int64_t> WorkspaceParts(const KernelSource& source) {
  std::map<std::int64_t, std::int64_t> ends;
  for (const KernelStep& step : source.steps)
    for (const KernelStep::Parameter& parameter : step.parameters)
      if (parameter.kind == KernelStep::Parameter::Kind::kWorkspace) ends[parameter.value] = 0;
  std::int64_t end = source.workspace_bytes;
  for (auto part = ends.rbegin(); part != ends.rend(); ++part) {
    part->second = end;
    end = part->first;
  }
  return ends;
}

}  // namespace

Result<Report> RunSource(const KernelSource& source, std::span<const std::int64_t> extents,
                         std::span<const std::span<std::byte>> buffers, const Launch& options) {
  using Kind = KernelStep::Parameter::Kind;
  std::vector<std::string> entries;
  for (const KernelStep& step : source.steps) entries.push_back(step.entry);
  KINDRED_TRY(const auto module, Module::Compile(source.code, entries));
  const auto bytes = static_cast<std::size_t>((source.workspace_bytes + kWorkspaceAlignment - 1) /
                                              kWorkspaceAlignment * kWorkspaceAlignment);
  std::vector<std::byte> workspace(bytes, std::byte{0xff});
  const auto ends = WorkspaceParts(source);
  Report total;
  for (const KernelStep& step : source.steps) {
    std::vector<Argument> arguments;
    for (const KernelStep::Parameter& parameter : step.parameters) {
      const auto at = static_cast<std::size_t>(parameter.value);
      if (parameter.kind == Kind::kArgument)
        arguments.emplace_back(buffers[at]);
      else if (parameter.kind == Kind::kExtent)
        arguments.emplace_back(extents[at]);
      else if (parameter.kind == Kind::kConstant)
        arguments.emplace_back(parameter.value);
      else
        arguments.emplace_back(std::span(workspace).subspan(
            at, static_cast<std::size_t>(ends.at(parameter.value)) - at));
    }
    Launch launch = options;
    const auto grid = GridOf(step, extents);
    for (std::size_t i = 0; i < 3; ++i) {
      launch.grid[i] = static_cast<unsigned>(grid[i]);
      launch.block[i] = static_cast<unsigned>(step.block[i]);
    }
    launch.shared_bytes = static_cast<unsigned>(step.shared_bytes);
    KINDRED_TRY(Report report, module->Run(step.entry, launch, arguments));
    total.accesses += report.accesses;
    total.barriers += report.barriers;
    total.finding = std::move(report.finding);
    if (!total.finding) continue;
    total.finding->message = step.entry + ": " + total.finding->message;
    break;
  }
  return total;
}

}  // namespace kindred::cuda_emulation
