#include "schedules/user/user_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "schedules/user/expression.h"

namespace kindred {
namespace {

constexpr const char* kEntry = "kindred_user_kernel";

std::string MacroText(const Value& value) {
  if (value.Text()) return *value.Text();
  if (value.IsInteger()) return fmt::format("{}", value.Integer());
  return Repr(value);
}

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

// A C function with the signature of entries that calls the user's.
std::string CallText(const KernelSpec& spec, const std::string& function) {
  std::string text =
      "\n#line 1 \"call of the kernel\"\n#include <stdbool.h>\n#include <stdint.h>\n";
  if (spec.language == KernelSpec::Language::kCpp) text += "extern \"C\" ";
  text += fmt::format(
      "int {}(void *const *buffers, const int64_t *extents, void *workspace) {{\n"
      "  (void)extents, (void)workspace;\n",
      kEntry);
  std::string call;
  int buffer = 0;
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    const SpecArgument& argument = spec.arguments[i];
    if (argument.scalar)
      text += fmt::format("  static volatile {} scalar{} = {};\n", argument.c_type, i,
                          ScalarText(argument));
    call += call.empty() ? "" : ", ";
    call += argument.scalar ? fmt::format("scalar{}", i)
                            : fmt::format("({}{} *)buffers[{}]", argument.written ? "" : "const ",
                                          argument.c_type, buffer++);
  }
  return text + fmt::format("  {}({});\n  return 0;\n}}\n", function, call);
}

std::vector<std::string> MacroFlags(const ParameterSpace& space, std::size_t configuration) {
  std::vector<std::string> flags;
  const auto row = space.Configuration(configuration);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const TunableParameter& parameter = space.parameters()[i];
    flags.push_back(fmt::format("-D{}={}", parameter.name, MacroText(parameter.values[row[i]])));
  }
  return flags;
}

// Values of the parameters, then ProblemSize.
class Geometry {
 public:
  Geometry(const KernelSpec& spec, const ParameterSpace& space, std::size_t configuration)
      : spec_(spec) {
    const auto row = space.Configuration(configuration);
    for (std::size_t i = 0; i < row.size(); ++i) {
      names_.push_back(space.parameters()[i].name);
      values_.push_back(space.parameters()[i].values[row[i]]);
    }
    names_.emplace_back("ProblemSize");
    ValueList sizes;
    for (const std::int64_t size : spec.problem_size) sizes.emplace_back(size);
    values_.emplace_back(std::move(sizes));
  }

  Result<std::int64_t> Whole(const std::string& formula, std::int64_t least,
                             std::string_view what) const {
    KINDRED_TRY(const Expression expression, Expression::Parse(formula, names_));
    KINDRED_TRY(const Value value, expression.Evaluate(values_));
    if (!value.IsNumber() || value.Number() < static_cast<double>(least) ||
        value.Number() > 2147483647 ||
        value.Number() != static_cast<double>(static_cast<std::int64_t>(value.Number())))
      return BadInput(fmt::format("{} \"{}\" is {}, which is no whole number from {} on", what,
                                  formula, Repr(value), least));
    return static_cast<std::int64_t>(value.Number());
  }

  Result<std::int64_t> Blocks(std::size_t axis, std::int64_t threads) const {
    if (!spec_.global_size[axis].empty()) {
      KINDRED_TRY(const std::int64_t global, Whole(spec_.global_size[axis], 1, "GlobalSize"));
      return spec_.global_threads ? (global + threads - 1) / threads : global;
    }
    const std::int64_t size =
        axis < spec_.problem_size.size() ? spec_.problem_size[axis] : std::int64_t{1};
    std::int64_t divisor = 1;
    for (const std::string& formula : spec_.grid_divisors[axis]) {
      KINDRED_TRY(const std::int64_t factor, Whole(formula, 1, "a grid divisor"));
      divisor *= factor;
    }
    return (size + divisor - 1) / divisor;
  }

 private:
  const KernelSpec& spec_;
  std::vector<std::string> names_;
  std::vector<Value> values_;
};

// The bytes that a kernel's parameter of the type has, lowest first.
std::int64_t ScalarBits(const SpecArgument& argument) {
  if (argument.type == DataType::kF64) return std::bit_cast<std::int64_t>(argument.value);
  if (argument.type == DataType::kF32)
    return std::bit_cast<std::int32_t>(static_cast<float>(argument.value));
  return static_cast<std::int64_t>(argument.value);
}

Result<KernelStep> StepOf(const KernelSpec& spec, const ParameterSpace& space,
                          std::size_t configuration) {
  const Geometry geometry(spec, space, configuration);
  KernelStep step;
  step.entry = spec.name;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    KINDRED_TRY(const std::int64_t threads, geometry.Whole(spec.local_size[axis], 1, "LocalSize"));
    KINDRED_TRY(const std::int64_t blocks, geometry.Blocks(axis, threads));
    step.block[axis] = static_cast<int>(threads);
    step.grid[axis] = IntExpr(blocks);
  }
  KINDRED_TRY(step.shared_bytes, geometry.Whole(spec.shared_bytes, 0, "SharedMemory"));
  std::int64_t buffer = 0;
  for (const SpecArgument& argument : spec.arguments) {
    using Kind = KernelStep::Parameter::Kind;
    if (argument.constant_memory)
      return Unsupported(fmt::format(
          "argument {} lies in constant memory, which launches cannot fill yet", argument.name));
    if (argument.scalar)
      step.parameters.push_back({Kind::kConstant, ScalarBits(argument)});
    else
      step.parameters.push_back({Kind::kArgument, buffer++});
  }
  return step;
}

}  // namespace

Result<KernelSource> EmitUserKernel(const KernelSpec& spec, const ParameterSpace& space,
                                    std::size_t configuration, const std::string& text,
                                    const std::string& folder) {
  KernelSource source;
  source.arguments = BuffersOf(spec);
  source.flags = spec.compiler_options;
  for (std::string& flag : MacroFlags(space, configuration))
    source.flags.push_back(std::move(flag));
  if (text.find("#include \"") != std::string::npos) source.flags.push_back("-I" + folder);
  if (spec.language == KernelSpec::Language::kCuda) {
    source.language = KernelSource::Language::kCuda;
    source.code = text;
    source.entry = spec.name;
    source.compiler = "nvrtc";
    KINDRED_TRY(KernelStep step, StepOf(spec, space, configuration));
    source.steps.push_back(std::move(step));
    return source;
  }
  if (spec.compiler_options.empty())
    source.flags.insert(source.flags.begin(), {"-O3", "-march=native"});
  source.compiler = spec.language == KernelSpec::Language::kC ? "gcc" : "g++";
  source.entry = kEntry;
  source.code = text + CallText(spec, spec.name);
  return source;
}

Result<KernelSource> EmitUserReference(const KernelSpec& spec, const ParameterSpace& space,
                                       const std::string& text, const std::string& folder) {
  KernelSpec of_reference = spec;
  of_reference.name = spec.reference;
  return EmitUserKernel(of_reference, space, 0, text, folder);
}

}  // namespace kindred
