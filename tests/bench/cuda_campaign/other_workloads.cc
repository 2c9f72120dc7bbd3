// Workloads over complex numbers and booleans: what real numbers' forms do not say.
#include <fmt/format.h>

#include "tests/bench/cuda_campaign/campaign_workloads.h"

namespace kindred::bench {
namespace {

std::int64_t Extent(Random& random, std::int64_t most) {
  constexpr std::int64_t kSome[] = {1, 3, 8, 16, 17, 32, 33, 64, 65, 100, 128, 1000, 1025};
  std::int64_t extent = most + 1;
  while (extent > most) extent = kSome[random.Below(std::size(kSome))];
  return extent;
}

std::string ComplexPointwise(std::string_view, bool large, Random& random) {
  return fmt::format(
      "input A: c64[{0},{1}]\ninput B: c64[{0},{1}]\ninput s: f32[{1}]\n"
      "output Y[i,j] = A[i,j] * conj(B[i,j]) + s[j] * A[i,j]\noutput Z[i,j] = abs(B[i,j])\n",
      Extent(random, large ? 1025 : 17), Extent(random, large ? 1025 : 100));
}

std::string ComplexTranspose(std::string_view, bool large, Random& random) {
  return fmt::format("input X: c64[{0},{1}]\noutput Y[j,i] = conj(X[i,j])\n",
                     Extent(random, large ? 1025 : 65), Extent(random, large ? 1025 : 65));
}

std::string ComplexRows(std::string_view, bool large, Random& random) {
  const std::int64_t rows = Extent(random, large ? 1025 : 17),
                     columns = Extent(random, large ? 1025 : 1000);
  if (random.Below(2) == 0)
    return fmt::format("input X: c64[{},{}]\noutput Y[i] = sum[j](X[i,j])\n", rows, columns);
  return fmt::format(
      "input X: c64[{0},{1}]\nN[i] = sum[j](real(X[i,j] * conj(X[i,j])))\n"
      "output Y[i,j] = X[i,j] / sqrt(N[i] + 1)\n",
      rows, columns);
}

std::string ComplexProduct(std::string_view, bool large, Random& random) {
  const std::int64_t most = large ? 128 : 33;
  return fmt::format(
      "input A: c64[{0},{1}]\ninput B: c64[{1},{2}]\n"
      "output C[i,j] = sum[k](A[i,k] * conj(B[k,j]))\n",
      Extent(random, most), Extent(random, most), Extent(random, most));
}

std::string Logic(std::string_view, bool large, Random& random) {
  return fmt::format(
      "input M: bool[{0},{1}]\ninput N: bool[{1}]\ninput X: f32[{0},{1}]\n"
      "output Y[i,j] = select(M[i,j], X[i,j], 0)\noutput Z: bool[i,j] = X[i,j] > 0 and (M[i,j] or "
      "not N[j])\n",
      Extent(random, large ? 1025 : 17), Extent(random, large ? 1025 : 100));
}

}  // namespace

const std::vector<CampaignForm>& OtherForms() {
  static const std::vector<CampaignForm> forms = {
      {"elementwise", "complex_pointwise", &ComplexPointwise, "c64"},
      {"elementwise", "complex_transpose", &ComplexTranspose, "c64"},
      {"rows", "complex_rows", &ComplexRows, "c64"},
      {"generic", "complex_product", &ComplexProduct, "c64"},
      {"elementwise", "logic", &Logic, "bool"},
      {"generic", "logic", &Logic, "bool"},
  };
  return forms;
}

}  // namespace kindred::bench
