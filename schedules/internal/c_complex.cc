// Complex numbers in emitted C. A scalar is a `float _Complex`, which the compilers treat as two
// floats; a vector of n of them is a vector of 2n floats, real and imaginary parts in turn, as they
// lie in memory. Products follow the plain formula: (a c - b d) + (a d + b c) i, without the
// special cases of C's Annex G.
#include <fmt/format.h>

#include <cstdlib>
#include <functional>

#include "schedules/internal/c_helpers.h"
#include "schedules/internal/c_math.h"

namespace kindred::internal {
namespace {

// clang-format off: one line of C per line
constexpr ScalarHelper kHelpers[] = {
    {"kd_complex_c64",
     {},
     false,
     false,
     KD_INLINE "float _Complex kd_complex_c64(float re, float im) {\n"
               "  float _Complex z;\n"
               "  __real__ z = re;\n"
               "  __imag__ z = im;\n"
               "  return z;\n}\n"},
    {"kd_mul_c64",
     {"kd_complex_c64"},
     false,
     false,
     KD_INLINE "float _Complex kd_mul_c64(float _Complex x, float _Complex y) {\n"
               "  float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;\n"
               "  return kd_complex_c64(a * c - b * d, a * d + b * c);\n}\n"},
    {"kd_div_c64",
     {"kd_complex_c64"},
     false,
     false,
     KD_INLINE "float _Complex kd_div_c64(float _Complex x, float _Complex y) {\n"
               "  float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;\n"
               "  float n = c * c + d * d;\n"
               "  return kd_complex_c64((a * c + b * d) / n, (b * c - a * d) / n);\n}\n"},
    {"kd_conj_c64",
     {"kd_complex_c64"},
     false,
     false,
     KD_INLINE "float _Complex kd_conj_c64(float _Complex x) {\n"
               "  return kd_complex_c64(__real__ x, -__imag__ x);\n}\n"},
    {"kd_abs_c64",
     {},
     true,
     false,
     KD_INLINE "float kd_abs_c64(float _Complex x) {\n"
               "  return __builtin_sqrtf(__real__ x * __real__ x + __imag__ x * __imag__ x);\n}\n"},
};
// clang-format on

// Indices of a shuffle of `count` elements.
std::string Indices(int count, const std::function<int(int)>& index) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i ? ", " : "", index(i));
  return text;
}

}  // namespace

std::span<const ScalarHelper> ComplexHelpers() { return kHelpers; }

std::string CHelpers::Complex(std::string_view function, int lanes) {
  const std::string name = fmt::format("kd_{}_c64x{}", function, lanes);
  if (defined_.count(name)) return name;
  const std::string z = Vector("c64", lanes), f = Vector("f32", lanes);
  const int floats = 2 * lanes;
  const auto shuffle = [](const char* a, const char* b, const std::string& indices) {
    return fmt::format("__builtin_shufflevector({}, {}, {})", a, b, indices);
  };
  const auto define = [&](const std::string& result, const std::string& arguments,
                          const std::string& body) {
    Define(name, fmt::format("static inline __attribute__((unused)) {} {}({}) {{\n{}}}\n", result,
                             name, arguments, body));
    return name;
  };
  const auto one = [&](const std::string& result, const std::string& argument,
                       const std::string& value) {
    return define(result, argument + " a", "  return " + value + ";\n");
  };
  if (function == "splat")
    return define(z, "float _Complex x",
                  fmt::format("  kd_c64x1 a = {{__real__ x, __imag__ x}};\n  return {};\n",
                              (Vector("c64", 1),
                               shuffle("a", "a", Indices(floats, [](int i) { return i % 2; })))));
  // By i: (-im, re).
  if (function == "turn")
    return one(z, z, shuffle("a", "-a", Indices(floats, [floats](int i) {
                               return i % 2 ? i - 1 : floats + i + 1;
                             })));
  if (function == "even")
    return one(z, z, shuffle("a", "a", Indices(floats, [](int i) { return i / 2 * 2; })));
  if (function == "odd")
    return one(z, z, shuffle("a", "a", Indices(floats, [](int i) { return i / 2 * 2 + 1; })));
  // Of real numbers, each twice.
  if (function == "twice")
    return one(z, f, shuffle("a", "a", Indices(floats, [](int i) { return i / 2; })));
  if (function == "real")
    return one(f, z, shuffle("a", "a", Indices(lanes, [](int i) { return 2 * i; })));
  if (function == "imag")
    return one(f, z, shuffle("a", "a", Indices(lanes, [](int i) { return 2 * i + 1; })));
  if (function == "conj")
    return one(
        z, z,
        shuffle("a", "-a", Indices(floats, [floats](int i) { return i % 2 ? floats + i : i; })));
  if (function == "complex")
    return define(
        z, fmt::format("{0} a, {0} b", f),
        "  return " +
            shuffle("a", "b",
                    Indices(floats, [lanes](int i) { return i % 2 ? lanes + i / 2 : i / 2; })) +
            ";\n");
  if (function == "abs") {
    const std::string root = Lanewise(Scalar("kd_sqrt_f32"), lanes);
    const std::string real = Complex("real", lanes), imag = Complex("imag", lanes);
    return define(f, z + " a",
                  fmt::format("  {0} re = {1}(a), im = {2}(a);\n  return {3}(re * re + im * im);\n",
                              f, real, imag, root));
  }
  if (function == "mul")
    return define(z, fmt::format("{0} a, {0} b", z),
                  fmt::format("  return {}(a) * b + {}(a) * {}(b);\n", Complex("even", lanes),
                              Complex("odd", lanes), Complex("turn", lanes)));
  if (function == "div") {
    const std::string mul = Complex("mul", lanes), conj = Complex("conj", lanes);
    const std::string even = Complex("even", lanes), odd = Complex("odd", lanes);
    return define(z, fmt::format("{0} a, {0} b", z),
                  fmt::format("  {0} re = {1}(b), im = {2}(b);\n"
                              "  return {3}(a, {4}(b)) / (re * re + im * im);\n",
                              z, even, odd, mul, conj));
  }
  if (function == "reduce_add") {
    std::string body, current = "a";
    for (int n = lanes / 2; n >= 2; n /= 2) {
      const std::string half = Vector("c64", n), next = fmt::format("a{}", n);
      const auto part = [&](int first) {
        return shuffle(current.c_str(), current.c_str(),
                       Indices(2 * n, [first](int i) { return first + i; }));
      };
      body += fmt::format("  {} {} = {} + {};\n", half, next, part(0), part(2 * n));
      current = next;
    }
    return define("float _Complex", z + " a",
                  body + fmt::format("  return {1}({0}[0] + {0}[2], {0}[1] + {0}[3]);\n", current,
                                     Scalar("kd_complex_c64")));
  }
  if (function == "join") {  // of single numbers
    std::string arguments, parts;
    for (int i = 0; i < lanes; ++i) {
      arguments += fmt::format("{}float _Complex z{}", i ? ", " : "", i);
      parts += fmt::format("{0}__real__ z{1}, __imag__ z{1}", i ? ", " : "", i);
    }
    return define(z, arguments, fmt::format("  return ({}){{{}}};\n", z, parts));
  }
  std::abort();  // the emitter names functions of this list only
}

}  // namespace kindred::internal
