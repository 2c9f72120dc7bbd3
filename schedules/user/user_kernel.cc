#include "schedules/user/user_kernel.h"

#include <bit>

#include <fmt/format.h>

#include "schedules/user/internal/configuration_values.h"
#include "schedules/user/user_command.h"

namespace kindred {
namespace {

constexpr const char* kEntry = "kindred_user_kernel";
constexpr std::string_view kShortPath = "-I", kLongPath = "--include-path=";

std::string ScalarText(const SpecArgument& argument) {
  if (IsFloat(argument.type)) return fmt::format("{:.17g}", argument.value);
  return fmt::format("{}", static_cast<std::int64_t>(argument.value));
}

std::vector<KernelArgument> BuffersOf(const KernelSpec& spec) {
  std::vector<KernelArgument> buffers;
  for (const SpecArgument& argument : spec.arguments) {
    if (argument.scalar) continue;
    KernelArgument& buffer = buffers.emplace_back();
    buffer.tensor = static_cast<int>(buffers.size()) - 1;
    buffer.name = argument.name;
    buffer.type = argument.type;
    buffer.elements = argument.elements;
    buffer.access =
        argument.written ? KernelArgument::Access::kWrite : KernelArgument::Access::kRead;
    buffer.layout = "row-major";
  }
  return buffers;
}

// Place among the buffers of an argument that is one.
std::int64_t BufferOf(const KernelSpec& spec, std::size_t argument) {
  std::int64_t buffer = 0;
  for (std::size_t i = 0; i < argument; ++i) buffer += spec.arguments[i].scalar ? 0 : 1;
  return buffer;
}

// A C function with the signature of entries that calls the user's, one after the other.
std::string CallText(const KernelSpec& spec, const std::vector<SpecLaunch>& launches) {
  std::string text =
      "\n#line 1 \"call of the kernel\"\n#include <stdbool.h>\n#include <stdint.h>\n";
  if (spec.language == KernelSpec::Language::kCpp) text += "extern \"C\" ";
  text += fmt::format(
      "int {}(void *const *buffers, const int64_t *extents, void *workspace) {{\n"
      "  (void)extents, (void)workspace;\n",
      kEntry);
  for (std::size_t i = 0; i < spec.arguments.size(); ++i)
    if (spec.arguments[i].scalar)
      text += fmt::format("  static volatile {} scalar{} = {};\n", spec.arguments[i].c_type, i,
                          ScalarText(spec.arguments[i]));
  for (const SpecLaunch& launch : launches) {
    std::string call;
    for (const std::size_t i : launch.arguments) {
      const SpecArgument& argument = spec.arguments[i];
      call += call.empty() ? "" : ", ";
      call += argument.scalar ? fmt::format("scalar{}", i)
                              : fmt::format("({}{} *)buffers[{}]", argument.written ? "" : "const ",
                                            argument.c_type, BufferOf(spec, i));
    }
    text += fmt::format("  {}({});\n", launch.name, call);
  }
  return text + "  return 0;\n}\n";
}

using Macros = std::vector<std::pair<std::string, std::string>>;

Result<Macros> MacrosOf(const KernelSpec& spec, const ParameterSpace& space,
                        std::size_t configuration) {
  const ConfigurationValues values(space, configuration, spec.problem_size);
  Macros macros = values.Parameters();
  for (const auto& [name, formula] : spec.defines) {
    KINDRED_TRY(const Value value, values.Evaluate(formula, "Defines." + name));
    macros.emplace_back(name, PlainText(value));
  }
  return macros;
}

std::string Absolute(const std::string& path, const std::string& folder) {
  return path.starts_with('/') ? path : folder + "/" + path;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Compiler options without include paths, which are added absolute.
std::vector<std::string> OptionsOf(const KernelSpec& spec, const std::string& folder) {
  std::vector<std::string> options;
  for (std::size_t i = 0; i < spec.compiler_options.size(); ++i) {
    const std::string& option = spec.compiler_options[i];
    if (option == kShortPath) ++i;
    if (!option.starts_with(kShortPath) && !option.starts_with(kLongPath))
      options.push_back(option);
  }
  for (const std::string& path : IncludePathsOf(spec, folder)) options.push_back("-I" + path);
  return options;
}

Result<std::int64_t> Blocks(const ConfigurationValues& values, const SpecLaunch& launch,
                            std::size_t axis, std::int64_t threads) {
  if (!launch.global_size[axis].empty()) {
    KINDRED_TRY(const std::int64_t global, values.Whole(launch.global_size[axis], 1, "GlobalSize"));
    return launch.global_threads ? (global + threads - 1) / threads : global;
  }
  const std::int64_t size =
      axis < launch.problem_size.size() ? launch.problem_size[axis] : std::int64_t{1};
  std::int64_t divisor = 1;
  for (const std::string& formula : launch.grid_divisors[axis]) {
    KINDRED_TRY(const std::int64_t factor, values.Whole(formula, 1, "a grid divisor"));
    divisor *= factor;
  }
  return (size + divisor - 1) / divisor;
}

// The bytes that a kernel's parameter of the type has, lowest first.
std::int64_t ScalarBits(const SpecArgument& argument) {
  if (argument.type == DataType::kF64) return std::bit_cast<std::int64_t>(argument.value);
  if (argument.type == DataType::kF32)
    return std::bit_cast<std::int32_t>(static_cast<float>(argument.value));
  return static_cast<std::int64_t>(argument.value);
}

Result<KernelStep> StepOf(const KernelSpec& spec, const SpecLaunch& launch,
                          const ParameterSpace& space, std::size_t configuration) {
  const ConfigurationValues values(space, configuration, launch.problem_size);
  KernelStep step;
  step.entry = values.Instantiated(launch.name);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    KINDRED_TRY(const std::int64_t threads, values.Whole(launch.local_size[axis], 1, "LocalSize"));
    KINDRED_TRY(const std::int64_t blocks, Blocks(values, launch, axis, threads));
    step.block[axis] = static_cast<int>(threads);
    step.grid[axis] = IntExpr(blocks);
  }
  KINDRED_TRY(step.shared_bytes, values.Whole(launch.shared_bytes, 0, "SharedMemory"));
  for (const std::size_t i : launch.arguments) {
    using Kind = KernelStep::Parameter::Kind;
    const SpecArgument& argument = spec.arguments[i];
    if (argument.scalar)
      step.parameters.push_back({Kind::kConstant, ScalarBits(argument)});
    else
      step.parameters.push_back({Kind::kArgument, BufferOf(spec, i)});
  }
  return step;
}

Result<KernelSource> EmitCommand(const KernelSpec& spec, const ParameterSpace& space,
                                 std::size_t configuration) {
  const ConfigurationValues values(space, configuration, spec.problem_size);
  UserCommand command;
  for (const std::string& word : spec.command.words) {
    KINDRED_TRY(std::string filled, values.Fill(word, "Command"));
    command.words.push_back(std::move(filled));
  }
  command.environment = ParameterVariables(space, configuration);
  for (const auto& [name, value] : spec.command.environment) {
    KINDRED_TRY(std::string filled, values.Fill(value, "Environment." + name));
    command.environment.emplace_back(name, std::move(filled));
  }
  KernelSource source;
  source.code = ToText(command);
  source.entry = spec.name;
  source.compiler = "command";
  return source;
}

Result<KernelSource> Emit(const KernelSpec& spec, const std::vector<SpecLaunch>& launches,
                          const ParameterSpace& space, std::size_t configuration,
                          const std::string& text, const std::string& folder) {
  KernelSource source;
  source.arguments = BuffersOf(spec);
  source.flags = OptionsOf(spec, folder);
  KINDRED_TRY(const Macros macros, MacrosOf(spec, space, configuration));
  if (text.find("#include \"") != std::string::npos)
    source.flags.push_back("-I" + FolderOf(Absolute(spec.file, folder)));
  if (spec.language == KernelSpec::Language::kCuda) {
    source.language = KernelSource::Language::kCuda;
    // As text: NVRTC's own header comes first, and shall not see them.
    for (const auto& [name, value] : macros)
      source.code += fmt::format("#define {} {}\n", name, value);
    source.code += "#line 1\n" + text;
    source.lower_names = true;
    source.compiler = "nvrtc";
    for (const SpecLaunch& launch : launches) {
      KINDRED_TRY(KernelStep step, StepOf(spec, launch, space, configuration));
      source.steps.push_back(std::move(step));
    }
    source.entry = source.steps.front().entry;
    return source;
  }
  if (spec.compiler_options.empty())
    source.flags.insert(source.flags.begin(), {"-O3", "-march=native"});
  for (const auto& [name, value] : macros)
    source.flags.push_back(fmt::format("-D{}={}", name, value));
  source.compiler = spec.language == KernelSpec::Language::kC ? "gcc" : "g++";
  source.entry = kEntry;
  source.code = text + CallText(spec, launches);
  return source;
}

}  // namespace

Result<KernelSource> EmitUserKernel(const KernelSpec& spec, const ParameterSpace& space,
                                    std::size_t configuration, const std::string& text,
                                    const std::string& folder) {
  if (spec.language == KernelSpec::Language::kCommand)
    return EmitCommand(spec, space, configuration);
  return Emit(spec, spec.launches, space, configuration, text, folder);
}

Result<KernelSource> EmitUserReference(const KernelSpec& spec, const ParameterSpace& space,
                                       const std::string& text, const std::string& folder) {
  return Emit(spec, {*spec.reference}, space, 0, text, folder);
}

std::vector<std::string> IncludePathsOf(const KernelSpec& spec, const std::string& folder) {
  std::vector<std::string> paths;
  const auto& options = spec.compiler_options;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == kShortPath && i + 1 < options.size())
      paths.push_back(Absolute(options[++i], folder));
    else if (options[i].starts_with(kShortPath))
      paths.push_back(Absolute(options[i].substr(kShortPath.size()), folder));
    else if (options[i].starts_with(kLongPath))
      paths.push_back(Absolute(options[i].substr(kLongPath.size()), folder));
  }
  for (const std::string& path : spec.include_paths) paths.push_back(Absolute(path, folder));
  return paths;
}

std::vector<std::pair<std::string, std::string>> ParameterVariables(const ParameterSpace& space,
                                                                    std::size_t configuration) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, value] : ConfigurationValues(space, configuration, {}).Parameters())
    variables.emplace_back("KINDRED_PARAMETER_" + name, value);
  return variables;
}

}  // namespace kindred
