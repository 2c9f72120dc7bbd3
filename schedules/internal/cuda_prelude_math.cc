// Arithmetic of the device prelude: conversions of narrow floats, functions of the workload
// language, complex numbers. Conversions round to nearest, ties to even, and keep a NaN one; what
// lies beyond the largest number becomes infinity, in f8e4m3, which has none, NaN.
#include "schedules/internal/cuda_prelude.h"

namespace kindred::internal {
namespace {

// clang-format off: one line of CUDA C++ per line
constexpr PreludePart kParts[] = {
    {"kd_bits_f32", false, R"kd(KD_DEVICE int kd_bits_f32(float x) { return __float_as_int(x); }
)kd"},
    {"kd_from_bits_f32", false,
     R"kd(KD_DEVICE float kd_from_bits_f32(int x) { return __int_as_float(x); }
)kd"},
    {"kd_f16_to_f32", false, R"kd(KD_DEVICE float kd_f16_to_f32(kd_f16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}
)kd"},
    {"kd_f32_to_f16", false, R"kd(KD_DEVICE kd_f16 kd_f32_to_f16(float x) {
  kd_f16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
  return r;
}
)kd"},
    {"kd_bf16_to_f32", true, R"kd(KD_DEVICE float kd_bf16_to_f32(kd_bf16 x) {
  return kd_from_bits_f32(static_cast<int>(static_cast<unsigned>(x.bits) << 16));
}
)kd"},
    {"kd_f32_to_bf16", false, R"kd(KD_DEVICE kd_bf16 kd_f32_to_bf16(float x) {
  kd_bf16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
  return r;
}
)kd"},
    {"kd_f32x2_to_f16x2", false,
     R"kd(KD_DEVICE kd_vec<kd_f16, 2> kd_f32x2_to_f16x2(float low, float high) {
  union { unsigned w; kd_vec<kd_f16, 2> x; } u;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(u.w) : "f"(high), "f"(low));
  return u.x;
}
)kd"},
    {"kd_f32x2_to_bf16x2", false,
     R"kd(KD_DEVICE kd_vec<kd_bf16, 2> kd_f32x2_to_bf16x2(float low, float high) {
  union { unsigned w; kd_vec<kd_bf16, 2> x; } u;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(u.w) : "f"(high), "f"(low));
  return u.x;
}
)kd"},
    {"kd_f8e4m3_to_f32", true, R"kd(KD_DEVICE float kd_f8e4m3_to_f32(kd_f8e4m3 x) {
  const int m = (x.bits & 0x7f) << 20;
  const float tiny = kd_from_bits_f32(m + (121 << 23)) - 0.015625f;  // 2^-6
  float r = m < (1 << 23) ? tiny : kd_from_bits_f32(m + (120 << 23));
  if (m == (127 << 20)) r = kd_from_bits_f32(0x7fc00000);
  return kd_from_bits_f32(kd_bits_f32(r) | static_cast<int>((x.bits & 0x80u) << 24));
}
)kd"},
    {"kd_f32_to_f8e4m3", true, R"kd(KD_DEVICE kd_f8e4m3 kd_f32_to_f8e4m3(float x) {
  const int u = kd_bits_f32(x), a = u & 0x7fffffff;
  const int normal = (a - (120 << 23) + 0x7ffff + ((a >> 20) & 1)) >> 20;
  const int tiny = kd_bits_f32(kd_from_bits_f32(a) + 16384.f) - 0x46800000;  // in units of 2^-9
  int r = (a < (121 << 23) ? tiny : normal) | ((u >> 24) & 0x80);
  if (a > 0x43e80000) r = 0x7f;  // beyond 464, or NaN
  return kd_f8e4m3{static_cast<unsigned char>(r)};
}
)kd"},
    {"kd_f8e5m2_to_f32", true, R"kd(KD_DEVICE float kd_f8e5m2_to_f32(kd_f8e5m2 x) {
  const int m = (x.bits & 0x7f) << 21;
  const float tiny = kd_from_bits_f32(m + (113 << 23)) - 6.103515625e-05f;  // 2^-14
  float r = m < (1 << 23) ? tiny : kd_from_bits_f32(m + (112 << 23));
  if (m >= (31 << 23)) r = kd_from_bits_f32(m | 0x7f800000);
  return kd_from_bits_f32(kd_bits_f32(r) | static_cast<int>((x.bits & 0x80u) << 24));
}
)kd"},
    {"kd_f32_to_f8e5m2", true, R"kd(KD_DEVICE kd_f8e5m2 kd_f32_to_f8e5m2(float x) {
  const int u = kd_bits_f32(x), a = u & 0x7fffffff;
  const int normal = (a - (112 << 23) + 0xfffff + ((a >> 21) & 1)) >> 21;
  const int tiny = kd_bits_f32(kd_from_bits_f32(a) + 128.f) - 0x43000000;  // in units of 2^-16
  int r = a < (113 << 23) ? tiny : normal;
  if (r > 0x7c) r = 0x7c;
  if (a > 0x7f800000) r = 0x7e;
  return kd_f8e5m2{static_cast<unsigned char>(r | ((u >> 24) & 0x80))};
}
)kd"},
    {"kd_floordiv_i32", true, R"kd(KD_DEVICE int kd_floordiv_i32(int a, int b) {
  const int q = a / b;
  return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
)kd"},
    {"kd_floormod_i32", true, R"kd(KD_DEVICE int kd_floormod_i32(int a, int b) {
  const int r = a % b;
  return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);
}
)kd"},
    {"kd_min_i32", true, R"kd(KD_DEVICE int kd_min_i32(int a, int b) { return a < b ? a : b; }
)kd"},
    {"kd_max_i32", true, R"kd(KD_DEVICE int kd_max_i32(int a, int b) { return a > b ? a : b; }
)kd"},
    {"kd_abs_i32", true, R"kd(KD_DEVICE int kd_abs_i32(int x) {
  return x < 0 ? static_cast<int>(0 - static_cast<unsigned>(x)) : x;
}
)kd"},
    {"kd_floordiv_i64", true, R"kd(KD_DEVICE long long kd_floordiv_i64(long long a, long long b) {
  const long long q = a / b;
  return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
)kd"},
    {"kd_floormod_i64", true, R"kd(KD_DEVICE long long kd_floormod_i64(long long a, long long b) {
  const long long r = a % b;
  return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);
}
)kd"},
    {"kd_min_i64", true,
     R"kd(KD_DEVICE long long kd_min_i64(long long a, long long b) { return a < b ? a : b; }
)kd"},
    {"kd_max_i64", true,
     R"kd(KD_DEVICE long long kd_max_i64(long long a, long long b) { return a > b ? a : b; }
)kd"},
    {"kd_abs_i64", true, R"kd(KD_DEVICE long long kd_abs_i64(long long x) {
  return x < 0 ? static_cast<long long>(0 - static_cast<unsigned long long>(x)) : x;
}
)kd"},
    {"kd_floormod_f32", true,
     R"kd(KD_DEVICE float kd_floormod_f32(float a, float b) { return a - b * floorf(a / b); }
)kd"},
    {"kd_min_f32", true, R"kd(KD_DEVICE float kd_min_f32(float a, float b) { return fminf(a, b); }
)kd"},
    {"kd_max_f32", true, R"kd(KD_DEVICE float kd_max_f32(float a, float b) { return fmaxf(a, b); }
)kd"},
    {"kd_abs_f32", true, R"kd(KD_DEVICE float kd_abs_f32(float x) { return fabsf(x); }
)kd"},
    {"kd_sqrt_f32", true, R"kd(KD_DEVICE float kd_sqrt_f32(float x) { return sqrtf(x); }
)kd"},
    {"kd_rsqrt_f32", true, R"kd(KD_DEVICE float kd_rsqrt_f32(float x) { return rsqrtf(x); }
)kd"},
    {"kd_floor_f32", true, R"kd(KD_DEVICE float kd_floor_f32(float x) { return floorf(x); }
)kd"},
    {"kd_ceil_f32", true, R"kd(KD_DEVICE float kd_ceil_f32(float x) { return ceilf(x); }
)kd"},
    {"kd_round_f32", true, R"kd(KD_DEVICE float kd_round_f32(float x) { return rintf(x); }
)kd"},
    {"kd_exp_f32", true, R"kd(KD_DEVICE float kd_exp_f32(float x) { return expf(x); }
)kd"},
    {"kd_log_f32", true, R"kd(KD_DEVICE float kd_log_f32(float x) { return logf(x); }
)kd"},
    {"kd_erf_f32", true, R"kd(KD_DEVICE float kd_erf_f32(float x) { return erff(x); }
)kd"},
    {"kd_tanh_f32", true, R"kd(KD_DEVICE float kd_tanh_f32(float x) { return tanhf(x); }
)kd"},
    {"kd_sin_f32", true, R"kd(KD_DEVICE float kd_sin_f32(float x) { return sinf(x); }
)kd"},
    {"kd_cos_f32", true, R"kd(KD_DEVICE float kd_cos_f32(float x) { return cosf(x); }
)kd"},
    {"kd_tan_f32", true, R"kd(KD_DEVICE float kd_tan_f32(float x) { return tanf(x); }
)kd"},
    {"kd_pow_f32", true, R"kd(KD_DEVICE float kd_pow_f32(float a, float b) { return powf(a, b); }
)kd"},
    {"kd_fma_f32", true,
     R"kd(KD_DEVICE float kd_fma_f32(float a, float b, float c) { return fmaf(a, b, c); }
)kd"},
    {"kd_floormod_f64", true,
     R"kd(KD_DEVICE double kd_floormod_f64(double a, double b) { return a - b * floor(a / b); }
)kd"},
    {"kd_min_f64", true, R"kd(KD_DEVICE double kd_min_f64(double a, double b) { return fmin(a, b); }
)kd"},
    {"kd_max_f64", true, R"kd(KD_DEVICE double kd_max_f64(double a, double b) { return fmax(a, b); }
)kd"},
    {"kd_abs_f64", true, R"kd(KD_DEVICE double kd_abs_f64(double x) { return fabs(x); }
)kd"},
    {"kd_sqrt_f64", true, R"kd(KD_DEVICE double kd_sqrt_f64(double x) { return sqrt(x); }
)kd"},
    {"kd_rsqrt_f64", true, R"kd(KD_DEVICE double kd_rsqrt_f64(double x) { return rsqrt(x); }
)kd"},
    {"kd_floor_f64", true, R"kd(KD_DEVICE double kd_floor_f64(double x) { return floor(x); }
)kd"},
    {"kd_ceil_f64", true, R"kd(KD_DEVICE double kd_ceil_f64(double x) { return ceil(x); }
)kd"},
    {"kd_round_f64", true, R"kd(KD_DEVICE double kd_round_f64(double x) { return rint(x); }
)kd"},
    {"kd_exp_f64", true, R"kd(KD_DEVICE double kd_exp_f64(double x) { return exp(x); }
)kd"},
    {"kd_log_f64", true, R"kd(KD_DEVICE double kd_log_f64(double x) { return log(x); }
)kd"},
    {"kd_erf_f64", true, R"kd(KD_DEVICE double kd_erf_f64(double x) { return erf(x); }
)kd"},
    {"kd_tanh_f64", true, R"kd(KD_DEVICE double kd_tanh_f64(double x) { return tanh(x); }
)kd"},
    {"kd_sin_f64", true, R"kd(KD_DEVICE double kd_sin_f64(double x) { return sin(x); }
)kd"},
    {"kd_cos_f64", true, R"kd(KD_DEVICE double kd_cos_f64(double x) { return cos(x); }
)kd"},
    {"kd_tan_f64", true, R"kd(KD_DEVICE double kd_tan_f64(double x) { return tan(x); }
)kd"},
    {"kd_pow_f64", true, R"kd(KD_DEVICE double kd_pow_f64(double a, double b) { return pow(a, b); }
)kd"},
    {"kd_fma_f64", true,
     R"kd(KD_DEVICE double kd_fma_f64(double a, double b, double c) { return fma(a, b, c); }
)kd"},
    {"kd_exp_fast_f32", true, R"kd(KD_DEVICE float kd_exp_fast_f32(float x) { return __expf(x); }
)kd"},
    {"kd_log_fast_f32", true, R"kd(KD_DEVICE float kd_log_fast_f32(float x) { return __logf(x); }
)kd"},
    {"kd_sin_fast_f32", true, R"kd(KD_DEVICE float kd_sin_fast_f32(float x) { return __sinf(x); }
)kd"},
    {"kd_cos_fast_f32", true, R"kd(KD_DEVICE float kd_cos_fast_f32(float x) { return __cosf(x); }
)kd"},
    {"kd_pow_fast_f32", true,
     R"kd(KD_DEVICE float kd_pow_fast_f32(float a, float b) { return __powf(a, b); }
)kd"},
    {"kd_div_fast_f32", true,
     R"kd(KD_DEVICE float kd_div_fast_f32(float a, float b) { return __fdividef(a, b); }
)kd"},
    {"kd_tanh_fast_f32", false, R"kd(KD_DEVICE float kd_tanh_fast_f32(float x) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)kd"},
    {"kd_sqrt_fast_f32", false, R"kd(KD_DEVICE float kd_sqrt_fast_f32(float x) {
  float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)kd"},
    {"kd_rsqrt_fast_f32", false, R"kd(KD_DEVICE float kd_rsqrt_fast_f32(float x) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)kd"},
    {"kd_complex_c64", true, R"kd(KD_DEVICE kd_c64 kd_complex_c64(float re, float im) {
  kd_c64 r;
  r.re = re;
  r.im = im;
  return r;
}
)kd"},
    {"kd_real_c64", true, R"kd(KD_DEVICE float kd_real_c64(kd_c64 x) { return x.re; }
)kd"},
    {"kd_imag_c64", true, R"kd(KD_DEVICE float kd_imag_c64(kd_c64 x) { return x.im; }
)kd"},
    {"kd_conj_c64", true,
     R"kd(KD_DEVICE kd_c64 kd_conj_c64(kd_c64 x) { return kd_complex_c64(x.re, -x.im); }
)kd"},
    {"kd_neg_c64", true,
     R"kd(KD_DEVICE kd_c64 kd_neg_c64(kd_c64 x) { return kd_complex_c64(-x.re, -x.im); }
)kd"},
    // Times and through a real number.
    {"kd_scale_c64", true, R"kd(KD_DEVICE kd_c64 kd_scale_c64(kd_c64 x, float by) {
  return kd_complex_c64(x.re * by, x.im * by);
}
)kd"},
    {"kd_shrink_c64", true, R"kd(KD_DEVICE kd_c64 kd_shrink_c64(kd_c64 x, float by) {
  return kd_complex_c64(x.re / by, x.im / by);
}
)kd"},
    {"kd_add_c64", true, R"kd(KD_DEVICE kd_c64 kd_add_c64(kd_c64 a, kd_c64 b) {
  return kd_complex_c64(a.re + b.re, a.im + b.im);
}
)kd"},
    {"kd_sub_c64", true, R"kd(KD_DEVICE kd_c64 kd_sub_c64(kd_c64 a, kd_c64 b) {
  return kd_complex_c64(a.re - b.re, a.im - b.im);
}
)kd"},
    {"kd_mul_c64", true, R"kd(KD_DEVICE kd_c64 kd_mul_c64(kd_c64 a, kd_c64 b) {
  return kd_complex_c64(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
)kd"},
    {"kd_div_c64", true, R"kd(KD_DEVICE kd_c64 kd_div_c64(kd_c64 a, kd_c64 b) {
  const float n = b.re * b.re + b.im * b.im;
  return kd_complex_c64((a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n);
}
)kd"},
    {"kd_abs_c64", true, R"kd(KD_DEVICE float kd_abs_c64(kd_c64 x) {
  return sqrtf(x.re * x.re + x.im * x.im);
}
)kd"},
};
// clang-format on

}  // namespace

std::span<const PreludePart> PreludeMathParts() { return kParts; }

}  // namespace kindred::internal
