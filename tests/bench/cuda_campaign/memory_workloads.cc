// Workloads bound by memory: rows, norms, argmax, permutations, gathers, depthwise windows,
// pooling; extents around vectors, warps and blocks.
#include <fmt/format.h>

#include <algorithm>

#include "tests/bench/cuda_campaign/campaign_workloads.h"

namespace kindred::bench {
namespace {

bool Coin(Random& random) { return random.Below(2) == 0; }

// Awkward ones, and multiples of vectors; up to `most`.
std::int64_t Extent(Random& random, std::int64_t most) {
  constexpr std::int64_t kSome[] = {1,  7,  8,  16,  17,  32,   33,   36,   40,
                                    64, 65, 96, 100, 128, 1000, 1023, 1024, 1025};
  std::int64_t extent = most + 1;
  while (extent > most) extent = kSome[random.Below(std::size(kSome))];
  return extent;
}

std::string Columns(std::string_view type, bool large, Random& random) {
  const std::int64_t rows = Extent(random, 1025) * (large ? 8 : 1),
                     columns = Extent(random, large ? 1025 : 40);
  return fmt::format("input X: {0}[{1},{2}]\noutput Y[j] = {3}[i](X[i,j])\n", type, rows, columns,
                     Coin(random) ? "sum" : "max");
}

std::string LongRows(std::string_view type, bool large, Random& random) {
  const std::int64_t columns = (large ? 65536 : 1024) + Extent(random, 1025);
  return fmt::format(
      "input X: {0}[{1},{2}]\nM[i] = {3}[j](X[i,j])\noutput Y[i,j] = X[i,j] - M[i]\n", type,
      1 + random.Below(3), columns, Coin(random) ? "min" : "max");
}

std::string Norm(std::string_view type, bool large, Random& random) {
  const std::int64_t rows = Extent(random, large ? 1025 : 17), columns = Extent(random, 1025);
  const std::string_view wide = type == "f64" ? "f64" : "f32";
  return fmt::format(
      "input X: {0}[{1},{2}]\nweight g: {0}[{2}]\nA: {3}[i] = sum[j](X[i,j]) / {2}\n"
      "V: {3}[i] = sum[j]((X[i,j] - A[i]) * (X[i,j] - A[i])) / {2}\n"
      "output Y: {0}[i,j] = {0}((X[i,j] - A[i]) * rsqrt(V[i] + 0.01) * g[j])\n",
      type, rows, columns, wide);
}

std::string Argmax(std::string_view type, bool large, Random& random) {
  const bool columns = Coin(random);
  return fmt::format("input X: {0}[{1},{2}]\noutput Y: i64[{3}] = arg{4}[{5}](X[i,j])\n", type,
                     Extent(random, large ? 1025 : 65), Extent(random, large ? 1025 : 128),
                     columns ? "j" : "i", Coin(random) ? "max" : "min", columns ? "i" : "j");
}

std::string SoftmaxOfChannels(std::string_view type, bool large, Random& random) {
  return fmt::format(
      "input X: {0}[2,{1},{2}]\nM[n,x] = max[c](X[n,c,x])\nE[n,c,x] = exp(X[n,c,x] - M[n,x])\n"
      "S[n,x] = sum[c](E[n,c,x])\noutput Y: {0}[n,c,x] = {0}(E[n,c,x] / S[n,x])\n",
      type, Extent(random, large ? 1025 : 33), Extent(random, large ? 1025 : 65));
}

std::string Permute(std::string_view type, bool large, Random& random) {
  constexpr std::string_view kOrders[] = {"a,c,b", "b,a,c", "b,c,a", "c,a,b", "c,b,a"};
  const std::int64_t most = large ? 128 : 17;
  return fmt::format("input X: {0}[{1},{2},{3}]\noutput Y: {0}[{4}] = X[a,b,c]\n", type,
                     Extent(random, most), Extent(random, most), Extent(random, large ? 128 : 40),
                     kOrders[random.Below(std::size(kOrders))]);
}

std::string Gather(std::string_view type, bool large, Random& random) {
  return fmt::format("input J: i64[{1}]\nweight E: {0}[9,{2}]\noutput Y: {0}[t,f] = E[J[t],f]\n",
                     type, Extent(random, large ? 1025 : 17), Extent(random, 1025));
}

std::string Concat(std::string_view type, bool large, Random& random) {
  const std::int64_t a = Extent(random, large ? 1025 : 33), b = Extent(random, large ? 1025 : 33),
                     rows = Extent(random, 17);
  if (Coin(random))
    return fmt::format(
        "input A: {0}[{1},{2}]\ninput B: {0}[{1},{3}]\n"
        "output Y: {0}[i,j={4}] = select(j < {2}, A[i,j], B[i,j-{2}])\n",
        type, rows, a, b, a + b);
  return fmt::format("input A: {0}[{1},{2}]\noutput Y: {0}[i={3},j={4}] = padded(A[i-1,j-4], 1)\n",
                     type, rows, a, rows + 2, a + 8);
}

struct Image {
  std::int64_t channels, window, stride, out, in;
};

Image RandomImage(bool large, Random& random) {
  Image v{};
  v.channels = Extent(random, large ? 128 : 33), v.window = 2 + static_cast<int>(random.Below(2));
  v.stride = 1 + static_cast<int>(random.Below(2));
  v.out = Extent(random, large ? 65 : 8), v.in = (v.out - 1) * v.stride + v.window;
  return v;
}

std::string DepthwiseNchw(std::string_view type, bool large, Random& random) {
  const Image v = RandomImage(large, random);
  return fmt::format(
      "input X: {0}[2,{2},{1},{1}]\nweight W: {0}[{2},{3},{3}]\n"
      "P[n,c,y={4},x={4}] = sum[r,s](padded(X[n,c,{5}*y+r-1,{5}*x+s-1], 0) * W[c,r,s])\n"
      "output Y: {0}[n,c,y,x] = {0}(max(P[n,c,y,x], 0))\n",
      type, v.in, v.channels, v.window, v.out, v.stride);
}

std::string DepthwiseNhwc(std::string_view type, bool large, Random& random) {
  const Image v = RandomImage(large, random);
  return fmt::format(
      "input X: {0}[2,{1},{1},{2}]\nweight W: {0}[{3},{3},{2}]\n"
      "P[n,y={4},x={4},c] = sum[r,s](padded(X[n,{5}*y+r-1,{5}*x+s-1,c], 0) * W[r,s,c])\n"
      "output Y: {0}[n,y,x,c] = {0}(max(P[n,y,x,c], 0))\n",
      type, v.in, v.channels, v.window, v.out, v.stride);
}

std::string Pool(std::string_view type, bool large, Random& random) {
  const Image v = RandomImage(large, random);
  const std::string_view combiner = Coin(random) ? "max" : "sum";
  if (Coin(random))
    return fmt::format(
        "input X: {0}[{1},{1},{2}]\n"
        "output Y[y={3},x={3},c] = {6}[r={4},s={4}](X[{5}*y+r,{5}*x+s,c])\n",
        type, v.in, v.channels, v.out, v.window, v.stride, combiner);
  return fmt::format(
      "input X: {0}[{2},{1},{1}]\n"
      "output Y[c,y={3},x={3}] = {6}[r={4},s={4}](X[c,{5}*y+r,{5}*x+s])\n",
      type, v.in, v.channels, v.out, v.window, v.stride, combiner);
}

}  // namespace

const std::vector<CampaignForm>& MemoryBoundForms() {
  static const std::vector<CampaignForm> forms = {
      {"rows", "columns", &Columns},
      {"rows", "long_rows", &LongRows},
      {"rows", "norm", &Norm, "float"},
      {"rows", "argmax", &Argmax},
      {"rows", "softmax_of_channels", &SoftmaxOfChannels, "float"},
      {"elementwise", "permute", &Permute, "any"},
      {"elementwise", "gather", &Gather, "any"},
      {"elementwise", "concat", &Concat},
      {"window", "depthwise_nchw", &DepthwiseNchw},
      {"window", "depthwise_nhwc", &DepthwiseNhwc},
      {"window", "pool", &Pool},
  };
  return forms;
}

}  // namespace kindred::bench
