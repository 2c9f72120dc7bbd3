// The CUDA C++ that kernels of users use beyond what emitted ones do (device.h): static shared
// arrays, vector types, mathematics, atomics, and shuffles of whole warps. Arrays in shared memory
// are static variables here: the blocks run one after the other, and the emulator knows where they
// lie.
#pragma once

#include <math.h>

#include "tests/cuda_emulation/device.h"

#define __shared__ static
#define __constant__
#define __host__
#define __managed__
#define __noinline__ __attribute__((noinline))
#define warpSize 32

// In place of `extern __shared__ T name[]`.
#define KD_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(kd_emulation_dynamic_shared(#name))
static KD_NOT_SEEN void* kd_emulation_dynamic_shared(const char* name) {
  return kd_emulation_host->dynamic_shared(name);
}

#define KD_USER inline __attribute__((always_inline))

// ---- types

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
#define KD_VECTORS(type, name, alignment2, alignment4)                         \
  struct name##1 {                                                             \
    type x;                                                                    \
  };                                                                           \
  struct alignas(alignment2) name##2 {                                         \
    type x, y;                                                                 \
  };                                                                           \
  struct name##3 {                                                             \
    type x, y, z;                                                              \
  };                                                                           \
  struct alignas(alignment4) name##4 {                                         \
    type x, y, z, w;                                                           \
  };                                                                           \
  KD_USER name##1 make_##name##1(type x) { return {x}; }                       \
  KD_USER name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  KD_USER name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  KD_USER name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
KD_VECTORS(signed char, char, 2, 4)
KD_VECTORS(unsigned char, uchar, 2, 4)
KD_VECTORS(short, short, 4, 8)
KD_VECTORS(unsigned short, ushort, 4, 8)
KD_VECTORS(int, int, 8, 16)
KD_VECTORS(unsigned, uint, 8, 16)
KD_VECTORS(long long, longlong, 16, 16)
KD_VECTORS(unsigned long long, ulonglong, 16, 16)
KD_VECTORS(float, float, 8, 16)
KD_VECTORS(double, double, 16, 16)

// ---- functions

template <class A, class B>
KD_USER decltype(A() + B()) min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
KD_USER decltype(A() + B()) max(A a, B b) {
  return a < b ? b : a;
}
template <class T>
KD_USER T __ldg(const T* p) {
  return *p;
}
KD_USER float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
KD_USER float __fadd_rn(float a, float b) { return a + b; }
KD_USER float __fsub_rn(float a, float b) { return a - b; }
KD_USER float __fmul_rn(float a, float b) { return a * b; }
KD_USER float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
KD_USER float __fdiv_rn(float a, float b) { return a / b; }
KD_USER float __frcp_rn(float a) { return 1.f / a; }
KD_USER float __fsqrt_rn(float a) { return sqrtf(a); }
KD_USER float __frsqrt_rn(float a) { return 1.f / sqrtf(a); }
#define __log2f log2f
#define __log10f log10f
#define __exp10f(x) powf(10.f, x)
#define __tanf tanf
KD_USER int __mul24(int a, int b) { return a * b; }
KD_USER unsigned __umul24(unsigned a, unsigned b) { return a * b; }
KD_USER int __popc(unsigned x) { return __builtin_popcount(x); }
KD_USER int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KD_USER int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
KD_USER int __ffs(int x) { return __builtin_ffs(x); }
KD_USER int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
KD_USER int __float2int_rz(float x) { return static_cast<int>(x); }
KD_USER int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
KD_USER int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
KD_USER float __int2float_rn(int x) { return static_cast<float>(x); }

// ---- atomics: the old value comes back

template <class T, class U>
KD_USER T atomicAdd(T* p, U x) {
  return atomicAdd<T>(p, static_cast<T>(x));
}
template <class T, class U>
KD_USER T atomicMax(T* p, U x) {
  return atomicMax<T>(p, static_cast<T>(x));
}
template <class T, class U>
KD_USER T atomicMin(T* p, U x) {
  return atomicMin<T>(p, static_cast<T>(x));
}
template <class T, class U>
KD_USER T atomicSub(T* p, U x) {
  return atomicAdd<T>(p, static_cast<T>(-static_cast<T>(x)));
}
#define KD_USER_ATOMIC(name, new_value)                                       \
  template <class T, class U>                                                 \
  static KD_NOT_SEEN T name(T* p, U given) {                                  \
    kd_emulation_host->access(p, sizeof(T), sizeof(T), kKdAtomic, KD_CALLER); \
    const T x = static_cast<T>(given), old = *p;                              \
    *p = new_value;                                                           \
    return old;                                                               \
  }
KD_USER_ATOMIC(atomicExch, x)
KD_USER_ATOMIC(atomicAnd, old& x)
KD_USER_ATOMIC(atomicOr, old | x)
KD_USER_ATOMIC(atomicXor, old ^ x)
KD_USER_ATOMIC(atomicInc, old >= x ? T(0) : old + 1)
KD_USER_ATOMIC(atomicDec, old == 0 || old > x ? x : old - 1)
template <class T, class U, class V>
static KD_NOT_SEEN T atomicCAS(T* p, U compare, V value) {
  kd_emulation_host->access(p, sizeof(T), sizeof(T), kKdAtomic, KD_CALLER);
  const T old = *p;
  if (old == static_cast<T>(compare)) *p = static_cast<T>(value);
  return old;
}

// ---- shuffles of a whole warp

#define KD_USER_SHUFFLE(name)                            \
  template <class T>                                     \
  KD_USER T name(unsigned mask, T x, unsigned operand) { \
    return name(mask, x, static_cast<int>(operand), 32); \
  }
KD_USER_SHUFFLE(__shfl_sync)
KD_USER_SHUFFLE(__shfl_xor_sync)
KD_USER_SHUFFLE(__shfl_up_sync)
KD_USER_SHUFFLE(__shfl_down_sync)
