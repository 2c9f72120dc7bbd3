#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "tests/bench/peers/contestant.h"

namespace kindred {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111;

struct Product {
  Floats a, b, bias, c;
};

Floats Copy(const Arrays& arrays, std::string_view name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) return Floats();
  Floats copy(found->second.size());
  std::memcpy(copy.data(), found->second.data(),
              static_cast<std::size_t>(copy.size()) * sizeof(float));
  return copy;
}

// SciPy's packages rename every symbol of the library they carry.
void* Symbol(void* library, const std::string& name) {
  if (void* plain = dlsym(library, name.c_str())) return plain;
  return dlsym(library, ("scipy_" + name).c_str());
}

}  // namespace

OpenBlas::OpenBlas(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(std::string("cannot open OpenBLAS: ") + dlerror());
  gemm_ = reinterpret_cast<Gemm>(Symbol(library, "cblas_sgemm"));
  const auto config = reinterpret_cast<const char* (*)()>(Symbol(library, "openblas_get_config"));
  const auto core = reinterpret_cast<const char* (*)()>(Symbol(library, "openblas_get_corename"));
  const auto threads = reinterpret_cast<void (*)(int)>(Symbol(library, "openblas_set_num_threads"));
  if (gemm_ == nullptr || config == nullptr || core == nullptr || threads == nullptr) {
    throw std::runtime_error(path +
                             " has no cblas_sgemm, openblas_get_config, openblas_get_corename or "
                             "openblas_set_num_threads: is it an OpenBLAS with CBLAS?");
  }
  threads(1);
  version_ = std::string(config()) + ", runs as " + core();
}

std::string OpenBlas::Version() const { return version_; }

std::vector<Contestant> OpenBlas::Contestants(const Subgraph& g, const Arrays& arrays) const {
  // A pointwise convolution is W[filters, channels] times X[channels, pixels].
  const bool pointwise = g.kind == SubgraphKind::kConvolution && g.kernel == 1 && g.stride == 1 &&
                         g.pad == 0 && g.groups == 1 && g.epilogue == Epilogue::kNone;
  if (g.kind != SubgraphKind::kMatmul && !pointwise) return {};
  const int m = static_cast<int>(pointwise ? g.filters : g.m);
  const int n = static_cast<int>(pointwise ? g.size * g.size : g.n);
  const int k = static_cast<int>(pointwise ? g.channels : g.k);
  const std::int64_t batch = g.batch;

  const auto product = std::make_shared<Product>();
  product->a = Copy(arrays, pointwise ? g.Right() : g.Left());
  product->b = Copy(arrays, pointwise ? g.Left() : g.Right());
  product->bias = Copy(arrays, "b");
  product->c = Floats(g.OutputElements());
  const auto multiply = [product, gemm = gemm_, batch, m, n, k] {
    const std::int64_t a_size = std::int64_t{m} * k, b_size = std::int64_t{k} * n,
                       c_size = std::int64_t{m} * n;
    for (std::int64_t i = 0; i < batch; ++i) {
      gemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1.0F, product->a.data() + i * a_size, k,
           product->b.data() + i * b_size, n, 0.0F, product->c.data() + i * c_size, n);
    }
  };
  const auto output = [product] {
    Floats copy(product->c.size());
    std::memcpy(copy.data(), product->c.data(),
                static_cast<std::size_t>(copy.size()) * sizeof(float));
    return copy;
  };

  if (g.epilogue == Epilogue::kNone) return {{"openblas", "cblas_sgemm", true, multiply, output}};
  const auto finish = g.epilogue == Epilogue::kBiasGelu ? BiasGelu : BiasRelu;
  const auto all = [product, multiply, finish, m, n] {
    multiply();
    finish(product->c.data(), product->bias.data(), m, n);
  };
  return {{"openblas", "cblas_sgemm and a loop", true, all, output},
          {"openblas_gemm_only", "cblas_sgemm", false, multiply, output}};
}

}  // namespace kindred
