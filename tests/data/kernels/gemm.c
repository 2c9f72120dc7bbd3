/* C = A * B, row-major, blocked over rows, columns and the sum. */
#include <string.h>

#ifndef tile_m
#define tile_m 32
#define tile_n 64
#define tile_k 32
#define unroll_k 1
#endif

void gemm_reference(float *C, const float *A, const float *B, int m, int n, int k) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int p = 0; p < k; ++p) sum += (double)A[i * k + p] * B[p * n + j];
      C[i * n + j] = (float)sum;
    }
}

void gemm(float *restrict C, const float *restrict A, const float *restrict B, int m, int n,
          int k) {
  memset(C, 0, sizeof(float) * m * n);
  for (int i0 = 0; i0 < m; i0 += tile_m)
    for (int p0 = 0; p0 < k; p0 += tile_k)
      for (int j0 = 0; j0 < n; j0 += tile_n)
        for (int i = i0; i < i0 + tile_m; ++i)
          for (int p = p0; p < p0 + tile_k; p += unroll_k)
            for (int j = j0; j < j0 + tile_n; ++j) {
              float sum = C[i * n + j];
              for (int u = 0; u < unroll_k; ++u) sum += A[i * k + p + u] * B[(p + u) * n + j];
              C[i * n + j] = sum;
            }
}
