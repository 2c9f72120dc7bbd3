// The ten subgraphs of the comparison with expert libraries, and their data.
//
// The same shapes and names stand in workloads/NN.kd; every contestant gets the same numbers in
// row-major order (NCHW for convolutions) under those names, and may lay out weights for itself
// ahead of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kindred {

enum class SubgraphKind : std::uint8_t { kMatmul, kConvolution, kSoftmax, kLayerNorm };
enum class Epilogue : std::uint8_t { kNone, kBiasRelu, kBiasGelu, kBiasRelu6 };

struct Subgraph {
  std::string_view name;
  SubgraphKind kind = SubgraphKind::kMatmul;
  Epilogue epilogue = Epilogue::kNone;
  // kMatmul: `batch` products of [m,k] and [k,n]; kSoftmax: batch*m rows of n; kLayerNorm: m rows
  // of n.
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  // kConvolution: one image of `channels` x size x size.
  std::int64_t channels = 0, size = 0, filters = 0, kernel = 0, stride = 1, pad = 0, groups = 1;

  std::int64_t OutputSize() const { return (size + 2 * pad - kernel) / stride + 1; }
  std::int64_t OutputElements() const;
  // Names as in the .kd file: X and W, or A and B where both operands are activations.
  std::string_view Left() const { return batch > 1 && kind == SubgraphKind::kMatmul ? "A" : "X"; }
  std::string_view Right() const { return batch > 1 && kind == SubgraphKind::kMatmul ? "B" : "W"; }
};

const std::vector<Subgraph>& Subgraphs();

// Floats on a cache line boundary. Moves, does not copy.
class Floats {
 public:
  explicit Floats(std::int64_t size = 0);
  float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float, Free> data_;
  std::int64_t size_ = 0;
};

// Inputs and weights by name: uniform in [-1, 1), weights scaled by 1/sqrt(length of the
// reduction).
using Arrays = std::map<std::string, Floats, std::less<>>;
Arrays MakeArrays(const Subgraph& subgraph);

// The result in double precision by plain loops, rounded to float at the end.
Floats Reference(const Subgraph& subgraph, const Arrays& arrays);

}  // namespace kindred
