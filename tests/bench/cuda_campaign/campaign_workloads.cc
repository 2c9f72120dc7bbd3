#include "tests/bench/cuda_campaign/campaign_workloads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kindred::bench {
namespace {

std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(high - low + 1)));
}

bool Coin(Random& random) { return random.Below(2) == 0; }

// Odd, a multiple of something, or just 1.
std::int64_t Extent(Random& random, std::int64_t most) {
  constexpr std::int64_t kMultiples[] = {1, 1, 2, 4, 8, 16, 32};
  if (random.Below(16) == 0) return 1;
  const std::int64_t of = std::min(kMultiples[random.Below(std::size(kMultiples))], most);
  return of * Between(random, 1, std::max<std::int64_t>(most / of, 1));
}

bool IsIntegerName(std::string_view type) { return type[0] == 'i' || type[0] == 'u'; }

// The output stage after P[axes]: as it is, narrowed, or with a bias along the last axis.
std::string After(std::string_view type, std::string_view axes, std::int64_t last, Random& random) {
  const char name[] = {axes.back(), 0};
  switch (random.Below(3)) {
    case 0: return fmt::format("output Y[{0}] = max(P[{0}], 0)\n", axes);
    case 1: return fmt::format("output Y: {1}[{0}] = {1}(P[{0}])\n", axes, type);
    default: break;
  }
  const std::string_view bias = type == "f64" ? "f64" : IsIntegerName(type) ? "i32" : "f32";
  return fmt::format("input bias: {0}[{1}]\noutput Y[{2}] = P[{2}] + bias[{3}]\n", bias, last, axes,
                     name);
}

std::string Gemm(std::string_view type, bool large, Random& random) {
  const std::int64_t most = large ? 2048 : 80;
  const std::int64_t m = Extent(random, most), n = Extent(random, most), k = Extent(random, most);
  const bool at = Coin(random), bt = Coin(random), prologue = random.Below(4) == 0;
  std::string text = fmt::format("input A: {0}[{1},{2}]\ninput B: {0}[{3},{4}]\n", type, at ? k : m,
                                 at ? m : k, bt ? n : k, bt ? k : n);
  const std::string_view a = at ? "k,i" : "i,k";
  if (prologue) text += fmt::format("R[{0}] = max(A[{0}], 0)\n", a);
  text +=
      fmt::format("P[i,j] = sum[k]({}[{}] * B[{}])\n", prologue ? "R" : "A", a, bt ? "j,k" : "k,j");
  return text + After(type, "i,j", n, random);
}

std::string Batched(std::string_view type, bool large, Random& random) {
  const std::int64_t most = large ? 1024 : 40;
  const std::int64_t b = Between(random, 1, 4), m = Extent(random, most), n = Extent(random, most),
                     k = Extent(random, most);
  const bool shared = random.Below(4) == 0, transposed = Coin(random);
  return fmt::format(
             "input A: {0}[{1},{2},{3}]\ninput B: {0}[{4}]\n"
             "P[b,i,j] = sum[k](A[b,i,k] * B[{5}])\n",
             type, b, m, k,
             shared       ? fmt::format("{},{}", k, n)
             : transposed ? fmt::format("{},{},{}", b, n, k)
                          : fmt::format("{},{},{}", b, k, n),
             shared       ? "k,j"
             : transposed ? "b,j,k"
                          : "b,k,j") +
         After(type, "b,i,j", n, random);
}

struct Convolution {
  std::int64_t n, c, o, y, x, r, s, stride, pad, height, width;
};

Convolution RandomConvolution(bool large, Random& random) {
  Convolution v{};
  v.n = Between(random, 1, 2), v.c = Extent(random, large ? 256 : 9);
  v.o = Extent(random, large ? 256 : 24);
  v.r = 2 * Between(random, 0, 1) + 1, v.s = 2 * Between(random, 0, 1) + 1;
  v.y = Extent(random, large ? 56 : 7), v.x = Extent(random, large ? 56 : 12);
  v.stride = Between(random, 1, 2), v.pad = Between(random, 0, 1);
  v.height = std::max<std::int64_t>((v.y - 1) * v.stride + v.r - 2 * v.pad, 1);
  v.width = std::max<std::int64_t>((v.x - 1) * v.stride + v.s - 2 * v.pad, 1);
  return v;
}

std::string Along(std::string_view out, std::string_view window, const Convolution& v) {
  return fmt::format("{}{} + {} - {}", v.stride == 1 ? "" : "2 * ", out, window, v.pad);
}

std::string ConvolutionNchw(std::string_view type, bool large, Random& random) {
  const Convolution v = RandomConvolution(large, random);
  const std::int64_t groups = random.Below(3) == 0 ? 2 : 1;
  if (groups > 1)
    return fmt::format(
               "input X: {0}[{1},2,{2},{3},{4}]\nweight W: {0}[2,{5},{2},{6},{7}]\n"
               "P[n,g,o,y={8},x={9}] = sum[c,r,s](padded(X[n,g,c,{10},{11}], 0) * W[g,o,c,r,s])\n",
               type, v.n, v.c, v.height, v.width, v.o, v.r, v.s, v.y, v.x, Along("y", "r", v),
               Along("x", "s", v)) +
           After(type, "n,g,o,y,x", v.x, random);
  return fmt::format(
             "input X: {0}[{1},{2},{3},{4}]\nweight W: {0}[{5},{2},{6},{7}]\n"
             "P[n,o,y={8},x={9}] = sum[c,r,s](padded(X[n,c,{10},{11}], 0) * W[o,c,r,s])\n",
             type, v.n, v.c, v.height, v.width, v.o, v.r, v.s, v.y, v.x, Along("y", "r", v),
             Along("x", "s", v)) +
         After(type, "n,o,y,x", v.x, random);
}

std::string ConvolutionNhwc(std::string_view type, bool large, Random& random) {
  const Convolution v = RandomConvolution(large, random);
  const bool outputs_last = Coin(random);
  return fmt::format(
             "input X: {0}[{1},{2},{3},{4}]\nweight W: {0}[{5}]\n"
             "P[n,y={6},x={7},o] = sum[r,s,c](padded(X[n,{8},{9},c], 0) * W[{10}])\n",
             type, v.n, v.height, v.width, v.c,
             outputs_last ? fmt::format("{},{},{},{}", v.r, v.s, v.c, v.o)
                          : fmt::format("{},{},{},{}", v.o, v.r, v.s, v.c),
             v.y, v.x, Along("y", "r", v), Along("x", "s", v),
             outputs_last ? "r,s,c,o" : "o,r,s,c") +
         After(type, "n,y,x,o", v.o, random);
}

// Axes of both kinds of output, of a batch and of the reduction, in any order in both operands.
std::string Einsum(std::string_view type, bool large, Random& random) {
  const std::int64_t most = large ? 96 : 9;
  struct Named {
    char name;
    std::int64_t extent;
  };
  std::vector<Named> a, b, out;
  const auto add = [&](char name, bool in_a, bool in_b, bool in_out) {
    const Named axis = {name, Extent(random, most)};
    if (in_a) a.push_back(axis);
    if (in_b) b.push_back(axis);
    if (in_out) out.push_back(axis);
  };
  if (Coin(random)) add('g', true, true, true);
  add('i', true, false, true);
  if (Coin(random)) add('h', true, false, true);
  add('j', false, true, true);
  if (Coin(random)) add('l', false, true, true);
  add('k', true, true, false);
  const bool two = Coin(random);
  if (two) add('m', true, true, false);
  const auto shuffle = [&](std::vector<Named>& axes) {
    for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random.Below(i)]);
  };
  shuffle(a);
  shuffle(b);
  shuffle(out);
  for (std::size_t i = 0; out.back().name == 'g' && i + 1 < out.size(); ++i)
    std::swap(out[i], out.back());  // the innermost output axis belongs to one operand
  const auto names = [](const std::vector<Named>& axes) {
    std::string text;
    for (const Named& axis : axes) text += std::string(text.empty() ? "" : ",") + axis.name;
    return text;
  };
  const auto extents = [](const std::vector<Named>& axes) {
    std::string text;
    for (const Named& axis : axes)
      text += std::string(text.empty() ? "" : ",") + std::to_string(axis.extent);
    return text;
  };
  return fmt::format("input A: {0}[{1}]\ninput B: {0}[{2}]\nP[{3}] = sum[{4}](A[{5}] * B[{6}])\n",
                     type, extents(a), extents(b), names(out), two ? "k,m" : "k", names(a),
                     names(b)) +
         After(type, names(out), out.back().extent, random);
}

std::string Softmax(std::string_view type, bool large, Random& random) {
  const std::int64_t rows = Extent(random, large ? 4096 : 20),
                     columns = Extent(random, large ? 4096 : 300);
  return fmt::format(
      "input X: {0}[{1},{2}]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\n"
      "S[i] = sum[j](E[i,j])\noutput Y: {0}[i,j] = {0}(E[i,j] / S[i])\n",
      type, rows, columns);
}

std::string Reduction(std::string_view type, bool large, Random& random) {
  const std::int64_t rows = Extent(random, large ? 4096 : 40),
                     columns = Extent(random, large ? 4096 : 300);
  return fmt::format("input X: {0}[{1},{2}]\noutput Y[i] = {3}[j](X[i,j])\n", type, rows, columns,
                     Coin(random) ? "sum" : "max");
}

std::string Pointwise(std::string_view type, bool large, Random& random) {
  const std::int64_t rows = Extent(random, large ? 4096 : 40),
                     columns = Extent(random, large ? 4096 : 120);
  return fmt::format(
      "input X: {0}[{1},{2}]\ninput Z: {0}[{2}]\noutput Y: {0}[i,j] = {0}(max(X[i,j], Z[j]))\n",
      type, rows, columns);
}

std::string Transpose(std::string_view type, bool large, Random& random) {
  const std::int64_t rows = Extent(random, large ? 4096 : 90),
                     columns = Extent(random, large ? 4096 : 90);
  return fmt::format("input X: {0}[{1},{2}]\noutput Y: {0}[j,i] = {0}(X[i,j] * 2)\n", type, rows,
                     columns);
}

std::string Pooling(std::string_view type, bool large, Random& random) {
  const std::int64_t channels = Extent(random, large ? 256 : 9),
                     side = Extent(random, large ? 56 : 12);
  return fmt::format(
      "input X: {0}[1,{1},{2},{2}]\n"
      "output Y[n,c,y={2},x={2}] = max[r=3,s=3](padded(X[n,c,y+r-1,x+s-1], {3}))\n",
      type, channels, side,
      type == "u8"          ? "u8(0)"
      : type == "f8e4m3"    ? "-448"
      : IsIntegerName(type) ? "-100"
                            : "-inf");
}

}  // namespace

bool CampaignForm::Takes(std::string_view type) const {
  const bool is_real = type != "bool" && type != "c64";
  if (types == "real") return is_real;
  if (types == "float") return is_real && !IsIntegerName(type);
  return types == "any" || types == type;
}

const std::vector<CampaignForm>& CampaignForms() {
  static const std::vector<CampaignForm> forms = [] {
    std::vector<CampaignForm> all = {
        {"contraction", "gemm", &Gemm},
        {"contraction", "batched", &Batched},
        {"contraction", "conv_nchw", &ConvolutionNchw},
        {"contraction", "conv_nhwc", &ConvolutionNhwc},
        {"contraction", "einsum", &Einsum},
        {"rows", "softmax", &Softmax, "float"},
        {"rows", "reduction", &Reduction},
        {"elementwise", "pointwise", &Pointwise},
        {"elementwise", "transpose", &Transpose},
        {"generic", "pooling", &Pooling},
        {"generic", "einsum", &Einsum},
    };
    all.insert(all.end(), MemoryBoundForms().begin(), MemoryBoundForms().end());
    all.insert(all.end(), OtherForms().begin(), OtherForms().end());
    return all;
  }();
  return forms;
}

}  // namespace kindred::bench
