// Vector forms of the scalar helpers. The functions of c_math.cc marked lanewise are rewritten word
// by word; the rest is written here: by instruction where x86 has one and GCC's C has no operator
// for it (guarded, with a portable form beside it), else by operators, else as a loop over the
// lanes.
#include <fmt/format.h>

#include <cctype>

#include "schedules/internal/c_helpers.h"
#include "schedules/internal/c_math.h"

namespace kindred::internal {
namespace {

constexpr std::string_view kInline = "static inline __attribute__((unused))";

// float -> kd_f32x16, kd_exp_f32 -> kd_exp_f32x16, ...
std::string Vectorise(std::string_view text, int lanes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto word_char = [&](std::size_t k) {
      return std::isalnum(static_cast<unsigned char>(text[k])) || text[k] == '_';
    };
    if (!word_char(i)) {
      out += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && word_char(end)) ++end;
    const std::string_view word = text.substr(i, end - i);
    const bool helper =
        word.rfind("kd_", 0) == 0 && word.size() > 4 &&
        (word.substr(word.size() - 4) == "_f32" || word.substr(word.size() - 4) == "_i32");
    if (word == "float")
      out += fmt::format("kd_f32x{}", lanes);
    else if (word == "int")
      out += fmt::format("kd_i32x{}", lanes);
    else if (word == "unsigned")
      out += fmt::format("kd_u32x{}", lanes);
    else if (helper)
      out += fmt::format("{}x{}", word, lanes);
    else
      out += word;
    i = end;
  }
  return out;
}

struct Instruction {
  std::string_view function;
  int lanes;
  std::string_view guard, call;  // of a (and b)
};

constexpr std::string_view kAvx512 = "__AVX512F__";
constexpr std::string_view kAvx = "__AVX__";

constexpr Instruction kInstructions[] = {
    {"kd_max_f32", 16, kAvx512, "__builtin_ia32_maxps512_mask(a, b, a, (unsigned short)-1, 4)"},
    {"kd_min_f32", 16, kAvx512, "__builtin_ia32_minps512_mask(a, b, a, (unsigned short)-1, 4)"},
    {"kd_max_f64", 8, kAvx512, "__builtin_ia32_maxpd512_mask(a, b, a, (unsigned char)-1, 4)"},
    {"kd_min_f64", 8, kAvx512, "__builtin_ia32_minpd512_mask(a, b, a, (unsigned char)-1, 4)"},
    {"kd_sqrt_f32", 16, kAvx512, "__builtin_ia32_sqrtps512_mask(a, a, (unsigned short)-1, 4)"},
    {"kd_sqrt_f64", 8, kAvx512, "__builtin_ia32_sqrtpd512_mask(a, a, (unsigned char)-1, 4)"},
    {"kd_floor_f32", 16, kAvx512, "__builtin_ia32_rndscaleps_mask(a, 1, a, (unsigned short)-1, 4)"},
    {"kd_ceil_f32", 16, kAvx512, "__builtin_ia32_rndscaleps_mask(a, 2, a, (unsigned short)-1, 4)"},
    {"kd_round_f32", 16, kAvx512, "__builtin_ia32_rndscaleps_mask(a, 0, a, (unsigned short)-1, 4)"},
    {"kd_floor_f64", 8, kAvx512, "__builtin_ia32_rndscalepd_mask(a, 1, a, (unsigned char)-1, 4)"},
    {"kd_ceil_f64", 8, kAvx512, "__builtin_ia32_rndscalepd_mask(a, 2, a, (unsigned char)-1, 4)"},
    {"kd_round_f64", 8, kAvx512, "__builtin_ia32_rndscalepd_mask(a, 0, a, (unsigned char)-1, 4)"},
    {"kd_max_f32", 8, kAvx, "__builtin_ia32_maxps256(a, b)"},
    {"kd_min_f32", 8, kAvx, "__builtin_ia32_minps256(a, b)"},
    {"kd_max_f64", 4, kAvx, "__builtin_ia32_maxpd256(a, b)"},
    {"kd_min_f64", 4, kAvx, "__builtin_ia32_minpd256(a, b)"},
    {"kd_sqrt_f32", 8, kAvx, "__builtin_ia32_sqrtps256(a)"},
    {"kd_sqrt_f64", 4, kAvx, "__builtin_ia32_sqrtpd256(a)"},
    {"kd_floor_f32", 8, kAvx, "__builtin_ia32_roundps256(a, 9)"},
    {"kd_ceil_f32", 8, kAvx, "__builtin_ia32_roundps256(a, 10)"},
    {"kd_round_f32", 8, kAvx, "__builtin_ia32_roundps256(a, 8)"},
    {"kd_floor_f64", 4, kAvx, "__builtin_ia32_roundpd256(a, 9)"},
    {"kd_ceil_f64", 4, kAvx, "__builtin_ia32_roundpd256(a, 10)"},
    {"kd_round_f64", 4, kAvx, "__builtin_ia32_roundpd256(a, 8)"},
};

}  // namespace

std::string CHelpers::Lanewise(std::string_view function, int lanes) {
  const std::string name = fmt::format("{}x{}", function, lanes);
  if (defined_.count(name)) return name;
  const ScalarHelper& helper = FindScalarHelper(function);
  if (!helper.lanewise) {
    const std::string text = LanewiseText(function, name, lanes);
    Define(name, text);
    return name;
  }
  for (const char* element : {"f32", "i32", "u32"}) Vector(element, lanes);
  for (const std::string_view need : helper.needs)
    if (!need.empty()) Lanewise(need, lanes);
  Define(name, Vectorise(helper.text, lanes));
  return name;
}

std::string CHelpers::LanewiseText(std::string_view function, const std::string& name, int lanes) {
  const std::size_t underscore = function.rfind('_');
  const std::string element(function.substr(underscore + 1));
  const std::string_view base = function.substr(0, underscore);
  if (base == "kd_splat") return Splat(element, lanes), "";
  if (base == "kd_select") return Select(element, lanes), "";
  const auto one = [&](std::string_view to, std::string_view from, const std::string& value) {
    return fmt::format("{} {} {}({} a) {{\n  return {};\n}}\n", kInline, Vector(to, lanes), name,
                       Vector(from, lanes), value);
  };
  const auto type = [&](std::string_view e) { return Vector(e, lanes); };
  if (base == "kd_bits") return one("i32", "f32", fmt::format("({})a", type("i32")));
  if (base == "kd_from_bits") return one("f32", "i32", fmt::format("({})a", type("f32")));
  if (base == "kd_to_float")
    return one("f32", "i32", fmt::format("__builtin_convertvector(a, {})", type("f32")));
  for (const std::string f8 : {"f8e4m3", "f8e5m2"}) {
    if (function == "kd_" + f8 + "_to_f32")
      return one("f32", f8,
                 fmt::format("{}(__builtin_convertvector(a, {}))",
                             Lanewise("kd_" + f8 + "_decode_f32", lanes), type("i32")));
    if (function == "kd_f32_to_" + f8)
      return one(f8, "f32",
                 fmt::format("__builtin_convertvector({}(a), {})",
                             Lanewise("kd_" + f8 + "_encode_i32", lanes), type(f8)));
  }
  if (function == "kd_f16_to_f32")
    return one("f32", "f16", fmt::format("__builtin_convertvector(a, {})", type("f32")));
  if (function == "kd_f32_to_f16")
    return one("f16", "f32", fmt::format("__builtin_convertvector(a, {})", type("f16")));
  if (function == "kd_bf16_to_f32")
    return one("f32", "bf16",
               fmt::format("({})(__builtin_convertvector(a, {}) << 16)", type("f32"), type("u32")));
  if (function == "kd_f32_to_bf16") {
    const std::string u = type("u32"), i = type("i32"), select = Select("i32", lanes);
    return fmt::format(
        "{0} {1} {2}({3} a) {{\n"
        "  {4} u = ({4})a;\n"
        "  {4} rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;\n"
        "  {4} nan = (u >> 16) | 0x40u;\n"
        "  {5} is_nan = ({5})((u & 0x7fffffffu) > 0x7f800000u);\n"
        "  return __builtin_convertvector(({4}){6}(is_nan, ({5})nan, ({5})rounded), {1});\n}}\n",
        kInline, type("bf16"), name, type("f32"), u, i, select);
  }
  if (function == "kd_abs_f32")
    return one("f32", "f32", fmt::format("({})(({})a & 0x7fffffff)", type("f32"), type("i32")));
  if (function == "kd_abs_f64")
    return one("f64", "f64",
               fmt::format("({})(({})a & 0x7fffffffffffffffL)", type("f64"), type("i64")));
  if (base == "kd_abs") {
    const std::string select = Select(element, lanes);
    return one(element, element, fmt::format("{}(a < 0, -a, a)", select));
  }
  if (base == "kd_rsqrt") {
    const std::string root = Lanewise("kd_sqrt_" + element, lanes);
    return one(element, element, fmt::format("1{} / {}(a)", element == "f32" ? ".f" : ".", root));
  }
  // Extremes and roundings: an instruction, or the portable form.
  const bool two = base == "kd_max" || base == "kd_min";
  const std::string t = type(element);
  std::string portable;
  if (two) {
    const std::string select = Select(element, lanes);
    portable = fmt::format("  return {}(a {} b, a, b);\n", select, base == "kd_max" ? ">" : "<");
  } else {
    portable =
        fmt::format("  {} r;\n  for (int i = 0; i < {}; ++i) r[i] = {}(a[i]);\n  return r;\n", t,
                    lanes, Scalar(function));
  }
  std::string body = portable;
  for (const Instruction& x : kInstructions)
    if (x.function == function && x.lanes == lanes)
      body = fmt::format("#if defined({}) && !defined(__clang__)\n  return {};\n#else\n{}#endif\n",
                         x.guard, x.call, portable);
  return fmt::format("{0} {1} {2}({1} a{3}) {{\n{4}}}\n", kInline, t, name,
                     two ? fmt::format(", {} b", t) : "", body);
}

}  // namespace kindred::internal
