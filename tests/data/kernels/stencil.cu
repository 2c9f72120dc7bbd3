// One step of a five-point stencil on a grid of height x width, whose edge stays as it is. Each thread
// computes work_y points, one below the other.
extern "C" __global__ void stencil(float *out, const float *in, int width, int height,
                                   float weight) {
  const int x = blockIdx.x * block_size_x + threadIdx.x;
  const int first = (blockIdx.y * block_size_y + threadIdx.y) * work_y;
  for (int w = 0; w < work_y; ++w) {
    const int y = first + w;
    if (x >= width || y >= height) continue;
    const int at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
      out[at] = in[at];
    else
      out[at] = in[at] + weight * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] -
                                   4 * in[at]);
  }
}
