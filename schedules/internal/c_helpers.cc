#include "schedules/internal/c_helpers.h"

#include <fmt/format.h>

#include "schedules/internal/c_math.h"

namespace kindred::internal {
namespace {

struct Element {
  std::string_view name, c_type, mask;  // mask: the integer element of the same width
  int bytes;
};

constexpr Element kElements[] = {
    {"f32", "float", "i32", 4},
    {"f64", "double", "i64", 8},
    {"i32", "int", "i32", 4},
    {"u32", "unsigned", "i32", 4},
    {"i64", "int64_t", "i64", 8},
    {"f16", "_Float16", "i16", 2},
    {"bf16", "unsigned short", "i16", 2},
    {"f8e4m3", "unsigned char", "i8", 1},
    {"f8e5m2", "unsigned char", "i8", 1},
    {"i16", "short", "i16", 2},
    {"i8", "signed char", "i8", 1},
    {"u8", "unsigned char", "i8", 1},
    {"c64", "float _Complex", "i64", 8},
};

const Element& Find(std::string_view name) {
  for (const Element& e : kElements)
    if (e.name == name) return e;
  return kElements[0];
}

std::string Guarded(const std::string& name, std::string_view text) {
  return fmt::format("#ifndef {0}_DEFINED\n#define {0}_DEFINED\n{1}#endif\n", name, text);
}

std::string Lanes(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i ? ", " : "", first + i);
  return text;
}

}  // namespace

std::string_view CTypeOf(std::string_view element) { return Find(element).c_type; }

void CHelpers::Define(const std::string& name, const std::string& text) {
  if (!text.empty() && defined_.insert(name).second) order_.push_back(Guarded(name, text));
}

std::string CHelpers::Scalar(std::string_view name) {
  std::string key(name);
  if (defined_.count(key)) return key;
  const ScalarHelper& helper = FindScalarHelper(name);
  for (const std::string_view dependency : helper.needs) {
    if (!dependency.empty()) Scalar(dependency);
  }
  uses_libm_ |= helper.libm;
  Define(key, std::string(helper.text));
  return key;
}

std::string CHelpers::Vector(std::string_view element, int lanes) {
  const Element& e = Find(element);
  const std::string name = fmt::format("kd_{}x{}", element, lanes);
  Define(name, fmt::format("typedef {0} {1} __attribute__((vector_size({2})));\n"
                           "typedef {0} {1}u __attribute__((vector_size({2}), aligned({3}), "
                           "may_alias));\n",
                           element == "c64" ? "float" : e.c_type, name, e.bytes * lanes, e.bytes));
  return name;
}

std::string CHelpers::Splat(std::string_view element, int lanes) {
  if (element == "c64") return Complex("splat", lanes);
  const std::string type = Vector(element, lanes);
  const std::string name = fmt::format("kd_splat_{}x{}", element, lanes);
  // x - 0 is x for every x, the negative zero included.
  Define(name, fmt::format("static inline __attribute__((unused)) {1} {0}({2} x) {{\n"
                           "  return x - ({1}){{0}};\n}}\n",
                           name, type, CTypeOf(element)));
  return name;
}

std::string CHelpers::Select(std::string_view element, int lanes) {
  const std::string type = Vector(element, lanes);
  const std::string mask = Vector(Find(element).mask, lanes);
  const std::string name = fmt::format("kd_select_{}x{}", element, lanes);
  Define(name,
         fmt::format("static inline __attribute__((unused)) {1} {0}({2} mask, {1} a, {1} b) {{\n"
                     "  return ({1})((({2})a & mask) | (({2})b & ~mask));\n}}\n",
                     name, type, mask));
  return name;
}

std::string CHelpers::Horizontal(std::string_view op, std::string_view element, int lanes) {
  if (element == "c64") return Complex("reduce_add", lanes);
  const std::string name = fmt::format("kd_reduce_{}_{}x{}", op, element, lanes);
  if (defined_.count(name)) return name;
  const std::string_view scalar_type = CTypeOf(element);
  std::string function;
  if (op == "max" || op == "min") function = Scalar(fmt::format("kd_{}_{}", op, element));
  const std::string_view symbol = op == "mul" ? "*" : "+";
  std::string text = fmt::format("static inline __attribute__((unused)) {} {}({} v) {{\n",
                                 scalar_type, name, Vector(element, lanes));
  std::string current = "v";
  for (int n = lanes / 2; n >= 2; n /= 2) {
    const std::string half = Vector(element, n);
    const std::string next = fmt::format("v{}", n);
    const std::string low =
        fmt::format("__builtin_shufflevector({0}, {0}, {1})", current, Lanes(0, n));
    const std::string high =
        fmt::format("__builtin_shufflevector({0}, {0}, {1})", current, Lanes(n, n));
    if (function.empty())
      text += fmt::format("  {} {} = {} {} {};\n", half, next, low, symbol, high);
    else
      text += fmt::format("  {} {} = {}({}, {});\n", half, next, Lanewise(function, n), low, high);
    current = next;
  }
  if (function.empty())
    text += fmt::format("  return {0}[0] {1} {0}[1];\n}}\n", current, symbol);
  else
    text += fmt::format("  return {1}({0}[0], {0}[1]);\n}}\n", current, function);
  Define(name, text);
  return name;
}

std::string CHelpers::Source() const {
  std::string text;
  for (const std::string& definition : order_) text += definition;
  return text;
}

}  // namespace kindred::internal
