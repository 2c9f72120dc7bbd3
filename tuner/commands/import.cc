// kindred import: what models consist of, without tuning them.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/commands/commands.h"
#include "tuner/import/strip.h"
#include "tuner/report/import_report.h"

namespace kindred {
namespace {

// {"stripped", "bytes_before", "bytes_after", "tensors": [{"name", "kept", "reason"}]}
nlohmann::ordered_json StripToJson(const StripReport& report, const std::string& out) {
  auto tensors = nlohmann::ordered_json::array();
  for (const StrippedTensor& tensor : report.tensors)
    tensors.push_back({{"name", tensor.name}, {"kept", tensor.kept}, {"reason", tensor.reason}});
  return {{"stripped", out},
          {"bytes_before", report.bytes_before},
          {"bytes_after", report.bytes_after},
          {"tensors", std::move(tensors)}};
}

Result<void> Strip(const ImportCommand& command) {
  if (command.inputs.size() != 1 || std::filesystem::path(command.inputs[0]).extension() != ".onnx")
    return BadInput("--strip takes one MODEL.onnx");
  KINDRED_TRY(const StripReport report, StripOnnx(command.inputs[0], command.strip));
  if (command.json) {
    fmt::print("{}\n", StripToJson(report, command.strip).dump(2));
    return {};
  }
  fmt::print("{}: {} bytes of {}\n{} tensors without their data, {} with:\n", command.strip,
             report.bytes_after, report.bytes_before, report.dropped(), report.kept());
  for (const StrippedTensor& tensor : report.tensors)
    if (tensor.kept) fmt::print("  {}: {}\n", tensor.name, tensor.reason);
  return {};
}

Result<void> Import(const ImportCommand& command) {
  KINDRED_TRY(const InputOptions options, ToInputOptions(command.models));
  KINDRED_TRY(const auto inputs, ReadInputs(command.inputs, options));
  if (command.json)
    fmt::print("{}\n", ImportReportJson(inputs).dump(2));
  else
    fmt::print("{}", ImportReportText(inputs));
  return {};
}

}  // namespace

int RunImport(const ImportCommand& command) {
  const auto done = command.strip.empty() ? Import(command) : Strip(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
