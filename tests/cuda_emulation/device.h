// The CUDA that emitted kernels use, for a host compiler: included before a kernel's text, which is
// compiled with KINDRED_CUDA_EMULATION defined and -fsanitize=thread. The compiler then calls
// __tsan_read4 and its kin before every access to memory; here they report to the emulator instead
// of to a sanitizer's run time. Nothing in this file may be instrumented itself.
#pragma once

#include "tests/cuda_emulation/device_interface.h"

#define KD_NOT_SEEN __attribute__((noinline, no_sanitize_thread, unused))
#define KD_HIDDEN __attribute__((visibility("hidden")))
#define KD_CALLER __builtin_return_address(0)

extern "C" {
KD_HIDDEN const KdEmulationHost* kd_emulation_host;

#define KD_TSAN_ACCESS(size)                                                      \
  KD_HIDDEN KD_NOT_SEEN void __tsan_read##size(void* p) {                         \
    kd_emulation_host->access(p, size, size > 8 ? 8 : size, kKdRead, KD_CALLER);  \
  }                                                                               \
  KD_HIDDEN KD_NOT_SEEN void __tsan_write##size(void* p) {                        \
    kd_emulation_host->access(p, size, size > 8 ? 8 : size, kKdWrite, KD_CALLER); \
  }                                                                               \
  KD_HIDDEN KD_NOT_SEEN void __tsan_unaligned_read##size(void* p) {               \
    kd_emulation_host->access(p, size, 1, kKdRead, KD_CALLER);                    \
  }                                                                               \
  KD_HIDDEN KD_NOT_SEEN void __tsan_unaligned_write##size(void* p) {              \
    kd_emulation_host->access(p, size, 1, kKdWrite, KD_CALLER);                   \
  }
KD_TSAN_ACCESS(1)
KD_TSAN_ACCESS(2)
KD_TSAN_ACCESS(4)
KD_TSAN_ACCESS(8)
KD_TSAN_ACCESS(16)
KD_HIDDEN KD_NOT_SEEN void __tsan_read_range(void* p, unsigned long size) {
  kd_emulation_host->access(p, size, 1, kKdRead, KD_CALLER);
}
KD_HIDDEN KD_NOT_SEEN void __tsan_write_range(void* p, unsigned long size) {
  kd_emulation_host->access(p, size, 1, kKdWrite, KD_CALLER);
}
KD_HIDDEN KD_NOT_SEEN void __tsan_init() {}

float floorf(float), ceilf(float), rintf(float), fabsf(float), sqrtf(float), expf(float);
float logf(float), erff(float), tanhf(float), sinf(float), cosf(float), tanf(float);
float powf(float, float), fminf(float, float), fmaxf(float, float), fmaf(float, float, float);
double floor(double), ceil(double), rint(double), fabs(double), sqrt(double), exp(double);
double log(double), erf(double), tanh(double), sin(double), cos(double), tan(double);
double pow(double, double), fmin(double, double), fmax(double, double);
double fma(double, double, double);
}  // extern "C"

// ---- language and launch

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct KdEmulationUint3 {
  unsigned x, y, z;
};
#define KD_EMULATION_INDEX(name)                                                     \
  static KD_NOT_SEEN __attribute__((const)) KdEmulationUint3 kd_emulation_##name() { \
    const unsigned* i = kd_emulation_host->index()->name;                            \
    return {i[0], i[1], i[2]};                                                       \
  }
KD_EMULATION_INDEX(thread)
KD_EMULATION_INDEX(block)
KD_EMULATION_INDEX(block_dim)
KD_EMULATION_INDEX(grid_dim)
#define threadIdx (kd_emulation_thread())
#define blockIdx (kd_emulation_block())
#define blockDim (kd_emulation_block_dim())
#define gridDim (kd_emulation_grid_dim())

// ---- shared memory, barriers, warps

static KD_NOT_SEEN void kd_emulation_shared_memory(unsigned long alignment) {
  kd_emulation_host->shared_memory(alignment);
}
static KD_NOT_SEEN void* kd_emulation_shared(unsigned long offset, unsigned long bytes,
                                             unsigned long alignment, const char* name) {
  return kd_emulation_host->shared(offset, bytes, alignment, name);
}
#define KD_SHARED_MEMORY(alignment) kd_emulation_shared_memory(alignment)
#define KD_SHARED(type, name, offset, count) \
  type* const name = static_cast<type*>(     \
      kd_emulation_shared(offset, sizeof(type) * (count), alignof(type), #name))

static KD_NOT_SEEN void kd_emulation_barrier(int line) { kd_emulation_host->barrier(line); }
static KD_NOT_SEEN void __threadfence() { kd_emulation_host->fence(); }
#define __syncthreads() kd_emulation_barrier(__LINE__)
#define __threadfence_block() ((void)0)

static KD_NOT_SEEN void __syncwarp(unsigned mask = 0xffffffffu) {
  kd_emulation_host->warp(kKdSyncWarp, mask, 0, 0, 32, KD_CALLER);
}
static KD_NOT_SEEN unsigned __ballot_sync(unsigned mask, int p) {
  return static_cast<unsigned>(
      kd_emulation_host->warp(kKdBallot, mask, p != 0 ? 1 : 0, 0, 32, KD_CALLER));
}
#define __all_sync(mask, p) (__ballot_sync(mask, p) == (mask))
#define __any_sync(mask, p) (__ballot_sync(mask, p) != 0)

#define KD_EMULATION_SHUFFLE(name, op)                                           \
  template <class T>                                                             \
  static KD_NOT_SEEN T name(unsigned mask, T x, int operand, int width) {        \
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "what a shuffle can carry"); \
    unsigned long long bits = 0;                                                 \
    __builtin_memcpy(&bits, &x, sizeof x);                                       \
    bits = kd_emulation_host->warp(op, mask, bits, operand, width, KD_CALLER);   \
    __builtin_memcpy(&x, &bits, sizeof x);                                       \
    return x;                                                                    \
  }
KD_EMULATION_SHUFFLE(__shfl_sync, kKdShuffle)
KD_EMULATION_SHUFFLE(__shfl_xor_sync, kKdShuffleXor)
KD_EMULATION_SHUFFLE(__shfl_up_sync, kKdShuffleUp)
KD_EMULATION_SHUFFLE(__shfl_down_sync, kKdShuffleDown)

// ---- memory

template <class T, int N>
struct kd_vec;

template <int N, class T>
static KD_NOT_SEEN kd_vec<T, N> kd_load(const T* p) {
  kd_emulation_host->access(p, sizeof(T) * N, sizeof(T) * N, kKdRead, KD_CALLER);
  kd_vec<T, N> x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <int N, class T>
static KD_NOT_SEEN kd_vec<T, N> kd_load_global(const T* p) {
  kd_emulation_host->access(p, sizeof(T) * N, sizeof(T) * N, kKdReadConstant, KD_CALLER);
  kd_vec<T, N> x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
#define kd_load_stream kd_load
template <int N, class T>
static KD_NOT_SEEN void kd_store(T* p, kd_vec<T, N> x) {
  kd_emulation_host->access(p, sizeof(T) * N, sizeof(T) * N, kKdWrite, KD_CALLER);
  __builtin_memcpy(p, &x, sizeof x);
}
#define kd_store_stream kd_store

template <int size>
static KD_NOT_SEEN void kd_cp_async(void* to, const void* from, int bytes = size) {
  static_assert(size == 4 || size == 8 || size == 16, "bytes of one copy");
  kd_emulation_host->copy(to, from, size, bytes, KD_CALLER);
}
static KD_NOT_SEEN void kd_cp_async_commit() { kd_emulation_host->commit_copies(); }
template <int N>
static KD_NOT_SEEN void kd_cp_async_wait() {
  kd_emulation_host->wait_copies(N);
}

#define KD_EMULATION_ATOMIC(name, new_value)                                  \
  template <class T>                                                          \
  static KD_NOT_SEEN T name(T* p, T x) {                                      \
    kd_emulation_host->access(p, sizeof(T), sizeof(T), kKdAtomic, KD_CALLER); \
    const T old = *p;                                                         \
    *p = new_value;                                                           \
    return old;                                                               \
  }
KD_EMULATION_ATOMIC(atomicAdd, static_cast<T>(old + x))
KD_EMULATION_ATOMIC(atomicMax, old > x ? old : x)
KD_EMULATION_ATOMIC(atomicMin, old < x ? old : x)

// ---- conversions and functions

static inline int kd_bits_f32(float x) {
  int bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float kd_from_bits_f32(int bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
#define __float_as_int kd_bits_f32
#define __int_as_float kd_from_bits_f32

// The types are the prelude's, which stands after this file.
struct kd_f16;
struct kd_bf16;

template <class Half>
static inline float kd_f16_to_f32(Half x) {
  _Float16 half;
  __builtin_memcpy(&half, &x, sizeof half);
  return static_cast<float>(half);
}
template <class Half = kd_f16>
static inline Half kd_f32_to_f16(float x) {
  const _Float16 half = static_cast<_Float16>(x);
  Half r;
  __builtin_memcpy(&r, &half, sizeof r);
  return r;
}
template <class Half = kd_bf16>
static inline Half kd_f32_to_bf16(float x) {
  const unsigned u = static_cast<unsigned>(kd_bits_f32(x));
  const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
  return Half{
      static_cast<unsigned short>(is_nan ? 0x7fffu : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}
template <class Half = kd_f16>
static inline kd_vec<Half, 2> kd_f32x2_to_f16x2(float low, float high) {
  return kd_vec<Half, 2>{{kd_f32_to_f16<Half>(low), kd_f32_to_f16<Half>(high)}};
}
template <class Half = kd_bf16>
static inline kd_vec<Half, 2> kd_f32x2_to_bf16x2(float low, float high) {
  return kd_vec<Half, 2>{{kd_f32_to_bf16<Half>(low), kd_f32_to_bf16<Half>(high)}};
}

static inline float rsqrtf(float x) { return 1.f / sqrtf(x); }
static inline double rsqrt(double x) { return 1. / sqrt(x); }
#define __expf expf
#define __logf logf
#define __sinf sinf
#define __cosf cosf
#define __powf powf
#define __fdividef(a, b) ((a) / (b))
#define kd_tanh_fast_f32 tanhf
#define kd_sqrt_fast_f32 sqrtf
#define kd_rsqrt_fast_f32 rsqrtf

// ---- how the emulator calls a kernel

template <class P>
struct KdEmulationPointer {
  static constexpr KdEmulationParameter parameter = {0, 0};
};
template <class T>
struct KdEmulationPointer<T*> {
  static constexpr KdEmulationParameter parameter = {sizeof(T), 1};
};
template <class T>
struct KdEmulationPointer<const T*> {
  static constexpr KdEmulationParameter parameter = {sizeof(T), 0};
};

template <class... P>
struct KdEmulationCall {
  KdEmulationCall(void (*kernel)(P...), P... arguments) { kernel(arguments...); }
};

// As cuLaunchKernel: `arguments` are the addresses of the parameters' values.
template <class... P>
static KD_NOT_SEEN void kd_emulation_call(void (*kernel)(P...), void** arguments) {
  KdEmulationCall<P...>{kernel, *static_cast<P*>(*arguments++)...};
}

// Returns their number; at most `room` are written to `parameters`.
template <class... P>
static KD_NOT_SEEN unsigned kd_emulation_describe(void (*)(P...), KdEmulationParameter* parameters,
                                                  unsigned room) {
  const KdEmulationParameter all[] = {KdEmulationPointer<P>::parameter..., {0, 0}};
  for (unsigned i = 0; i < sizeof...(P) && i < room; ++i) parameters[i] = all[i];
  return sizeof...(P);
}
