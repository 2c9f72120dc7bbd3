// Types, shared memory, loads and stores, warps, asynchronous copies and atomics of the device
// prelude.
#include "schedules/internal/cuda_prelude.h"

namespace kindred::internal {
namespace {

// clang-format off: one line of CUDA C++ per line
constexpr PreludePart kParts[] = {
    {"KD_SHARED_MEMORY", false,
     R"kd(// The dynamic shared memory of the launch, aligned; stands before the KD_SHARED of a kernel.
#define KD_SHARED_MEMORY(alignment) extern __shared__ __align__(alignment) unsigned char kd_shared_memory[]
)kd"},
    {"KD_SHARED", false, R"kd(// An array of `count` elements in it, at a byte offset.
#define KD_SHARED(type, name, offset, count) \
  type* const name = reinterpret_cast<type*>(kd_shared_memory + (offset))
)kd"},
    {"KD_DEVICE", true, R"kd(#define KD_DEVICE static __device__ __forceinline__
)kd"},
    {"kd_f16", true, R"kd(struct kd_f16 { unsigned short bits; };
)kd"},
    {"kd_bf16", true, R"kd(struct kd_bf16 { unsigned short bits; };
)kd"},
    {"kd_f8e4m3", true, R"kd(struct kd_f8e4m3 { unsigned char bits; };
)kd"},
    {"kd_f8e5m2", true, R"kd(struct kd_f8e5m2 { unsigned char bits; };
)kd"},
    {"kd_c64", true, R"kd(struct alignas(8) kd_c64 { float re, im; };
)kd"},
    {"kd_vec", true, R"kd(template <class T, int N>
struct alignas(N * sizeof(T)) kd_vec {
  static_assert((N & (N - 1)) == 0 && N * sizeof(T) <= 16, "one memory instruction");
  T v[N];
};
)kd"},
    {"kd_load kd_store", false, R"kd(template <int N, class T>
KD_DEVICE kd_vec<T, N> kd_load(const T* p) {
  return *reinterpret_cast<const kd_vec<T, N>*>(p);
}
template <int N, class T>
KD_DEVICE void kd_store(T* p, const kd_vec<T, N>& x) {
  *reinterpret_cast<kd_vec<T, N>*>(p) = x;
}
)kd"},
    {"kd_word", false, R"kd(template <int bytes> struct kd_word;
template <> struct kd_word<1> { typedef unsigned char type; };
template <> struct kd_word<2> { typedef unsigned short type; };
template <> struct kd_word<4> { typedef unsigned type; };
template <> struct kd_word<8> { typedef uint2 type; };
template <> struct kd_word<16> { typedef uint4 type; };
)kd"},
    {"kd_load_global kd_load_stream", false,
     R"kd(// Global memory that nothing writes while the kernel runs; `stream`: each byte is read once.
template <int N, class T>
KD_DEVICE kd_vec<T, N> kd_load_global(const T* p) {
  typedef typename kd_word<sizeof(kd_vec<T, N>)>::type word;
  union { word w; kd_vec<T, N> x; } u;
  u.w = __ldg(reinterpret_cast<const word*>(p));
  return u.x;
}
template <int N, class T>
KD_DEVICE kd_vec<T, N> kd_load_stream(const T* p) {
  typedef typename kd_word<sizeof(kd_vec<T, N>)>::type word;
  union { word w; kd_vec<T, N> x; } u;
  u.w = __ldcs(reinterpret_cast<const word*>(p));
  return u.x;
}
)kd"},
    {"kd_store_stream", false, R"kd(template <int N, class T>
KD_DEVICE void kd_store_stream(T* p, const kd_vec<T, N>& x) {
  typedef typename kd_word<sizeof(kd_vec<T, N>)>::type word;
  union { kd_vec<T, N> x; word w; } u;
  u.x = x;
  __stcs(reinterpret_cast<word*>(p), u.w);
}
)kd"},
    {"kd_syncthreads", true, R"kd(#define kd_syncthreads() __syncthreads()
)kd"},
    {"kd_syncwarp", true,
     R"kd(KD_DEVICE void kd_syncwarp(unsigned mask = 0xffffffffu) { __syncwarp(mask); }
)kd"},
    {"kd_threadfence", true, R"kd(#define kd_threadfence() __threadfence()
)kd"},
    {"kd_threadfence_block", true, R"kd(#define kd_threadfence_block() __threadfence_block()
)kd"},
    {"kd_shfl", true, R"kd(template <class T>
KD_DEVICE T kd_shfl(unsigned mask, T x, int lane, int width = 32) {
  return __shfl_sync(mask, x, lane, width);
}
KD_DEVICE kd_c64 kd_shfl(unsigned mask, kd_c64 x, int lane, int width = 32) {
  kd_c64 r;
  r.re = __shfl_sync(mask, x.re, lane, width);
  r.im = __shfl_sync(mask, x.im, lane, width);
  return r;
}
)kd"},
    {"kd_shfl_xor", true, R"kd(template <class T>
KD_DEVICE T kd_shfl_xor(unsigned mask, T x, int lane_mask, int width = 32) {
  return __shfl_xor_sync(mask, x, lane_mask, width);
}
KD_DEVICE kd_c64 kd_shfl_xor(unsigned mask, kd_c64 x, int lane_mask, int width = 32) {
  kd_c64 r;
  r.re = __shfl_xor_sync(mask, x.re, lane_mask, width);
  r.im = __shfl_xor_sync(mask, x.im, lane_mask, width);
  return r;
}
)kd"},
    {"kd_shfl_down", true, R"kd(template <class T>
KD_DEVICE T kd_shfl_down(unsigned mask, T x, int delta, int width = 32) {
  return __shfl_down_sync(mask, x, delta, width);
}
KD_DEVICE kd_c64 kd_shfl_down(unsigned mask, kd_c64 x, int delta, int width = 32) {
  kd_c64 r;
  r.re = __shfl_down_sync(mask, x.re, delta, width);
  r.im = __shfl_down_sync(mask, x.im, delta, width);
  return r;
}
)kd"},
    {"kd_shfl_up", true, R"kd(template <class T>
KD_DEVICE T kd_shfl_up(unsigned mask, T x, int delta, int width = 32) {
  return __shfl_up_sync(mask, x, delta, width);
}
KD_DEVICE kd_c64 kd_shfl_up(unsigned mask, kd_c64 x, int delta, int width = 32) {
  kd_c64 r;
  r.re = __shfl_up_sync(mask, x.re, delta, width);
  r.im = __shfl_up_sync(mask, x.im, delta, width);
  return r;
}
)kd"},
    {"kd_all", true, R"kd(KD_DEVICE int kd_all(unsigned mask, int p) { return __all_sync(mask, p); }
)kd"},
    {"kd_any", true, R"kd(KD_DEVICE int kd_any(unsigned mask, int p) { return __any_sync(mask, p); }
)kd"},
    {"kd_ballot", true,
     R"kd(KD_DEVICE unsigned kd_ballot(unsigned mask, int p) { return __ballot_sync(mask, p); }
)kd"},
    {"kd_cp_async", false,
     R"kd(// Shared from global memory: `bytes` of the source, zeros up to `size`.
template <int size>
KD_DEVICE void kd_cp_async(void* to, const void* from, int bytes) {
  static_assert(size == 4 || size == 8 || size == 16, "bytes of one copy");
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (size == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(size), "r"(bytes) : "memory");
}
template <int size>
KD_DEVICE void kd_cp_async(void* to, const void* from) {
  static_assert(size == 4 || size == 8 || size == 16, "bytes of one copy");
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (size == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(size) : "memory");
}
)kd"},
    {"kd_cp_async_commit", false,
     R"kd(KD_DEVICE void kd_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
)kd"},
    {"kd_cp_async_wait", false,
     R"kd(// At most N of this thread's newest groups are still under way.
template <int N>
KD_DEVICE void kd_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
)kd"},
    {"kd_atomic_add", true, R"kd(template <class T>
KD_DEVICE T kd_atomic_add(T* p, T x) {
  return atomicAdd(p, x);
}
KD_DEVICE long long kd_atomic_add(long long* p, long long x) {
  return static_cast<long long>(
      atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(x)));
}
)kd"},
    {"kd_atomic_max", true, R"kd(template <class T>
KD_DEVICE T kd_atomic_max(T* p, T x) {
  return atomicMax(p, x);
}
)kd"},
    {"kd_atomic_min", true, R"kd(template <class T>
KD_DEVICE T kd_atomic_min(T* p, T x) {
  return atomicMin(p, x);
}
)kd"},
};
// clang-format on

}  // namespace

std::span<const PreludePart> PreludeDeviceParts() { return kParts; }

}  // namespace kindred::internal
