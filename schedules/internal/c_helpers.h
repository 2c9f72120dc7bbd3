// Helper functions that emitted C may use: conversions, floor division, and math functions of f32 in a
// branch-free form that compilers vectorise (at most 4 ulp from the exact value).
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
  // Element names: f32 f64 i32 i64 f16 bf16 (as 16-bit patterns) i8 u8.
  std::string Vector(std::string_view element, int lanes);

  // r[i] = function(a[i]) over `lanes`, named function + "x" + lanes. `from` and `to` are element names.
  std::string Map(std::string_view function, std::string_view from, std::string_view to, int lanes);
  // r[i] = function(a[i], b[i]).
  std::string Map2(std::string_view function, std::string_view element, int lanes);
  // All lanes equal to a scalar.
  std::string Splat(std::string_view element, int lanes);
  // mask ? a : b by bits; the mask has the width of the elements.
  std::string Select(std::string_view element, int lanes);
  // Reduces the lanes of one vector to a scalar: op is "add", "mul", "max" or "min".
  std::string Horizontal(std::string_view op, std::string_view element, int lanes);

  bool uses_libm() const { return uses_libm_; }
  void NeedLibm() { uses_libm_ = true; }
  std::string Source() const;

 private:
  void Define(const std::string& name, std::string text);

  std::set<std::string> defined_;
  std::vector<std::string> order_;  // guarded definitions
  bool uses_libm_ = false;
};

// "float" of "f32", "unsigned short" of "bf16", ...
std::string_view CTypeOf(std::string_view element);

}  // namespace kindred::internal
