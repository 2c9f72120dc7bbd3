#include "tests/bench/peers/subgraph.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <random>

namespace kindred {
namespace {

constexpr double kLayerNormEpsilon = 1e-5;

double Finish(const Subgraph& subgraph, double sum, double bias) {
  switch (subgraph.epilogue) {
    case Epilogue::kNone: return sum;
    case Epilogue::kBiasRelu: return std::max(sum + bias, 0.0);
    case Epilogue::kBiasGelu:
      return 0.5 * (sum + bias) * (1 + std::erf((sum + bias) * std::sqrt(0.5)));
    case Epilogue::kBiasRelu6: return std::clamp(sum + bias, 0.0, 6.0);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void MatmulReference(const Subgraph& g, const Arrays& arrays, float* out) {
  const float* a = arrays.find(g.Left())->second.data();
  const float* b = arrays.find(g.Right())->second.data();
  const float* bias = g.epilogue == Epilogue::kNone ? nullptr : arrays.find("b")->second.data();
  std::vector<double> row(static_cast<std::size_t>(g.n));
  for (std::int64_t i = 0; i < g.batch * g.m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::int64_t k = 0; k < g.k; ++k) {
      const double left = a[i * g.k + k];
      const float* right = b + (i / g.m * g.k + k) * g.n;
      for (std::int64_t j = 0; j < g.n; ++j) row[static_cast<std::size_t>(j)] += left * right[j];
    }
    for (std::int64_t j = 0; j < g.n; ++j) {
      const double sum = row[static_cast<std::size_t>(j)];
      out[i * g.n + j] = static_cast<float>(Finish(g, sum, bias != nullptr ? bias[j] : 0));
    }
  }
}

void ConvolutionReference(const Subgraph& g, const Arrays& arrays, float* out) {
  const float* image = arrays.find("X")->second.data();
  const float* weights = arrays.find("W")->second.data();
  const float* bias = g.epilogue == Epilogue::kNone ? nullptr : arrays.find("b")->second.data();
  const std::int64_t size = g.OutputSize(), depth = g.channels / g.groups;
  std::vector<double> plane(static_cast<std::size_t>(size * size));
  for (std::int64_t o = 0; o < g.filters; ++o) {
    std::fill(plane.begin(), plane.end(), 0.0);
    const std::int64_t first = o / (g.filters / g.groups) * depth;
    for (std::int64_t tap = 0; tap < depth * g.kernel * g.kernel; ++tap) {
      const std::int64_t c = tap / (g.kernel * g.kernel);
      const std::int64_t r = tap / g.kernel % g.kernel, s = tap % g.kernel;
      const double weight = weights[o * depth * g.kernel * g.kernel + tap];
      for (std::int64_t y = 0; y < size; ++y) {
        const std::int64_t row = y * g.stride + r - g.pad;
        if (row < 0 || row >= g.size) continue;
        for (std::int64_t x = 0; x < size; ++x) {
          const std::int64_t column = x * g.stride + s - g.pad;
          if (column < 0 || column >= g.size) continue;
          plane[static_cast<std::size_t>(y * size + x)] +=
              weight * image[((first + c) * g.size + row) * g.size + column];
        }
      }
    }
    for (std::int64_t i = 0; i < size * size; ++i) {
      out[o * size * size + i] = static_cast<float>(
          Finish(g, plane[static_cast<std::size_t>(i)], bias != nullptr ? bias[o] : 0));
    }
  }
}

void SoftmaxReference(const Subgraph& g, const Arrays& arrays, float* out) {
  const float* in = arrays.find("X")->second.data();
  for (std::int64_t i = 0; i < g.batch * g.m; ++i, in += g.n, out += g.n) {
    const double largest = *std::max_element(in, in + g.n);
    double sum = 0;
    for (std::int64_t j = 0; j < g.n; ++j) sum += std::exp(in[j] - largest);
    for (std::int64_t j = 0; j < g.n; ++j) {
      out[j] = static_cast<float>(std::exp(in[j] - largest) / sum);
    }
  }
}

void LayerNormReference(const Subgraph& g, const Arrays& arrays, float* out) {
  const float* in = arrays.find("X")->second.data();
  const float* scale = arrays.find("g")->second.data();
  const float* shift = arrays.find("b")->second.data();
  for (std::int64_t i = 0; i < g.m; ++i, in += g.n, out += g.n) {
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < g.n; ++j) mean += in[j];
    mean /= static_cast<double>(g.n);
    for (std::int64_t j = 0; j < g.n; ++j) variance += (in[j] - mean) * (in[j] - mean);
    const double root = std::sqrt(variance / static_cast<double>(g.n) + kLayerNormEpsilon);
    for (std::int64_t j = 0; j < g.n; ++j) {
      out[j] = static_cast<float>((in[j] - mean) / root * scale[j] + shift[j]);
    }
  }
}

Floats Random(std::int64_t size, double scale, std::mt19937& generator) {
  Floats values(size);
  std::uniform_real_distribution<double> uniform(-scale, scale);
  for (std::int64_t i = 0; i < size; ++i) {
    values.data()[i] = static_cast<float>(uniform(generator));
  }
  return values;
}

}  // namespace

std::int64_t Subgraph::OutputElements() const {
  if (kind == SubgraphKind::kConvolution) return filters * OutputSize() * OutputSize();
  return batch * m * n;
}

const std::vector<Subgraph>& Subgraphs() {
  using enum SubgraphKind;
  using enum Epilogue;
  static const std::vector<Subgraph> kAll = {
      {.name = "01_matmul512_bias_relu", .epilogue = kBiasRelu, .m = 512, .n = 512, .k = 512},
      {.name = "02_ffn128x768x3072_bias_gelu",
       .epilogue = kBiasGelu,
       .m = 128,
       .n = 3072,
       .k = 768},
      {.name = "03_bmm12x128x64x128", .batch = 12, .m = 128, .n = 128, .k = 64},
      {.name = "04_conv64_56_3x3_bias_relu",
       .kind = kConvolution,
       .epilogue = kBiasRelu,
       .channels = 64,
       .size = 56,
       .filters = 64,
       .kernel = 3,
       .pad = 1},
      {.name = "05_conv256_14_3x3_bias_relu",
       .kind = kConvolution,
       .epilogue = kBiasRelu,
       .channels = 256,
       .size = 14,
       .filters = 256,
       .kernel = 3,
       .pad = 1},
      {.name = "06_conv3_224_7x7s2",
       .kind = kConvolution,
       .channels = 3,
       .size = 224,
       .filters = 64,
       .kernel = 7,
       .stride = 2,
       .pad = 3},
      {.name = "07_dwconv144_56_bias_relu6",
       .kind = kConvolution,
       .epilogue = kBiasRelu6,
       .channels = 144,
       .size = 56,
       .filters = 144,
       .kernel = 3,
       .pad = 1,
       .groups = 144},
      {.name = "08_conv1x1_576_14_96",
       .kind = kConvolution,
       .channels = 576,
       .size = 14,
       .filters = 96,
       .kernel = 1},
      {.name = "09_softmax12x128x128", .kind = kSoftmax, .batch = 12, .m = 128, .n = 128},
      {.name = "10_layernorm128x768", .kind = kLayerNorm, .m = 128, .n = 768},
  };
  return kAll;
}

Floats::Floats(std::int64_t size) : size_(size) {
  if (size == 0) return;
  const std::size_t bytes = (static_cast<std::size_t>(size) * sizeof(float) + 63) / 64 * 64;
  data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
  if (data_ == nullptr) throw std::bad_alloc();
  std::fill_n(data_.get(), size, 0.0F);
}

void Floats::Free::operator()(float* data) const { std::free(data); }

Arrays MakeArrays(const Subgraph& g) {
  std::mt19937 generator(1234);
  Arrays arrays;
  const auto add = [&](std::string_view name, std::int64_t size, double scale) {
    arrays.emplace(name, Random(size, scale, generator));
  };
  switch (g.kind) {
    case SubgraphKind::kMatmul:
      add(g.Left(), g.batch * g.m * g.k, 1);
      add(g.Right(), g.batch * g.k * g.n, 1 / std::sqrt(static_cast<double>(g.k)));
      break;
    case SubgraphKind::kConvolution: {
      const std::int64_t taps = g.channels / g.groups * g.kernel * g.kernel;
      add("X", g.channels * g.size * g.size, 1);
      add("W", g.filters * taps, 1 / std::sqrt(static_cast<double>(taps)));
      break;
    }
    case SubgraphKind::kSoftmax: add("X", g.batch * g.m * g.n, 1); break;
    case SubgraphKind::kLayerNorm:
      add("X", g.m * g.n, 1);
      add("g", g.n, 1);
      add("b", g.n, 1);
      break;
  }
  if (g.epilogue != Epilogue::kNone) {
    add("b", g.kind == SubgraphKind::kConvolution ? g.filters : g.n, 1);
  }
  return arrays;
}

Floats Reference(const Subgraph& g, const Arrays& arrays) {
  Floats out(g.OutputElements());
  switch (g.kind) {
    case SubgraphKind::kMatmul: MatmulReference(g, arrays, out.data()); break;
    case SubgraphKind::kConvolution: ConvolutionReference(g, arrays, out.data()); break;
    case SubgraphKind::kSoftmax: SoftmaxReference(g, arrays, out.data()); break;
    case SubgraphKind::kLayerNorm: LayerNormReference(g, arrays, out.data()); break;
  }
  return out;
}

}  // namespace kindred
