// C = A * B, row-major: each block computes a tile of C from tiles of A and B in shared memory, each
// thread a column of work_m elements of it. m, n and k are multiples of the tiles.
extern "C" __global__ void gemm(float *C, const float *A, const float *B, int m, int n, int k) {
  __shared__ float a[block_size_y * work_m][tile_k];
  __shared__ float b[tile_k][block_size_x];
  const int column = blockIdx.x * block_size_x + threadIdx.x;
  const int row = blockIdx.y * block_size_y * work_m + threadIdx.y;
  float sums[work_m];
  for (int w = 0; w < work_m; ++w) sums[w] = 0;
  for (int p = 0; p < k; p += tile_k) {
    for (int w = 0; w < work_m; ++w)
      for (int q = threadIdx.x; q < tile_k; q += block_size_x)
        a[threadIdx.y + w * block_size_y][q] = A[(row + w * block_size_y) * k + p + q];
    for (int q = threadIdx.y; q < tile_k; q += block_size_y)
      b[q][threadIdx.x] = B[(p + q) * n + column];
    __syncthreads();
    for (int q = 0; q < tile_k; ++q)
      for (int w = 0; w < work_m; ++w)
        sums[w] += a[threadIdx.y + w * block_size_y][q] * b[q][threadIdx.x];
    __syncthreads();
  }
  for (int w = 0; w < work_m; ++w) C[(row + w * block_size_y) * n + column] = sums[w];
}
