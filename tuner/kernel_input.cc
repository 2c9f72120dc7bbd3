#include "tuner/kernel_input.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tuner/kernel_package.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

Result<std::string> ReadText(const std::string& path, std::string_view what) {
  std::error_code code;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, code))
    return NotFound(fmt::format("{}: {} cannot be read", path, what));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string_view Name(KernelSpec::Language language) {
  switch (language) {
    case KernelSpec::Language::kC: return "C";
    case KernelSpec::Language::kCpp: return "C++";
    case KernelSpec::Language::kCuda: return "CUDA";
  }
  return "";
}

json ArgumentToJson(const SpecArgument& argument) {
  json out = {{"name", argument.name}, {"type", argument.c_type}};
  if (argument.scalar) {
    out["value"] = argument.value;
    return out;
  }
  out["elements"] = argument.elements;
  out["read"] = argument.read;
  out["written"] = argument.written;
  if (!argument.file.empty())
    out["file"] = argument.file;
  else if (argument.random)
    out["random"] = true;
  else
    out["fill"] = argument.value;
  return out;
}

json Computation(const KernelInput& input) {
  json arguments = json::array();
  for (const SpecArgument& argument : input.spec.arguments)
    arguments.push_back(ArgumentToJson(argument));
  return {{"name", input.spec.name},           {"language", Name(input.spec.language)},
          {"file", input.spec.file},           {"problem_size", input.spec.problem_size},
          {"arguments", std::move(arguments)}, {"compiler_options", input.spec.compiler_options}};
}

}  // namespace

Result<KernelInput> ReadKernelInput(const std::string& path) {
  KernelInput input;
  input.path = path;
  input.folder = std::filesystem::absolute(path).parent_path().string();
  KINDRED_TRY(const std::string description, ReadText(path, "the description"));
  KINDRED_TRY(input.spec, ParseKernelSpec(description, path));
  KINDRED_TRY(input.text, ReadText(input.folder + "/" + input.spec.file, "the kernel's file"));
  auto space = ParameterSpace::Make(input.spec.space.parameters, input.spec.space.conditions);
  if (!space) return Error{space.error().kind, path + ": " + space.error().message};
  input.space = std::move(*space);
  std::string sizes;
  for (const std::int64_t size : input.spec.problem_size)
    sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", size);
  input.name = fmt::format("{} {} ({})", input.spec.name, sizes, input.spec.file);
  input.key = HashOf("user kernel\n" + Computation(input).dump() + "\n" + input.text);
  std::string types = "user kernel family\n" + input.spec.name;
  types += Name(input.spec.language);
  for (const SpecArgument& argument : input.spec.arguments)
    types += fmt::format("\n{} {} {}", argument.c_type, argument.scalar, argument.written);
  input.structure = HashOf(types);
  return input;
}

KernelTask TaskOf(const KernelInput& input, std::uint64_t seed) {
  KernelTask task;
  task.tolerance = input.spec.tolerance;
  task.seed = seed;
  for (const SpecArgument& argument : input.spec.arguments) {
    if (argument.scalar) continue;
    UserBuffer& buffer = task.buffers.emplace_back();
    buffer.name = argument.name;
    buffer.type = argument.type;
    buffer.elements = argument.elements;
    buffer.read = argument.read;
    buffer.written = argument.written;
    buffer.random = argument.random;
    buffer.value = argument.value;
    if (!argument.file.empty())
      buffer.file = (std::filesystem::path(input.folder) / argument.file).string();
  }
  return task;
}

WorkloadRecord ToRecord(const KernelInput& input) {
  WorkloadRecord record;
  record.key = input.key.Hex();
  record.structure = input.structure.Hex();
  record.name = input.name;
  record.text = fmt::format("# A user's kernel: not of the workload language.\n# {}, {}, {}\n",
                            input.spec.name, Name(input.spec.language), input.spec.file);
  for (const SpecArgument& argument : input.spec.arguments) {
    record.text +=
        argument.scalar
            ? fmt::format("# {}: {} = {}\n", argument.name, argument.c_type, argument.value)
            : fmt::format("# {}: {}[{}]{}{}\n", argument.name, argument.c_type, argument.elements,
                          argument.read ? ", read" : "", argument.written ? ", written" : "");
    if (!argument.scalar) record.bytes += argument.elements * ByteSize(argument.type);
  }
  record.json = json{{"user_kernel", Computation(input)}}.dump();
  return record;
}

bool IsUserKernel(const WorkloadRecord& record) {
  const json parsed = json::parse(record.json, nullptr, false);
  return parsed.is_object() && parsed.contains("user_kernel");
}

KernelRecord ToRecord(const KernelSource& kernel) {
  nlohmann::json arguments = nlohmann::json::array();
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    arguments.push_back(
        {{"position", i},
         {"name", argument.name},
         {"access", argument.access == KernelArgument::Access::kRead ? "read" : "write"},
         {"type", std::string(Name(argument.type))},
         {"elements", argument.elements},
         {"shape", {argument.elements}},
         {"layout", argument.layout},
         {"tensor", argument.tensor}});
  }
  KernelRecord record;
  record.code = kernel.code;
  record.package = nlohmann::json{
      {"language", kernel.language == KernelSource::Language::kC ? "c" : "cuda"},
      {"steps", StepsToJson(kernel)},
      {"arguments", std::move(arguments)},
      {"workspace_bytes", kernel.workspace_bytes},
      {"compiler", kernel.compiler},
      {"flags",
       kernel.flags}}.dump();
  record.hash = KernelHash(record.code, record.package);
  return record;
}

}  // namespace kindred
