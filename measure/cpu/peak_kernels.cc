#include "measure/cpu/peak_kernels.h"

// The vector loops are written in assembly, so that they are the same for every compiler,
// optimisation level and sanitizer, and so that the program itself needs no flags for a newer
// processor.

namespace kindred {
namespace {

volatile double g_sink;

// What any processor can do, at the compiler's mercy.
double GenericMultiplyAdds(PeakKind kind, std::int64_t steps) {
  if (kind == PeakKind::kI8) {
    std::int32_t sums[8] = {};
    volatile std::int8_t factor = 3;
    const std::int8_t f = factor;
    for (std::int64_t i = 0; i < steps; ++i) {
      for (std::int32_t& sum : sums) sum = (sum & 127) * f + 1;
    }
    for (const std::int32_t sum : sums) g_sink = sum;
    return 16.0 * static_cast<double>(steps);
  }
  double sums[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::int64_t i = 0; i < steps; ++i) {
    for (double& sum : sums) sum = sum * 0.5 + 0.5;
  }
  for (const double sum : sums) g_sink = sum;
  return 16.0 * static_cast<double>(steps);
}

#if defined(__x86_64__)

// Twelve accumulators hide a latency of six at two a cycle. All registers are zero: no denormals,
// no traps.
#define KINDRED_LOOP(zero, operation)                                                             \
  asm volatile(zero "1:\n\t" operation(0) operation(1) operation(2) operation(3) operation(4)     \
                   operation(5) operation(6) operation(7) operation(8) operation(9) operation(10) \
                       operation(11) "dec %0\n\tjnz 1b\n\tvzeroupper\n\t"                         \
               : "+r"(steps)                                                                      \
               :                                                                                  \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",    \
                 "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
#define KINDRED_ZERO "vzeroall\n\t"
#define KINDRED_F32_512(n) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" #n "\n\t"
#define KINDRED_F64_512(n) "vfmadd231pd %%zmm14, %%zmm15, %%zmm" #n "\n\t"
#define KINDRED_DOT_512(n) "vpdpbusd %%zmm14, %%zmm15, %%zmm" #n "\n\t"
#define KINDRED_F32_256(n) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #n "\n\t"
#define KINDRED_F64_256(n) "vfmadd231pd %%ymm14, %%ymm15, %%ymm" #n "\n\t"
#define KINDRED_DOT_256(n) "vpdpbusd %%ymm14, %%ymm15, %%ymm" #n "\n\t"
// Without the one instruction: bytes widened to pairs of 16 bits, multiplied, added: 2 operations
// each.
#define KINDRED_PAIRS_256(n) \
  "vpmaddwd %%ymm14, %%ymm15, %%ymm13\n\tvpaddd %%ymm13, %%ymm" #n ", %%ymm" #n "\n\t"
#define KINDRED_PAIRS_512(n) \
  "vpmaddwd %%zmm14, %%zmm15, %%zmm13\n\tvpaddd %%zmm13, %%zmm" #n ", %%zmm" #n "\n\t"

double VectorMultiplyAdds(bool wide, PeakKind kind, bool dot_i8, std::int64_t steps) {
  const double runs = 12.0 * static_cast<double>(steps);
  const double bytes = wide ? 64 : 32;
  switch (kind) {
    case PeakKind::kF32:
      if (wide) {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_F32_512);
      } else {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_F32_256);
      }
      return runs * bytes / 4 * 2;
    case PeakKind::kF64:
      if (wide) {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_F64_512);
      } else {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_F64_256);
      }
      return runs * bytes / 8 * 2;
    case PeakKind::kI8:
      if (dot_i8 && wide) {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_DOT_512);
      } else if (dot_i8) {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_DOT_256);
      } else if (wide) {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_PAIRS_512);
      } else {
        KINDRED_LOOP(KINDRED_ZERO, KINDRED_PAIRS_256);
      }
      return runs * bytes / (dot_i8 ? 1 : 2) * 2;
  }
  return runs;
}

// 1 KiB a step, through eight registers.
#define KINDRED_READ_512(n, at) "vmovups " #at "(%0), %%zmm" #n "\n\t"
#define KINDRED_READ_256(n, at) "vmovups " #at "(%0), %%ymm" #n "\n\t"

void Reads512(const std::byte* at, std::int64_t steps) {
  asm volatile(
      "1:\n\t" KINDRED_READ_512(0, 0) KINDRED_READ_512(1, 64) KINDRED_READ_512(
          2, 128) KINDRED_READ_512(3, 192) KINDRED_READ_512(4, 256) KINDRED_READ_512(5, 320)
          KINDRED_READ_512(6, 384) KINDRED_READ_512(7, 448) KINDRED_READ_512(0, 512)
              KINDRED_READ_512(1, 576) KINDRED_READ_512(2, 640) KINDRED_READ_512(3, 704)
                  KINDRED_READ_512(4, 768) KINDRED_READ_512(5, 832) KINDRED_READ_512(6, 896)
                      KINDRED_READ_512(7, 960) "add $1024, %0\n\tdec %1\n\tjnz 1b\n\tvzeroupper\n\t"
      : "+r"(at), "+r"(steps)
      :
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

void Reads256(const std::byte* at, std::int64_t steps) {
  steps *= 2;
  asm volatile(
      "1:\n\t" KINDRED_READ_256(0, 0) KINDRED_READ_256(1, 32) KINDRED_READ_256(
          2, 64) KINDRED_READ_256(3, 96) KINDRED_READ_256(4, 128) KINDRED_READ_256(5, 160)
          KINDRED_READ_256(6, 192) KINDRED_READ_256(7, 224) KINDRED_READ_256(0, 256)
              KINDRED_READ_256(1, 288) KINDRED_READ_256(2, 320) KINDRED_READ_256(3, 352)
                  KINDRED_READ_256(4, 384) KINDRED_READ_256(5, 416) KINDRED_READ_256(6, 448)
                      KINDRED_READ_256(7, 480) "add $512, %0\n\tdec %1\n\tjnz 1b\n\tvzeroupper\n\t"
      : "+r"(at), "+r"(steps)
      :
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

#endif

}  // namespace

VectorLevel VectorLevelOf(const std::set<std::string>& cpu_flags) {
#if defined(__x86_64__)
  if (cpu_flags.contains("avx512f") && cpu_flags.contains("avx512bw") &&
      cpu_flags.contains("avx512vl"))
    return VectorLevel::kAvx512;
  if (cpu_flags.contains("avx2") && cpu_flags.contains("fma")) return VectorLevel::kAvx2;
#endif
  (void)cpu_flags;
  return VectorLevel::kGeneric;
}

double RunMultiplyAdds(VectorLevel level, PeakKind kind, bool dot_i8, std::int64_t steps) {
#if defined(__x86_64__)
  if (level != VectorLevel::kGeneric)
    return VectorMultiplyAdds(level == VectorLevel::kAvx512, kind, dot_i8, steps);
#endif
  (void)level;
  (void)dot_i8;
  return GenericMultiplyAdds(kind, steps);
}

double RunReads(VectorLevel level, const std::byte* buffer, std::size_t bytes) {
#if defined(__x86_64__)
  if (level != VectorLevel::kGeneric) {
    const auto steps = static_cast<std::int64_t>(bytes / 1024);
    level == VectorLevel::kAvx512 ? Reads512(buffer, steps) : Reads256(buffer, steps);
    return static_cast<double>(bytes);
  }
#endif
  (void)level;
  const auto* at = reinterpret_cast<const std::uint64_t*>(buffer);
  std::uint64_t sums[4] = {};
  for (std::size_t i = 0; i < bytes / 8; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += at[i + k];
  }
  g_sink = static_cast<double>(sums[0] + sums[1] + sums[2] + sums[3]);
  return static_cast<double>(bytes);
}

}  // namespace kindred
