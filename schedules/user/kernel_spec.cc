#include "schedules/user/kernel_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "schedules/user/internal/read_spec.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

Result<KernelSpec::Language> ReadLanguage(const SpecFields& fields, const json& kernel) {
  using Language = KernelSpec::Language;
  KINDRED_TRY(const std::string objective, fields.Text(kernel, "Objective", false));
  if (objective == "command") return Language::kCommand;
  if (objective != "" && objective != "time")
    return fields.Bad(fmt::format("Objective is '{}'; known are time and command", objective));
  KINDRED_TRY(const std::string language, fields.Text(kernel, "Language", true));
  if (language == "C") return Language::kC;
  if (language == "C++" || language == "CPP") return Language::kCpp;
  if (language == "CUDA") return Language::kCuda;
  return fields.NotSupported(
      fmt::format("kernels in '{}' cannot be tuned; known are C, C++ and CUDA", language));
}

// What is said of one launch over what is said of all.
json Merged(json kernel, const json& one) {
  kernel.erase("Arguments");
  kernel.update(one);
  return kernel;
}

Result<void> ReadLaunches(const SpecFields& fields, const json& kernel, KernelSpec& spec) {
  const auto read = [&](const json& of) {
    return ReadLaunch(fields, of, spec.arguments, spec.problem_size);
  };
  if (!kernel.contains("Sequence")) {
    json whole = kernel;
    whole.erase("Arguments");
    KINDRED_TRY(SpecLaunch launch, read(whole));
    spec.launches.push_back(std::move(launch));
  } else {
    if (!kernel["Sequence"].is_array() || kernel["Sequence"].empty())
      return fields.Bad("Sequence is no list of launches");
    for (const json& one : kernel["Sequence"]) {
      if (!one.is_object() || !one.contains("KernelName"))
        return fields.Bad("each of Sequence needs a KernelName");
      KINDRED_TRY(SpecLaunch launch, read(Merged(kernel, one)));
      spec.launches.push_back(std::move(launch));
    }
  }
  if (!kernel.contains("ReferenceKernel")) return {};
  const json& reference = kernel["ReferenceKernel"];
  if (!reference.is_string() && !reference.is_object())
    return fields.Bad("ReferenceKernel is neither a function's name nor a launch");
  if (reference.is_object() && !reference.contains("KernelName"))
    return fields.Bad("ReferenceKernel needs a KernelName");
  KINDRED_TRY(
      spec.reference,
      read(Merged(kernel, reference.is_object() ? reference : json{{"KernelName", reference}})));
  return {};
}

Result<void> ReadBuild(const SpecFields& fields, const json& kernel, KernelSpec& spec) {
  KINDRED_TRY(spec.compiler_options, fields.TextList(kernel, "CompilerOptions"));
  KINDRED_TRY(spec.include_paths, fields.TextList(kernel, "IncludePaths"));
  const json defines = kernel.value("Defines", json::object());
  if (!defines.is_object()) return fields.Bad("Defines is no object of macros");
  for (const auto& [name, value] : defines.items()) {
    KINDRED_TRY(std::string text, fields.Formula(value, "Defines." + name));
    spec.defines.emplace_back(name, std::move(text));
  }
  return {};
}

// That what is right can be known.
Result<void> CheckOutputs(const SpecFields& fields, const KernelSpec& spec) {
  if (std::none_of(spec.arguments.begin(), spec.arguments.end(), [](const SpecArgument& argument) {
        return argument.written && !argument.scratch;
      }))
    return fields.Bad(
        "no argument is written: give AccessType WriteOnly or ReadWrite to the outputs");
  if (!spec.verifier.empty() && spec.verifier.front().empty())
    return fields.Bad("Verifier has no program");
  if (!spec.verifier.empty() && spec.reference)
    return fields.Bad("ReferenceKernel and Verifier both say what is right; give one of them");
  for (const SpecArgument& argument : spec.arguments)
    if (argument.constant_memory && spec.language != KernelSpec::Language::kCuda)
      return fields.Bad(
          fmt::format("argument {}: MemType Constant is for kernels in CUDA", argument.name));
  return {};
}

Result<KernelSpec> Read(std::string_view source, const json& kernel, T1Space space) {
  KernelSpec spec;
  std::vector<std::string> names;
  std::vector<Value> lists;
  for (const TunableParameter& parameter : space.parameters) {
    names.push_back(parameter.name);
    lists.emplace_back(ValueList(parameter.values));
  }
  spec.space = std::move(space);
  SpecFields fields(source, std::move(names), std::move(lists));
  KINDRED_TRY(spec.language, ReadLanguage(fields, kernel));
  KINDRED_TRY(spec.problem_size, fields.Sizes(kernel.value("ProblemSize", json(1))));
  fields.SetProblemSize(spec.problem_size);
  if (spec.language == KernelSpec::Language::kCommand) {
    KINDRED_TRY(spec.name, fields.Text(kernel, "KernelName", false));
    KINDRED_TRY(spec.command, ReadCommand(fields, kernel));
    if (spec.name.empty()) spec.name = spec.command.words.front();
    return spec;
  }
  KINDRED_TRY(spec.name, fields.Text(kernel, "KernelName", !kernel.contains("Sequence")));
  KINDRED_TRY(spec.file, fields.Text(kernel, "KernelFile", true));
  KINDRED_CHECK(ReadBuild(fields, kernel, spec));
  if (!kernel.contains("Arguments") || !kernel["Arguments"].is_array())
    return fields.Bad("KernelSpecification.Arguments is missing");
  for (const json& entry : kernel["Arguments"]) {
    KINDRED_TRY(SpecArgument argument, ReadArgument(fields, entry, spec.arguments.size()));
    spec.arguments.push_back(std::move(argument));
  }
  KINDRED_CHECK(ReadLaunches(fields, kernel, spec));
  if (spec.name.empty())
    for (const SpecLaunch& launch : spec.launches)
      spec.name += (spec.name.empty() ? "" : "+") + launch.name;
  KINDRED_TRY(spec.verifier, fields.TextList(kernel, "Verifier"));
  KINDRED_CHECK(CheckOutputs(fields, spec));
  if (kernel.contains("Tolerance")) {
    KINDRED_TRY(spec.tolerance, fields.Number(kernel["Tolerance"], "Tolerance"));
    if (!(spec.tolerance >= 0 && spec.tolerance < 1))
      return fields.Bad("Tolerance must lie between 0 and 1");
  }
  return spec;
}

}  // namespace

bool IsKernelSpec(std::string_view text) {
  const json spec = json::parse(text, nullptr, false);
  return spec.is_object() &&
         (spec.contains("KernelSpecification") || spec.contains("ConfigurationSpace"));
}

Result<KernelSpec> ParseKernelSpec(std::string_view text, std::string_view source) {
  KINDRED_TRY(T1Space space, ParseT1Space(text, source));
  const json spec = json::parse(text, nullptr, false);
  if (!spec.contains("KernelSpecification") || !spec["KernelSpecification"].is_object())
    return BadInput(fmt::format(
        "{}: describes a space, but no kernel: KernelSpecification is missing", source));
  return Read(source, spec["KernelSpecification"], std::move(space));
}

}  // namespace kindred
