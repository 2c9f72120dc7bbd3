// The sum of an array, by one block: each thread adds up every block_size_x-th element, in
// `accumulators` sums, then the block adds its threads' sums.
extern "C" __global__ void reduction(float *sum, const float *values, int count) {
  __shared__ float parts[block_size_x];
  float mine[accumulators];
  for (int a = 0; a < accumulators; ++a) mine[a] = 0;
  int i = threadIdx.x;
  for (; i + (accumulators - 1) * block_size_x < count; i += accumulators * block_size_x)
    for (int a = 0; a < accumulators; ++a) mine[a] += values[i + a * block_size_x];
  for (; i < count; i += block_size_x) mine[0] += values[i];
  for (int a = 1; a < accumulators; ++a) mine[0] += mine[a];
  parts[threadIdx.x] = mine[0];
  __syncthreads();
  for (int half = block_size_x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *sum = parts[0];
}
