// Helper functions that emitted C may use: conversions, floor division, and math functions of f32
// in a branch-free form that compilers vectorise (at most 4 ulp from the exact value).
//
// Every helper is static and guarded by a macro of its own, so that several kernels can share one
// translation unit. Names start with kd_.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/expr.h"

namespace kindred::internal {

// Collects the helpers a kernel needs; Source() prints them, dependencies first.
class CHelpers {
 public:
  // A scalar helper of the fixed list, e.g. "kd_exp_f32". Returns the name.
  std::string Scalar(std::string_view name);

  // Vector types of `lanes` elements: "kd_f32x16" and its unaligned twin "kd_f32x16u" for memory.
  // Element names: f32 f64 i32 i64 u32 f16 i8 u8, bf16 f8e4m3 f8e5m2 as bit patterns, and c64 as
  // pairs of floats.
  std::string Vector(std::string_view element, int lanes);

  // The vector form of a scalar helper, named function + "x" + lanes: "kd_exp_f32x16".
  std::string Lanewise(std::string_view function, int lanes);
  // All lanes equal to a scalar.
  std::string Splat(std::string_view element, int lanes);
  // mask ? a : b by bits; the mask has the width of the elements.
  std::string Select(std::string_view element, int lanes);
  // A function of complex vectors (internal/c_complex.cc): "mul" gives "kd_mul_c64x8".
  std::string Complex(std::string_view function, int lanes);
  // Reduces the lanes of one vector to a scalar: op is "add", "mul", "max" or "min";
  // of c64 "add".
  std::string Horizontal(std::string_view op, std::string_view element, int lanes);

  bool uses_libm() const { return uses_libm_; }
  void NeedLibm() { uses_libm_ = true; }
  std::string Source() const;

 private:
  void Define(const std::string& name, const std::string& text);
  // Text of the vector form of the functions that are not lanewise text of c_math.cc.
  std::string LanewiseText(std::string_view function, const std::string& name, int lanes);

  std::set<std::string> defined_;
  std::vector<std::string> order_;  // guarded definitions
  bool uses_libm_ = false;
};

// "float" of "f32", "unsigned short" of "bf16", ...
std::string_view CTypeOf(std::string_view element);

}  // namespace kindred::internal
