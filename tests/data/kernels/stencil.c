/* One step of a five-point stencil on a grid of height x width, whose edge stays as it is. */
#ifndef tile_x
#define tile_x 64
#define tile_y 8
#define unroll_y 1
#endif

static float point(const float *in, long at, int width, float weight) {
  return in[at] + weight * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] - 4 * in[at]);
}

void stencil(float *restrict out, const float *restrict in, int width, int height, float weight) {
  for (int x = 0; x < width; ++x) {
    out[x] = in[x];
    out[(long)(height - 1) * width + x] = in[(long)(height - 1) * width + x];
  }
  for (int y = 0; y < height; ++y) {
    out[(long)y * width] = in[(long)y * width];
    out[(long)y * width + width - 1] = in[(long)y * width + width - 1];
  }
  for (int y0 = 1; y0 < height - 1; y0 += tile_y * unroll_y)
    for (int x0 = 1; x0 < width - 1; x0 += tile_x)
      for (int y1 = y0; y1 < y0 + tile_y * unroll_y && y1 < height - 1; y1 += unroll_y) {
        const int end = x0 + tile_x < width - 1 ? x0 + tile_x : width - 1;
        for (int x = x0; x < end; ++x)
          for (int u = 0; u < unroll_y; ++u)
            if (y1 + u < height - 1) {
              const long at = (long)(y1 + u) * width + x;
              out[at] = point(in, at, width, weight);
            }
      }
}
