// Conversions between f32 and the narrower floats. f16 is a type of the compilers; bf16 and the f8
// types are bit patterns. The f8 ones are also the vector form (internal/c_math.h): everything is
// computed on 32-bit lanes. All round to nearest, ties to even, and keep a NaN one; what lies beyond
// the largest number becomes infinity, in f8e4m3, which has none, NaN.
#include "schedules/internal/c_math.h"

namespace kindred::internal {
namespace {

// clang-format off: one line of C per line
constexpr ScalarHelper kHelpers[] = {
    {"kd_bf16_to_f32",
     {"kd_from_bits_f32"},
     false,
     false,
     KD_INLINE "float kd_bf16_to_f32(unsigned short x) {\n"
               "  return kd_from_bits_f32((int)((unsigned)x << 16));\n}\n"},
    {"kd_f32_to_bf16",
     {"kd_bits_f32"},
     false,
     false,
     KD_INLINE "unsigned short kd_f32_to_bf16(float x) {\n"
     "  unsigned u = (unsigned)kd_bits_f32(x);\n"
     "  unsigned rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;\n"
     "  unsigned nan = (u >> 16) | 0x40u;\n"
     "  return (unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);\n}\n"},
    {"kd_f16_to_f32",
     {},
     false,
     false,
     KD_INLINE "float kd_f16_to_f32(_Float16 x) {\n  return (float)x;\n}\n"},
    {"kd_f32_to_f16",
     {},
     false,
     false,
     KD_INLINE "_Float16 kd_f32_to_f16(float x) {\n  return (_Float16)x;\n}\n"},
    {"kd_f8e4m3_decode_f32",
     {"kd_bits_f32", "kd_from_bits_f32", "kd_select_f32", "kd_splat_f32"},
     false,
     true,
     KD_INLINE "float kd_f8e4m3_decode_f32(int x) {\n"
     "  int m = (x & 0x7f) << 20;\n"
     "  float normal = kd_from_bits_f32(m + (120 << 23));\n"
     "  float tiny = kd_from_bits_f32(m + (121 << 23)) - 0.015625f; /* 2^-6 */\n"
     "  float r = kd_select_f32(m < (1 << 23), tiny, normal);\n"
     "  r = kd_select_f32(m == (127 << 20), kd_splat_f32(__builtin_nanf(\"\")), r);\n"
     "  return kd_from_bits_f32(kd_bits_f32(r) | (int)((unsigned)(x & 0x80) << 24));\n}\n"},
    {"kd_f8e4m3_encode_i32",
     {"kd_bits_f32", "kd_from_bits_f32", "kd_select_i32", "kd_splat_i32"},
     false,
     true,
     KD_INLINE "int kd_f8e4m3_encode_i32(float x) {\n"
     "  int u = kd_bits_f32(x);\n"
     "  int a = u & 0x7fffffff;\n"
     "  int normal = (a - (120 << 23) + 0x7ffff + ((a >> 20) & 1)) >> 20;\n"
     "  int tiny = kd_bits_f32(kd_from_bits_f32(a) + 16384.f) - 0x46800000; /* in units of 2^-9 */\n"
     "  int r = kd_select_i32(a < (121 << 23), tiny, normal);\n"
     "  r = r | ((u >> 24) & 0x80);\n"
     "  return kd_select_i32(a > 0x43e80000, kd_splat_i32(0x7f), r); /* beyond 464, or NaN */\n}\n"},
    {"kd_f8e5m2_decode_f32",
     {"kd_bits_f32", "kd_from_bits_f32", "kd_select_f32"},
     false,
     true,
     KD_INLINE "float kd_f8e5m2_decode_f32(int x) {\n"
     "  int m = (x & 0x7f) << 21;\n"
     "  float normal = kd_from_bits_f32(m + (112 << 23));\n"
     "  float tiny = kd_from_bits_f32(m + (113 << 23)) - 6.103515625e-05f; /* 2^-14 */\n"
     "  float r = kd_select_f32(m < (1 << 23), tiny, normal);\n"
     "  r = kd_select_f32(m >= (31 << 23), kd_from_bits_f32(m | 0x7f800000), r);\n"
     "  return kd_from_bits_f32(kd_bits_f32(r) | (int)((unsigned)(x & 0x80) << 24));\n}\n"},
    {"kd_f8e5m2_encode_i32",
     {"kd_bits_f32", "kd_from_bits_f32", "kd_select_i32", "kd_splat_i32"},
     false,
     true,
     KD_INLINE "int kd_f8e5m2_encode_i32(float x) {\n"
     "  int u = kd_bits_f32(x);\n"
     "  int a = u & 0x7fffffff;\n"
     "  int normal = (a - (112 << 23) + 0xfffff + ((a >> 21) & 1)) >> 21;\n"
     "  int tiny = kd_bits_f32(kd_from_bits_f32(a) + 128.f) - 0x43000000; /* in units of 2^-16 */\n"
     "  int r = kd_select_i32(a < (113 << 23), tiny, normal);\n"
     "  r = kd_select_i32(r > 0x7c, kd_splat_i32(0x7c), r);\n"
     "  r = kd_select_i32(a > 0x7f800000, kd_splat_i32(0x7e), r);\n"
     "  return r | ((u >> 24) & 0x80);\n}\n"},
    {"kd_f8e4m3_to_f32",
     {"kd_f8e4m3_decode_f32"},
     false,
     false,
     KD_INLINE "float kd_f8e4m3_to_f32(unsigned char x) {\n  return kd_f8e4m3_decode_f32(x);\n}\n"},
    {"kd_f32_to_f8e4m3",
     {"kd_f8e4m3_encode_i32"},
     false,
     false,
     KD_INLINE "unsigned char kd_f32_to_f8e4m3(float x) {\n"
     "  return (unsigned char)kd_f8e4m3_encode_i32(x);\n}\n"},
    {"kd_f8e5m2_to_f32",
     {"kd_f8e5m2_decode_f32"},
     false,
     false,
     KD_INLINE "float kd_f8e5m2_to_f32(unsigned char x) {\n  return kd_f8e5m2_decode_f32(x);\n}\n"},
    {"kd_f32_to_f8e5m2",
     {"kd_f8e5m2_encode_i32"},
     false,
     false,
     KD_INLINE "unsigned char kd_f32_to_f8e5m2(float x) {\n"
     "  return (unsigned char)kd_f8e5m2_encode_i32(x);\n}\n"},
};
// clang-format on

}  // namespace

std::span<const ScalarHelper> NarrowFloatHelpers() { return kHelpers; }

}  // namespace kindred::internal
