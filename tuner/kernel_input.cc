#include "tuner/kernel_input.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "schedules/user/npy.h"
#include "tuner/included_files.h"
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
    case KernelSpec::Language::kCommand: return "command";
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
  if (argument.scratch) out["scratch"] = true;
  if (argument.constant_memory) out["constant"] = true;
  if (!argument.file.empty())
    out["file"] = argument.file;
  else if (argument.random)
    out["random"] = true;
  else
    out["fill"] = argument.value;
  return out;
}

json CommandToJson(const KernelSpec& spec) {
  json environment = json::object();
  for (const auto& [name, value] : spec.command.environment) environment[name] = value;
  return {{"name", spec.name},
          {"language", Name(spec.language)},
          {"command", spec.command.words},
          {"environment", std::move(environment)},
          {"problem_size", spec.problem_size},
          {"objective",
           {{"unit", spec.command.unit},
            {"direction", spec.command.maximise ? "maximise" : "minimise"}}}};
}

// Beyond one call of one function with all arguments.
void AddLaunches(const KernelSpec& spec, json& computation) {
  for (const auto& [name, formula] : spec.defines) computation["defines"][name] = formula;
  if (spec.launches.size() == 1 && spec.launches[0].name == spec.name) return;
  for (const SpecLaunch& launch : spec.launches)
    computation["launches"].push_back({{"name", launch.name},
                                       {"arguments", launch.arguments},
                                       {"problem_size", launch.problem_size}});
}

json Computation(const KernelInput& input) {
  if (input.spec.language == KernelSpec::Language::kCommand) return CommandToJson(input.spec);
  json arguments = json::array();
  for (const SpecArgument& argument : input.spec.arguments)
    arguments.push_back(ArgumentToJson(argument));
  json computation = {
      {"name", input.spec.name},           {"language", Name(input.spec.language)},
      {"file", input.spec.file},           {"problem_size", input.spec.problem_size},
      {"arguments", std::move(arguments)}, {"compiler_options", input.spec.compiler_options}};
  AddLaunches(input.spec, computation);
  return computation;
}

std::string Joined(const std::vector<IncludedFile>& files) {
  std::string all;
  for (const IncludedFile& file : files)
    all += fmt::format("\n{} {}\n{}", file.name, file.text.size(), file.text);
  return all;
}

// What the kernel's own text, or a command's files, are; and with what they include.
Result<void> ReadTexts(KernelInput& input) {
  const KernelSpec& spec = input.spec;
  std::string all;
  if (spec.language == KernelSpec::Language::kCommand) {
    std::vector<IncludedFile> files;
    const std::string& program = spec.command.words.front();
    if (program.find('/') != std::string::npos) {
      // A missing program is told by its run.
      if (auto text = ReadText(std::filesystem::path(input.folder) / program, "the program"))
        files.push_back({program, std::move(*text)});
    }
    for (const std::string& name : spec.command.files) {
      KINDRED_TRY(std::string text,
                  ReadText(std::filesystem::path(input.folder) / name, "a file of the command"));
      files.push_back({name, std::move(text)});
    }
    all = Joined(files);
  } else {
    KINDRED_TRY(input.text, ReadText(input.folder + "/" + spec.file, "the kernel's file"));
    all = input.text;
    const auto included = IncludedFiles(
        input.text, std::filesystem::path(input.folder + "/" + spec.file).parent_path(),
        IncludePathsOf(spec, input.folder));
    if (!included.empty()) {
      const std::string texts = Joined(included);
      all += texts;
      // Builds are found again by their text.
      input.text +=
          fmt::format("\n/* {} included files, {} */\n", included.size(), HashOf(texts).Hex());
    }
  }
  input.key = HashOf("user kernel\n" + Computation(input).dump() + "\n" + all);
  return {};
}

// Where the data of an argument's file begin.
Result<std::int64_t> DataOffset(const SpecArgument& argument, const std::string& path) {
  if (!path.ends_with(".npy")) return 0;
  constexpr std::size_t kLongestHeader = 1 << 16;
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(fmt::format("{}: the data of {} cannot be read", path, argument.name));
  std::string begin(kLongestHeader, '\0');
  file.read(begin.data(), kLongestHeader);
  begin.resize(static_cast<std::size_t>(file.gcount()));
  KINDRED_TRY(const NpyHeader header, ParseNpyHeader(begin, path));
  if (header.type != argument.type || header.Elements() != argument.elements)
    return BadInput(fmt::format("{}: has {} elements of type {}, argument {} {} of type {}", path,
                                header.Elements(), Name(header.type), argument.name,
                                argument.elements, Name(argument.type)));
  return header.data_offset;
}

}  // namespace

Result<KernelInput> ReadKernelInput(const std::string& path) {
  KernelInput input;
  input.path = path;
  input.folder = std::filesystem::absolute(path).parent_path().string();
  KINDRED_TRY(const std::string description, ReadText(path, "the description"));
  KINDRED_TRY(input.spec, ParseKernelSpec(description, path));
  auto space = ParameterSpace::Make(input.spec.space.parameters, input.spec.space.conditions);
  if (!space) return Error{space.error().kind, path + ": " + space.error().message};
  input.space = std::move(*space);
  std::string sizes;
  for (const std::int64_t size : input.spec.problem_size)
    sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", size);
  const bool command = input.spec.language == KernelSpec::Language::kCommand;
  input.name = command ? fmt::format("{} (command)", input.spec.name)
                       : fmt::format("{} {} ({})", input.spec.name, sizes, input.spec.file);
  KINDRED_CHECK(ReadTexts(input));
  std::string types = "user kernel family\n" + input.spec.name;
  types += Name(input.spec.language);
  for (const SpecArgument& argument : input.spec.arguments)
    types += fmt::format("\n{} {} {}", argument.c_type, argument.scalar, argument.written);
  input.structure = HashOf(types);
  return input;
}

Result<KernelTask> TaskOf(const KernelInput& input, std::uint64_t seed) {
  KernelTask task;
  task.seed = seed;
  for (const SpecArgument& argument : input.spec.arguments) {
    if (argument.scalar) continue;
    UserBuffer& buffer = task.buffers.emplace_back();
    buffer.name = argument.name;
    buffer.type = argument.type;
    buffer.elements = argument.elements;
    buffer.read = argument.read;
    buffer.written = argument.written;
    buffer.scratch = argument.scratch;
    buffer.constant = argument.constant_memory;
    buffer.tolerance = argument.tolerance > 0 ? argument.tolerance : input.spec.tolerance;
    buffer.random = argument.random;
    buffer.value = argument.value;
    if (argument.file.empty()) continue;
    buffer.file = (std::filesystem::path(input.folder) / argument.file).string();
    KINDRED_TRY(buffer.file_offset, DataOffset(argument, buffer.file));
  }
  return task;
}

std::string ReferenceName(const KernelSpec& spec) {
  return spec.reference ? spec.reference->name : std::string();
}

bool ComparesOutputs(const KernelSpec& spec) {
  return spec.language != KernelSpec::Language::kCommand && spec.verifier.empty();
}

WorkloadRecord ToRecord(const KernelInput& input) {
  WorkloadRecord record;
  record.key = input.key.Hex();
  record.structure = input.structure.Hex();
  record.name = input.name;
  record.text = fmt::format("# A user's kernel: not of the workload language.\n# {}, {}, {}\n",
                            input.spec.name, Name(input.spec.language), input.spec.file);
  for (const std::string& word : input.spec.command.words) record.text += "# " + word + "\n";
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
  record.package =
      nlohmann::json{
          {"language", LanguageName(kernel)},  {"steps", StepsToJson(kernel)},
          {"arguments", std::move(arguments)}, {"workspace_bytes", kernel.workspace_bytes},
          {"compiler", kernel.compiler},       {"flags", kernel.flags}}
          .dump();
  record.hash = KernelHash(record.code, record.package);
  return record;
}

}  // namespace kindred
