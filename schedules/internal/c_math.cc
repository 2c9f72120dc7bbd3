// Methods: exp and log reduce by powers of two with Cody and Waite's split constants and a
// polynomial (after Cephes); tanh and erf use a polynomial near zero and exp elsewhere (erf after
// N. Juffa's fit); sin, cos and tan reduce by pi/2 in double. Constants are minimax coefficients
// for IEEE single precision. Both sides of every case are computed and one is chosen, so that no
// branch stops vectorisation.
//
// A `lanewise` text is also the vector form: float, int, unsigned and the helpers' names stand for
// their vector counterparts (internal/c_helpers.cc), so that comparisons are masks there.
#include "schedules/internal/c_math.h"

#include <cstdlib>
#include <span>

namespace kindred::internal {
namespace {

// clang-format off: one line of C per line
constexpr ScalarHelper kHelpers[] = {
    {"kd_bits_f32",
     {},
     false,
     false,
     KD_INLINE "int kd_bits_f32(float x) {\n"
               "  union { float f; int i; } u = {x};\n"
               "  return u.i;\n}\n"},
    {"kd_from_bits_f32",
     {},
     false,
     false,
     KD_INLINE "float kd_from_bits_f32(int x) {\n"
               "  union { int i; float f; } u = {x};\n"
               "  return u.f;\n}\n"},
    {"kd_to_float_f32",
     {},
     false,
     false,
     KD_INLINE "float kd_to_float_f32(int x) {\n  return (float)x;\n}\n"},
    {"kd_floordiv_i64",
     {},
     false,
     false,
     KD_INLINE "int64_t kd_floordiv_i64(int64_t a, int64_t b) {\n"
               "  int64_t q = a / b;\n"
               "  return q - ((a % b != 0) & ((a < 0) != (b < 0)));\n}\n"},
    {"kd_floormod_i64",
     {},
     false,
     false,
     KD_INLINE "int64_t kd_floormod_i64(int64_t a, int64_t b) {\n"
               "  int64_t r = a % b;\n"
               "  return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);\n}\n"},
    {"kd_floordiv_i32",
     {},
     false,
     false,
     KD_INLINE "int kd_floordiv_i32(int a, int b) {\n"
               "  int q = a / b;\n"
               "  return q - ((a % b != 0) & ((a < 0) != (b < 0)));\n}\n"},
    {"kd_floormod_i32",
     {},
     false,
     false,
     KD_INLINE "int kd_floormod_i32(int a, int b) {\n"
               "  int r = a % b;\n"
               "  return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);\n}\n"},
    {"kd_floormod_f32",
     {},
     true,
     false,
     KD_INLINE "float kd_floormod_f32(float a, float b) {\n"
               "  return a - b * __builtin_floorf(a / b);\n}\n"},
    {"kd_floormod_f64",
     {},
     true,
     false,
     KD_INLINE "double kd_floormod_f64(double a, double b) {\n"
               "  return a - b * __builtin_floor(a / b);\n}\n"},
    {"kd_max_f32",
     {},
     false,
     false,
     KD_INLINE "float kd_max_f32(float a, float b) {\n  return a > b ? a : b;\n}\n"},
    {"kd_min_f32",
     {},
     false,
     false,
     KD_INLINE "float kd_min_f32(float a, float b) {\n  return a < b ? a : b;\n}\n"},
    {"kd_max_f64",
     {},
     false,
     false,
     KD_INLINE "double kd_max_f64(double a, double b) {\n  return a > b ? a : b;\n}\n"},
    {"kd_min_f64",
     {},
     false,
     false,
     KD_INLINE "double kd_min_f64(double a, double b) {\n  return a < b ? a : b;\n}\n"},
    {"kd_max_i32",
     {},
     false,
     false,
     KD_INLINE "int kd_max_i32(int a, int b) {\n  return a > b ? a : b;\n}\n"},
    {"kd_min_i32",
     {},
     false,
     false,
     KD_INLINE "int kd_min_i32(int a, int b) {\n  return a < b ? a : b;\n}\n"},
    {"kd_max_i64",
     {},
     false,
     false,
     KD_INLINE "int64_t kd_max_i64(int64_t a, int64_t b) {\n  return a > b ? a : b;\n}\n"},
    {"kd_min_i64",
     {},
     false,
     false,
     KD_INLINE "int64_t kd_min_i64(int64_t a, int64_t b) {\n  return a < b ? a : b;\n}\n"},
    {"kd_abs_f32",
     {},
     false,
     false,
     KD_INLINE "float kd_abs_f32(float x) {\n  return __builtin_fabsf(x);\n}\n"},
    {"kd_abs_f64",
     {},
     false,
     false,
     KD_INLINE "double kd_abs_f64(double x) {\n  return __builtin_fabs(x);\n}\n"},
    {"kd_abs_i32",
     {},
     false,
     false,
     KD_INLINE "int kd_abs_i32(int x) {\n  return x < 0 ? (int)(0u - (unsigned)x) : x;\n}\n"},
    {"kd_abs_i64",
     {},
     false,
     false,
     KD_INLINE "int64_t kd_abs_i64(int64_t x) {\n  return x < 0 ? -x : x;\n}\n"},
    {"kd_sqrt_f32",
     {},
     true,
     false,
     KD_INLINE "float kd_sqrt_f32(float x) {\n  return __builtin_sqrtf(x);\n}\n"},
    {"kd_sqrt_f64",
     {},
     true,
     false,
     KD_INLINE "double kd_sqrt_f64(double x) {\n  return __builtin_sqrt(x);\n}\n"},
    {"kd_rsqrt_f32",
     {},
     true,
     false,
     KD_INLINE "float kd_rsqrt_f32(float x) {\n  return 1.f / __builtin_sqrtf(x);\n}\n"},
    {"kd_rsqrt_f64",
     {},
     true,
     false,
     KD_INLINE "double kd_rsqrt_f64(double x) {\n  return 1. / __builtin_sqrt(x);\n}\n"},
    {"kd_floor_f32",
     {},
     true,
     false,
     KD_INLINE "float kd_floor_f32(float x) {\n  return __builtin_floorf(x);\n}\n"},
    {"kd_floor_f64",
     {},
     true,
     false,
     KD_INLINE "double kd_floor_f64(double x) {\n  return __builtin_floor(x);\n}\n"},
    {"kd_ceil_f32",
     {},
     true,
     false,
     KD_INLINE "float kd_ceil_f32(float x) {\n  return __builtin_ceilf(x);\n}\n"},
    {"kd_ceil_f64",
     {},
     true,
     false,
     KD_INLINE "double kd_ceil_f64(double x) {\n  return __builtin_ceil(x);\n}\n"},
    {"kd_round_f32",
     {},
     true,
     false,
     KD_INLINE "float kd_round_f32(float x) {\n  return __builtin_rintf(x);\n}\n"},
    {"kd_round_f64",
     {},
     true,
     false,
     KD_INLINE "double kd_round_f64(double x) {\n  return __builtin_rint(x);\n}\n"},
    {"kd_select_f32",
     {},
     false,
     false,
     KD_INLINE "float kd_select_f32(int c, float a, float b) {\n  return c ? a : b;\n}\n"},
    {"kd_select_i32",
     {},
     false,
     false,
     KD_INLINE "int kd_select_i32(int c, int a, int b) {\n  return c ? a : b;\n}\n"},
    {"kd_splat_f32", {}, false, false, KD_INLINE "float kd_splat_f32(float x) {\n  return x;\n}\n"},
    {"kd_splat_i32", {}, false, false, KD_INLINE "int kd_splat_i32(int x) {\n  return x;\n}\n"},
    {"kd_copysign_f32",
     {"kd_bits_f32", "kd_from_bits_f32"},
     false,
     true,
     KD_INLINE "float kd_copysign_f32(float x, float sign) {\n"
               "  return kd_from_bits_f32((kd_bits_f32(x) & 0x7fffffff) |\n"
               "                          (kd_bits_f32(sign) & (-0x7fffffff - 1)));\n}\n"},
    {"kd_pow2_f32",
     {"kd_from_bits_f32"},
     false,
     true,
     "/* 2^e, e in -126..127 */\n" KD_INLINE "float kd_pow2_f32(int e) {\n"
     "  return kd_from_bits_f32((int)((unsigned)(e + 127) << 23));\n}\n"},
    {"kd_exp_f32",
     {"kd_min_f32", "kd_max_f32", "kd_splat_f32", "kd_bits_f32", "kd_pow2_f32"},
     false,
     true,
     KD_INLINE
     "float kd_exp_f32(float x) {\n"
     "  /* In this order a NaN stays one. */\n"
     "  x = kd_min_f32(kd_splat_f32(100.f), x);\n"
     "  x = kd_max_f32(kd_splat_f32(-110.f), x);\n"
     "  float t = x * 1.44269504f + 12582912.f; /* rounds to an integer in the low bits */\n"
     "  float n = t - 12582912.f;\n"
     "  float r = x - n * 0.693359375f;\n"
     "  r = r + n * 2.12194440e-4f;\n"
     "  float p = r * 1.9875691500e-4f + 1.3981999507e-3f;\n"
     "  p = p * r + 8.3334519073e-3f;\n"
     "  p = p * r + 4.1665795894e-2f;\n"
     "  p = p * r + 1.6666665459e-1f;\n"
     "  p = p * r + 5.0000001201e-1f;\n"
     "  p = p * (r * r) + r + 1.f;\n"
     "  int e = kd_bits_f32(t) - 0x4b400000;\n"
     "  int half = e >> 1; /* two factors: neither overflows on its own */\n"
     "  return p * kd_pow2_f32(half) * kd_pow2_f32(e - half);\n}\n"},
    {"kd_log_f32",
     {"kd_bits_f32", "kd_from_bits_f32", "kd_select_f32", "kd_select_i32", "kd_splat_f32",
      "kd_splat_i32", "kd_to_float_f32"},
     false,
     true,
     KD_INLINE
     "float kd_log_f32(float x) {\n"
     "  int tiny = x < 1.17549435e-38f;\n"
     "  float y = kd_select_f32(tiny, x * 8388608.f, x);\n"
     "  int bits = kd_bits_f32(y);\n"
     "  int shift = (bits - 0x3f3504f3) >> 23; /* y = 2^shift * m, m in [sqrt(1/2), sqrt(2)) */\n"
     "  float m = kd_from_bits_f32((int)((unsigned)bits - ((unsigned)shift << 23))) - 1.f;\n"
     "  float n = kd_to_float_f32(shift - kd_select_i32(tiny, kd_splat_i32(23), "
     "kd_splat_i32(0)));\n"
     "  float z = m * m;\n"
     "  float p = m * 7.0376836292e-2f - 1.1514610310e-1f;\n"
     "  p = p * m + 1.1676998740e-1f;\n"
     "  p = p * m - 1.2420140846e-1f;\n"
     "  p = p * m + 1.4249322787e-1f;\n"
     "  p = p * m - 1.6668057665e-1f;\n"
     "  p = p * m + 2.0000714765e-1f;\n"
     "  p = p * m - 2.4999993993e-1f;\n"
     "  p = p * m + 3.3333331174e-1f;\n"
     "  p = p * m * z - 2.12194440e-4f * n - 0.5f * z;\n"
     "  float r = m + p + 0.693359375f * n;\n"
     "  r = kd_select_f32(x == 0.f, kd_splat_f32(-__builtin_inff()), r);\n"
     "  r = kd_select_f32(x < 0.f, kd_splat_f32(__builtin_nanf(\"\")), r);\n"
     "  return kd_select_f32(x < __builtin_inff(), r, x);\n}\n"},
    {"kd_tanh_f32",
     {"kd_exp_f32", "kd_abs_f32", "kd_select_f32", "kd_copysign_f32"},
     false,
     true,
     KD_INLINE "float kd_tanh_f32(float x) {\n"
               "  float a = kd_abs_f32(x);\n"
               "  float z = x * x;\n"
               "  float p = z * -5.70498872745e-3f + 2.06390887954e-2f;\n"
               "  p = p * z - 5.37397155531e-2f;\n"
               "  p = p * z + 1.33314422036e-1f;\n"
               "  p = p * z - 3.33332819422e-1f;\n"
               "  float near = p * z * x + x;\n"
               "  float far = 1.f - 2.f / (kd_exp_f32(a + a) + 1.f);\n"
               "  return kd_select_f32(a < 0.625f, near, kd_copysign_f32(far, x));\n}\n"},
    {"kd_erf_f32",
     {"kd_exp_f32", "kd_abs_f32", "kd_select_f32", "kd_copysign_f32", "kd_min_f32", "kd_splat_f32"},
     false,
     true,
     KD_INLINE "float kd_erf_f32(float x) {\n"
               "  float a = kd_min_f32(kd_splat_f32(4.f), kd_abs_f32(x));\n"
               "  float z = x * x;\n"
               "  float p = a * -1.72853470e-5f + 3.83197126e-4f;\n"
               "  float q = a * -3.88396438e-3f + 2.42546219e-2f;\n"
               "  p = p * (a * a) + q;\n"
               "  p = p * a - 1.06777877e-1f;\n"
               "  p = p * a - 6.34846687e-1f;\n"
               "  p = p * a - 1.28717512e-1f;\n"
               "  p = p * a - a;\n"
               "  float far = 1.f - kd_exp_f32(p);\n"
               "  float s = z * -5.96761703e-4f + 4.99119423e-3f;\n"
               "  s = s * z - 2.67681349e-2f;\n"
               "  s = s * z + 1.12819925e-1f;\n"
               "  s = s * z - 3.76125336e-1f;\n"
               "  s = s * z + 1.28379166e-1f;\n"
               "  float near = s * x + x;\n"
               "  return kd_select_f32(a > 0.927734375f, kd_copysign_f32(far, x), near);\n}\n"},
    {"kd_quadrant_f32",
     {},
     true,
     false,
     "/* x = quadrant * pi/2 + the result, for |x| up to about 1e9. */\n" KD_INLINE
     "float kd_quadrant_f32(float x, int *quadrant) {\n"
     "  double n = (double)x * 0.63661977236758134 + 6755399441055744.;\n"
     "  n = n - 6755399441055744.;\n"
     "  *quadrant = (int)(int64_t)n & 3;\n"
     "  return (float)(((double)x - n * 1.5707963267948966) - n * 6.123233995736766e-17);\n}\n"},
    {"kd_sine_f32",
     {},
     false,
     false,
     "/* |x| <= pi/4 */\n" KD_INLINE "float kd_sine_f32(float x) {\n"
     "  float z = x * x;\n"
     "  return ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + "
     "x;\n}\n"},
    {"kd_cosine_f32",
     {},
     false,
     false,
     "/* |x| <= pi/4 */\n" KD_INLINE "float kd_cosine_f32(float x) {\n"
     "  float z = x * x;\n"
     "  return ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z +\n"
     "          4.166664568298827e-2f) * z * z - 0.5f * z + 1.f;\n}\n"},
    {"kd_sin_f32",
     {"kd_quadrant_f32", "kd_sine_f32", "kd_cosine_f32"},
     false,
     false,
     KD_INLINE "float kd_sin_f32(float x) {\n"
               "  int q;\n"
               "  float r = kd_quadrant_f32(x, &q);\n"
               "  float s = kd_sine_f32(r), c = kd_cosine_f32(r);\n"
               "  float v = q & 1 ? c : s;\n"
               "  return q & 2 ? -v : v;\n}\n"},
    {"kd_cos_f32",
     {"kd_quadrant_f32", "kd_sine_f32", "kd_cosine_f32"},
     false,
     false,
     KD_INLINE "float kd_cos_f32(float x) {\n"
               "  int q;\n"
               "  float r = kd_quadrant_f32(x, &q);\n"
               "  float s = kd_sine_f32(r), c = kd_cosine_f32(r);\n"
               "  float v = q & 1 ? s : c;\n"
               "  return (q + 1) & 2 ? -v : v;\n}\n"},
    {"kd_tan_f32",
     {"kd_sin_f32", "kd_cos_f32"},
     false,
     false,
     KD_INLINE "float kd_tan_f32(float x) {\n"
               "  return kd_sin_f32(x) / kd_cos_f32(x);\n}\n"},
    {"kd_pow_f32",
     {},
     true,
     false,
     KD_INLINE "float kd_pow_f32(float x, float y) {\n  return __builtin_powf(x, y);\n}\n"},
    {"kd_pow_f64",
     {},
     true,
     false,
     KD_INLINE "double kd_pow_f64(double x, double y) {\n  return __builtin_pow(x, y);\n}\n"},
};
// clang-format on

}  // namespace

const ScalarHelper& FindScalarHelper(std::string_view name) {
  const std::span<const ScalarHelper> lists[] = {kHelpers, NarrowFloatHelpers(), ComplexHelpers()};
  for (const auto& list : lists)
    for (const ScalarHelper& h : list)
      if (h.name == name) return h;
  std::abort();  // the emitter names helpers of these lists only
}

}  // namespace kindred::internal
