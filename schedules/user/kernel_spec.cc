#include "schedules/user/kernel_spec.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "schedules/user/expression.h"
#include "schedules/user/json_value.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

constexpr double kMostElements = 1e12;

struct TypeName {
  std::string_view name, c_type;
  DataType type;
};
constexpr TypeName kTypes[] = {
    {"float", "float", DataType::kF32},
    {"float32", "float", DataType::kF32},
    {"double", "double", DataType::kF64},
    {"float64", "double", DataType::kF64},
    {"int", "int", DataType::kI32},
    {"int32", "int32_t", DataType::kI32},
    {"uint32", "uint32_t", DataType::kI32},
    {"unsigned int", "uint32_t", DataType::kI32},
    {"int64", "int64_t", DataType::kI64},
    {"long", "int64_t", DataType::kI64},
    {"uint64", "uint64_t", DataType::kI64},
    {"int8", "int8_t", DataType::kI8},
    {"char", "int8_t", DataType::kI8},
    {"uint8", "uint8_t", DataType::kU8},
    {"unsigned char", "uint8_t", DataType::kU8},
    {"bool", "bool", DataType::kBool},
};

// Reads the fields of one description; every message begins with its name.
class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  Result<KernelSpec> Read(const json& spec, T1Space space);

 private:
  Error Bad(std::string_view what) const { return BadInput(fmt::format("{}: {}", source_, what)); }
  Result<std::string> Text(const json& object, const char* field, bool needed) const;
  // A number, or the text of an expression over ProblemSize and the lists of the parameters'
  // values.
  Result<double> Number(const json& value, std::string_view where) const;
  // The text of an expression over the parameters, checked to be one.
  Result<std::string> Formula(const json& value, std::string_view where) const;
  Result<void> ReadLanguage(const json& kernel);
  Result<void> ReadSizes(const json& kernel);
  Result<SpecArgument> ReadArgument(const json& entry) const;

  std::string source_;
  KernelSpec spec_;
  std::vector<std::string> names_;  // of the parameters, then ProblemSize
};

Result<std::string> Reader::Text(const json& object, const char* field, bool needed) const {
  if (!object.contains(field)) {
    if (needed) return Bad(fmt::format("KernelSpecification.{} is missing", field));
    return std::string();
  }
  if (!object[field].is_string()) return Bad(fmt::format("{} is no text", field));
  return object[field].get<std::string>();
}

Result<double> Reader::Number(const json& value, std::string_view where) const {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return Bad(fmt::format("{} is neither a number nor a text", where));
  const auto expression = Expression::Parse(value.get<std::string>(), names_);
  if (!expression) return Bad(fmt::format("{}: {}", where, expression.error().message));
  std::vector<Value> values;
  for (const TunableParameter& parameter : spec_.space.parameters)
    values.emplace_back(ValueList(parameter.values));
  ValueList sizes;
  for (const std::int64_t size : spec_.problem_size) sizes.emplace_back(size);
  values.emplace_back(std::move(sizes));
  const auto result = expression->Evaluate(values);
  if (!result)
    return Bad(
        fmt::format("{}: {} (parameters stand for the lists of their values here: write "
                    "max(x))",
                    where, result.error().message));
  if (!result->IsNumber()) return Bad(fmt::format("{} is no number: {}", where, Repr(*result)));
  return result->Number();
}

Result<std::string> Reader::Formula(const json& value, std::string_view where) const {
  const std::string text = value.is_string()           ? value.get<std::string>()
                           : value.is_number_integer() ? value.dump()
                                                       : "";
  if (text.empty()) return Bad(fmt::format("{} is neither a whole number nor a text", where));
  const auto expression = Expression::Parse(text, names_);
  if (!expression) return Bad(fmt::format("{}: {}", where, expression.error().message));
  return text;
}

Result<void> Reader::ReadLanguage(const json& kernel) {
  KINDRED_TRY(const std::string language, Text(kernel, "Language", true));
  if (language == "C") {
    spec_.language = KernelSpec::Language::kC;
  } else if (language == "C++" || language == "CPP") {
    spec_.language = KernelSpec::Language::kCpp;
  } else if (language == "CUDA") {
    spec_.language = KernelSpec::Language::kCuda;
  } else {
    return Unsupported(fmt::format("{}: kernels in '{}' cannot be tuned; known are C, C++ and CUDA",
                                   source_, language));
  }
  return {};
}

Result<void> Reader::ReadSizes(const json& kernel) {
  const json sizes = kernel.value("ProblemSize", json(1));
  for (const json& size : sizes.is_array() ? sizes : json::array({sizes})) {
    const auto value = Number(size, "ProblemSize");
    if (!value) return value.error();
    if (!(*value >= 1 && *value <= kMostElements) || *value != std::floor(*value))
      return Bad(fmt::format("ProblemSize has {}, which is no whole number above 0", *value));
    spec_.problem_size.push_back(static_cast<std::int64_t>(*value));
  }
  if (spec_.problem_size.empty() || spec_.problem_size.size() > 3)
    return Bad("ProblemSize must have one to three numbers");
  static constexpr const char* kAxes[] = {"X", "Y", "Z"};
  static constexpr const char* kDivisors[] = {"GridDivX", "GridDivY", "GridDivZ"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto read = [&](const char* field, std::string& into) -> Result<void> {
      if (!kernel.contains(field) || !kernel[field].is_object() ||
          !kernel[field].contains(kAxes[axis]))
        return {};
      KINDRED_TRY(into,
                  Formula(kernel[field][kAxes[axis]], fmt::format("{}.{}", field, kAxes[axis])));
      return {};
    };
    KINDRED_CHECK(read("LocalSize", spec_.local_size[axis]));
    KINDRED_CHECK(read("GlobalSize", spec_.global_size[axis]));
    // Where nothing else is said, a thread is for one element of the first axis.
    const json usual = axis == 0 && spec_.global_size[0].empty()
                           ? json::array({spec_.local_size[0]})
                           : json::array();
    const json divisors = kernel.value(kDivisors[axis], usual);
    if (!divisors.is_array() && !divisors.is_null())
      return Bad(fmt::format("{} is no list", kDivisors[axis]));
    for (const json& divisor : divisors) {
      KINDRED_TRY(std::string text, Formula(divisor, kDivisors[axis]));
      spec_.grid_divisors[axis].push_back(std::move(text));
    }
  }
  // A kernel's own divisors say how many blocks there are; GlobalSize may be of another problem.
  if (std::any_of(std::begin(kDivisors), std::end(kDivisors),
                  [&](const char* divisor) { return kernel.contains(divisor); }))
    spec_.global_size = {};
  KINDRED_TRY(const std::string kind, Text(kernel, "GlobalSizeType", false));
  if (kind != "" && kind != "CUDA" && kind != "OpenCL")
    return Bad(
        fmt::format("GlobalSizeType is '{}'; known are CUDA (blocks) and OpenCL (threads)", kind));
  spec_.global_threads = kind == "OpenCL";
  if (kernel.contains("SharedMemory") && !kernel["SharedMemory"].is_null()) {
    KINDRED_TRY(spec_.shared_bytes, Formula(kernel["SharedMemory"], "SharedMemory"));
  }
  return {};
}

Result<SpecArgument> Reader::ReadArgument(const json& entry) const {
  if (!entry.is_object() || !entry.contains("Type") || !entry["Type"].is_string())
    return Bad("each of Arguments needs a Type");
  SpecArgument argument;
  KINDRED_TRY(argument.name, Text(entry, "Name", false));
  if (argument.name.empty()) argument.name = fmt::format("argument{}", spec_.arguments.size());
  const std::string where = "argument " + argument.name;
  const std::string type = entry["Type"].get<std::string>();
  const auto* const known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const TypeName& t) { return t.name == type; });
  if (known == std::end(kTypes))
    return Unsupported(
        fmt::format("{}: {} has the type '{}', which is not known here", source_, where, type));
  argument.type = known->type;
  argument.c_type = known->c_type;
  KINDRED_TRY(const std::string memory, Text(entry, "MemoryType", false));
  if (memory != "Vector" && memory != "Scalar")
    return Bad(fmt::format("{}: MemoryType is '{}', not Vector or Scalar", where, memory));
  argument.scalar = memory == "Scalar";
  KINDRED_TRY(const std::string fill, Text(entry, "FillType", false));
  if (entry.contains("FillValue") && !(fill == "BinaryRaw" && entry["FillValue"].is_string())) {
    KINDRED_TRY(argument.value, Number(entry["FillValue"], where + ": FillValue"));
  }
  if (argument.scalar) return argument;

  if (!entry.contains("Size")) return Bad(where + ": a vector needs a Size");
  KINDRED_TRY(const double size, Number(entry["Size"], where + ": Size"));
  if (!(size >= 1 && size <= kMostElements) || size != std::floor(size))
    return Bad(fmt::format("{}: its Size is {}, which is no whole number above 0", where, size));
  argument.elements = static_cast<std::int64_t>(size);
  KINDRED_TRY(const std::string access, Text(entry, "AccessType", false));
  if (access != "" && access != "ReadOnly" && access != "WriteOnly" && access != "ReadWrite")
    return Bad(
        fmt::format("{}: AccessType is '{}', not ReadOnly, WriteOnly or ReadWrite", where, access));
  argument.written = access == "WriteOnly" || access == "ReadWrite" ||
                     (access.empty() && entry.contains("Output"));
  argument.read = access != "WriteOnly";
  argument.random = fill == "Random";
  if (fill == "BinaryRaw") {
    KINDRED_TRY(argument.file,
                Text(entry, entry.contains("DataSource") ? "DataSource" : "FillValue", true));
  } else if (fill != "" && fill != "Constant" && fill != "Random") {
    return Unsupported(fmt::format(
        "{}: {}: FillType '{}' is not known here; known are Constant, Random and BinaryRaw",
        source_, where, fill));
  }
  KINDRED_TRY(const std::string placed, Text(entry, "MemType", false));
  argument.constant_memory = placed == "Constant";
  return argument;
}

Result<KernelSpec> Reader::Read(const json& spec, T1Space space) {
  spec_.space = std::move(space);
  for (const TunableParameter& parameter : spec_.space.parameters) names_.push_back(parameter.name);
  names_.emplace_back("ProblemSize");
  const json& kernel = spec["KernelSpecification"];
  KINDRED_CHECK(ReadLanguage(kernel));
  KINDRED_TRY(spec_.name, Text(kernel, "KernelName", true));
  KINDRED_TRY(spec_.file, Text(kernel, "KernelFile", true));
  KINDRED_TRY(spec_.reference, Text(kernel, "ReferenceKernel", false));
  if (kernel.contains("CompilerOptions") && !kernel["CompilerOptions"].is_null()) {
    for (const json& option : kernel["CompilerOptions"]) {
      if (!option.is_string()) return Bad("CompilerOptions is no list of texts");
      spec_.compiler_options.push_back(option.get<std::string>());
    }
  }
  KINDRED_CHECK(ReadSizes(kernel));
  if (!kernel.contains("Arguments") || !kernel["Arguments"].is_array())
    return Bad("KernelSpecification.Arguments is missing");
  for (const json& entry : kernel["Arguments"]) {
    KINDRED_TRY(SpecArgument argument, ReadArgument(entry));
    spec_.arguments.push_back(std::move(argument));
  }
  if (std::none_of(spec_.arguments.begin(), spec_.arguments.end(),
                   [](const SpecArgument& argument) { return argument.written; }))
    return Bad("no argument is written: give AccessType WriteOnly or ReadWrite to the outputs");
  if (kernel.contains("Tolerance")) {
    KINDRED_TRY(spec_.tolerance, Number(kernel["Tolerance"], "Tolerance"));
    if (!(spec_.tolerance >= 0 && spec_.tolerance < 1))
      return Bad("Tolerance must lie between 0 and 1");
  }
  return std::move(spec_);
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
  return Reader(source).Read(spec, std::move(space));
}

}  // namespace kindred
