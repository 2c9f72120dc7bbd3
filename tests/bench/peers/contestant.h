// Contestants of the comparison: something that computes a subgraph, ready to be run and timed.
//
// Making one does all that happens once (weights laid out, primitives created); `run` is what is
// timed. A contestant owns its memory. Everything here runs on one thread. Exceptions (the
// libraries' own, and std::runtime_error with a message for a person) end the program in main.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/bench/peers/subgraph.h"

namespace kindred {

struct Contestant {
  std::string
      name;  // "onednn_plain", "onednn_any", "openblas", "openblas_gemm_only", "kindred", ...
  std::string detail;  // implementation as the library names it
  bool whole = true;   // computes the epilogue as well, so that its output can be checked
  std::function<void()> run;
  std::function<Floats()> output;  // after a run, in row-major order
};

std::string OneDnnVersion();

// onednn_plain: activations row-major (NCHW), weights in the layout oneDNN asks for, reordered
// ahead of time; onednn_any: activations of convolutions in oneDNN's own layout as well.
std::vector<Contestant> OneDnnContestants(const Subgraph& subgraph, const Arrays& arrays);

class OpenBlas {
 public:
  // `path` of a libopenblas.so, with or without the prefix that SciPy's packages give to its
  // symbols.
  explicit OpenBlas(const std::string& path);
  // Version and the core type that it chose.
  std::string Version() const;
  // openblas (with our epilogue loop) and openblas_gemm_only, for subgraphs that are one product;
  // none for others.
  std::vector<Contestant> Contestants(const Subgraph& subgraph, const Arrays& arrays) const;

 private:
  using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                        float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                        float* c, int ldc);
  Gemm gemm_ = nullptr;
  std::string version_;
};

// In place, rows x columns: x = relu(x + bias[column]) or erf-Gelu of it.
void BiasRelu(float* x, const float* bias, std::int64_t rows, std::int64_t columns);
void BiasGelu(float* x, const float* bias, std::int64_t rows, std::int64_t columns);

// A kernel package's steps in a shared library, described by a manifest of lines, `library` before
// its entries:
//   name NAME | library PATH | prepare ENTRY | step ENTRY | workspace BYTES |
//   buffer read|write|prepared NAME ELEMENTS
// Buffers in the order of the entries' arguments; a prepared buffer is filled by the prepare entry,
// once.
Contestant KernelContestant(const std::string& manifest_path, const Subgraph& subgraph,
                            const Arrays& arrays);

}  // namespace kindred
