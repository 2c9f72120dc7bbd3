#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "schedules/user/internal/read_spec.h"

namespace kindred {
namespace {

using Json = SpecFields::Json;

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

// How the vector is filled.
Result<void> ReadFill(const SpecFields& fields, const Json& entry, const std::string& fill,
                      const std::string& where, SpecArgument& argument) {
  argument.random = fill == "Random";
  if (fill == "BinaryRaw") {
    KINDRED_TRY(
        argument.file,
        fields.Text(entry, entry.contains("DataSource") ? "DataSource" : "FillValue", true));
    return {};
  }
  if (fill != "" && fill != "Constant" && fill != "Random")
    return fields.NotSupported(
        fmt::format("{}: FillType '{}' is not known here; known are Constant, Random and BinaryRaw",
                    where, fill));
  return {};
}

Result<void> ReadAccess(const SpecFields& fields, const Json& entry, const std::string& where,
                        SpecArgument& argument) {
  KINDRED_TRY(const std::string access, fields.Text(entry, "AccessType", false));
  constexpr std::string_view kKnown[] = {"", "ReadOnly", "WriteOnly", "ReadWrite", "Scratch"};
  if (std::find(std::begin(kKnown), std::end(kKnown), access) == std::end(kKnown))
    return fields.Bad(fmt::format(
        "{}: AccessType is '{}', not ReadOnly, WriteOnly, ReadWrite or Scratch", where, access));
  argument.scratch = access == "Scratch";
  argument.written = access == "WriteOnly" || access == "ReadWrite" || argument.scratch ||
                     (access.empty() && entry.contains("Output"));
  argument.read = access != "WriteOnly" && !argument.scratch;
  return {};
}

}  // namespace

Result<SpecArgument> ReadArgument(const SpecFields& fields, const Json& entry, std::size_t place) {
  if (!entry.is_object() || !entry.contains("Type") || !entry["Type"].is_string())
    return fields.Bad("each of Arguments needs a Type");
  SpecArgument argument;
  KINDRED_TRY(argument.name, fields.Text(entry, "Name", false));
  if (argument.name.empty()) argument.name = fmt::format("argument{}", place);
  const std::string where = "argument " + argument.name;
  if (argument.name.find('/') != std::string::npos)
    return fields.Bad(where + ": a Name cannot have a '/': files are called after it");
  const std::string type = entry["Type"].get<std::string>();
  const auto* const known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const TypeName& t) { return t.name == type; });
  if (known == std::end(kTypes))
    return fields.NotSupported(
        fmt::format("{} has the type '{}', which is not known here", where, type));
  argument.type = known->type;
  argument.c_type = known->c_type;
  KINDRED_TRY(const std::string memory, fields.Text(entry, "MemoryType", false));
  if (memory != "Vector" && memory != "Scalar")
    return fields.Bad(fmt::format("{}: MemoryType is '{}', not Vector or Scalar", where, memory));
  argument.scalar = memory == "Scalar";
  KINDRED_TRY(const std::string fill, fields.Text(entry, "FillType", false));
  if (entry.contains("FillValue") && !(fill == "BinaryRaw" && entry["FillValue"].is_string())) {
    KINDRED_TRY(argument.value, fields.Number(entry["FillValue"], where + ": FillValue"));
  }
  if (argument.scalar) return argument;

  if (!entry.contains("Size")) return fields.Bad(where + ": a vector needs a Size");
  KINDRED_TRY(const double size, fields.Number(entry["Size"], where + ": Size"));
  if (!(size >= 1 && size <= kMostElements) || size != std::floor(size))
    return fields.Bad(
        fmt::format("{}: its Size is {}, which is no whole number above 0", where, size));
  argument.elements = static_cast<std::int64_t>(size);
  KINDRED_CHECK(ReadAccess(fields, entry, where, argument));
  KINDRED_CHECK(ReadFill(fields, entry, fill, where, argument));
  KINDRED_TRY(const std::string placed, fields.Text(entry, "MemType", false));
  argument.constant_memory = placed == "Constant";
  if (argument.constant_memory && argument.written)
    return fields.Bad(where + ": lies in constant memory (MemType) and is written (AccessType)");
  if (entry.contains("Tolerance")) {
    KINDRED_TRY(argument.tolerance, fields.Number(entry["Tolerance"], where + ": Tolerance"));
    if (!(argument.tolerance >= 0 && argument.tolerance < 1))
      return fields.Bad(where + ": Tolerance must lie between 0 and 1");
  }
  return argument;
}

}  // namespace kindred
