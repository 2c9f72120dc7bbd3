// Windows and transforms of signals: Hann, Hamming and Blackman windows, mel weights, DFT, STFT. A
// transform is a product with a matrix of sines and cosines.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

constexpr std::int64_t kLargestTable = std::int64_t{1} << 22;

int KnownNumbers(OpContext& op, const std::string& name, DataType type, Shape shape,
                 std::vector<double> numbers) {
  const int id = op.Temp(name, type, shape);
  GraphValue& value = op.graph.values[static_cast<std::size_t>(id)];
  value.kind = ValueKind::kKnown;
  value.constant = std::make_shared<ConstantTensor>(
      ConstantTensor{type, std::move(shape), {}, std::move(numbers), false});
  return id;
}

double Rounded(double x, DataType type) {
  return type == DataType::kF64 ? x : ShortestDecimal(static_cast<float>(x));
}

struct Cosines {
  double constant, first, second;  // of 1, cos(t), cos(2t)
};

constexpr Cosines kHann = {0.5, -0.5, 0};
constexpr Cosines kHamming = {25.0 / 46, -21.0 / 46, 0};
constexpr Cosines kBlackman = {0.42, -0.5, 0.08};

template <const Cosines& kWindow>
Result<void> WindowOf(OpContext& op) {
  const bool periodic = op.Int("periodic", 1) != 0;
  const std::int64_t to = op.Int("output_datatype", 1);
  const auto type = FromOnnxType(static_cast<int>(to));
  KINDRED_TRY(const auto sizes, op.KnownInts(0, "size"));
  if (!type || !IsFloat(*type)) return Unsupported("a result of no floating type");
  if (sizes.size() != 1 || sizes[0] < 1 || sizes[0] > kLargestTable)
    return Unsupported("a size of " + ShapeText(sizes));
  const auto period = static_cast<double>(periodic ? sizes[0] : sizes[0] - 1);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    const double t = period > 0 ? 2 * std::numbers::pi * static_cast<double>(i) / period : 0;
    numbers.push_back(Rounded(
        kWindow.constant + kWindow.first * std::cos(t) + kWindow.second * std::cos(2 * t), *type));
  }
  op.Known(0, std::make_shared<ConstantTensor>(ConstantTensor{*type, sizes, {}, numbers, false}));
  return {};
}

// Triangles over the bins of a spectrum, of equal width in mels.
Result<void> MelWeights(OpContext& op) {
  constexpr double kMels = 2595, kHertz = 700;
  KINDRED_TRY(const auto bands, op.KnownInts(0, "number of bands"));
  KINDRED_TRY(const auto length, op.KnownInts(1, "length"));
  KINDRED_TRY(const auto rate, op.KnownInts(2, "sample rate"));
  KINDRED_TRY(const ConstantPtr low, op.Known(3, "lower edge"));
  KINDRED_TRY(const ConstantPtr high, op.Known(4, "upper edge"));
  const auto type = FromOnnxType(static_cast<int>(op.Int("output_datatype", 1)));
  if (!type || !IsFloat(*type)) return Unsupported("a result of no floating type");
  if (bands.size() != 1 || length.size() != 1 || rate.size() != 1 || bands[0] < 1 ||
      length[0] < 1 || rate[0] < 1 || low->elements() != 1 || high->elements() != 1)
    return Unsupported("parameters that are not single positive numbers");
  const std::int64_t bins = length[0] / 2 + 1;
  if (bins > kLargestTable || bands[0] > kLargestTable / bins)
    return Unsupported("so many weights");
  const auto mel = [&](double hertz) { return kMels * std::log10(1 + hertz / kHertz); };
  const double first = mel(low->Number(0));
  const double step = (mel(high->Number(0)) - first) / static_cast<double>(bands[0] + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands[0] + 2; ++i) {
    const double hertz =
        kHertz * (std::pow(10, (static_cast<double>(i) * step + first) / kMels) - 1);
    const double bin =
        std::floor(static_cast<double>(length[0] + 1) * hertz / static_cast<double>(rate[0]));
    if (!(bin >= 0 && bin < static_cast<double>(bins)))
      return Unsupported("a band outside the spectrum");
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  const Shape shape = {bins, bands[0]};
  std::vector<double> weights(static_cast<std::size_t>(ElementCount(shape)), 0);
  for (std::int64_t band = 0; band < bands[0]; ++band) {
    const auto i = static_cast<std::size_t>(band);
    const std::int64_t from = edges[i], middle = edges[i + 1], to = edges[i + 2];
    const auto weight = [&](std::int64_t bin) -> double& {
      return weights[static_cast<std::size_t>(bin * bands[0] + band)];
    };
    if (from == middle) weight(middle) = 1;
    for (std::int64_t bin = from; from < middle && bin <= middle; ++bin)
      weight(bin) =
          Rounded(static_cast<double>(bin - from) / static_cast<double>(middle - from), *type);
    for (std::int64_t bin = middle; bin < to; ++bin)
      weight(bin) =
          Rounded(static_cast<double>(to - bin) / static_cast<double>(to - middle), *type);
  }
  op.Known(0, std::make_shared<ConstantTensor>(ConstantTensor{*type, shape, {}, weights, false}));
  return {};
}

// What sample n's real (d 0) or imaginary part (d 1) adds to the parts c of bin k: [n, d, k, c].
std::vector<double> Twiddles(std::int64_t samples, std::int64_t parts, std::int64_t bins,
                             std::int64_t length, bool inverse, DataType type) {
  const double scale = inverse ? 1.0 / static_cast<double>(length) : 1;
  std::vector<double> table;
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t d = 0; d < parts; ++d)
      for (std::int64_t k = 0; k < bins; ++k) {
        const double t = 2 * std::numbers::pi * static_cast<double>(n * k % length) /
                         static_cast<double>(length) * (inverse ? 1 : -1);
        const double cosine = scale * std::cos(t), sine = scale * std::sin(t);
        table.push_back(Rounded(d == 0 ? cosine : -sine, type));
        table.push_back(Rounded(d == 0 ? sine : cosine, type));
      }
  return table;
}

Result<std::int64_t> KnownLength(OpContext& op, int input, const std::string& what) {
  KINDRED_TRY(const auto given, op.KnownInts(input, what));
  if (given.size() != 1 || given[0] < 1) return Unsupported("a " + what + " that is not positive");
  return given[0];
}

Result<void> CheckTable(std::int64_t length) {
  if (length > 1 << 20 || 4 * length * length > kLargestTable)
    return Unsupported(
        fmt::format("a transform of {} samples, too long for a product with a matrix", length));
  return {};
}

Result<void> Dft(OpContext& op) {
  const Shape in = op.InShape(0);
  const bool inverse = op.Int("inverse", 0) != 0, onesided = op.Int("onesided", 0) != 0;
  std::int64_t axis = op.opset() < 20 ? op.Int("axis", 1) : -2;
  if (op.opset() >= 20 && op.Has(2)) {
    KINDRED_TRY(const auto given, op.KnownInts(2, "axis"));
    if (given.size() != 1) return Unsupported("axes " + ShapeText(given));
    axis = given[0];
  }
  KINDRED_TRY(axis, NormaliseAxis(op, axis, in.size()));
  const auto along = static_cast<std::size_t>(axis);
  if (in.size() < 2 || along + 1 >= in.size() || in.back() < 1 || in.back() > 2)
    return Unsupported("a signal of shape " + ShapeText(in));
  if (onesided && (inverse || in.back() != 1)) return Unsupported("half of a complex spectrum");
  std::int64_t length = in[along];
  if (op.Has(1)) {
    KINDRED_TRY(length, KnownLength(op, 1, "length"));
  }
  KINDRED_CHECK(CheckTable(std::max(length, in[along])));
  const std::int64_t bins = onesided ? length / 2 + 1 : length;
  const std::int64_t samples = std::min(length, in[along]), parts = in.back();
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  if (!IsFloat(type)) return Unsupported("integers");
  const int table = KnownNumbers(op, "twiddles", wide, {samples, parts, bins, 2},
                                 Twiddles(samples, parts, bins, length, inverse, wide));
  Shape shape = in;
  shape[along] = bins;
  shape.back() = 2;
  Stage stage = MakeStage(op.Out(0, type, shape), shape);
  AddReductionAxis(stage, "r", samples);
  AddReductionAxis(stage, "s", parts);
  const Exprs axes = AxesOf(stage);
  const ExprPtr sample = axes[axes.size() - 2], part = axes.back();
  Exprs at(axes.begin(), axes.end() - 2);
  const ExprPtr bin = at[along], made = at.back();
  at[along] = sample;
  at.back() = part;
  stage.body = CastExpr(wide, op.Load(op.In(0), std::move(at))) *
               LoadExpr(table, {sample, part, bin, made}, wide);
  SetReduction(stage, Combiner::kSum, wide);
  op.kind = UnitKind::kContraction;
  op.Emit(std::move(stage));
  return {};
}

// Transforms of frames that overlap, each weighed with a window.
Result<void> Stft(OpContext& op) {
  Shape in = op.InShape(0);
  const bool onesided = op.Int("onesided", 1) != 0;
  if (in.size() == 2) in.push_back(1);
  if (in.size() != 3 || in[2] < 1 || in[2] > 2)
    return Unsupported("a signal of shape " + ShapeText(in));
  KINDRED_TRY(const std::int64_t step, KnownLength(op, 1, "frame step"));
  std::int64_t length = op.Has(2) && op.InShape(2).size() == 1 ? op.InShape(2)[0] : 0;
  if (op.Has(3)) {
    KINDRED_TRY(length, KnownLength(op, 3, "frame length"));
  }
  KINDRED_CHECK(CheckTable(length));
  if (length < 1 || length > in[1]) return Unsupported("frames longer than the signal");
  KINDRED_CHECK(CheckShape(op, 2, {length}));
  if (onesided && in[2] != 1) return Unsupported("half of a complex spectrum");
  const std::int64_t bins = onesided ? length / 2 + 1 : length;
  const std::int64_t frames = (in[1] - length) / step + 1;
  const DataType type = op.InValue(0).type, wide = DefaultAccumulator(type);
  if (!IsFloat(type)) return Unsupported("integers");
  const Shape tabled = {length, in[2], bins, 2};
  int table = KnownNumbers(op, "twiddles", wide, tabled,
                           Twiddles(length, in[2], bins, length, false, wide));
  if (op.Has(2)) {
    const int weighed = op.Temp("weighed", wide, tabled);
    Stage weighs = MakeStage(weighed, tabled);
    const Exprs axes = AxesOf(weighs);
    weighs.body = LoadExpr(table, axes, wide) * op.Load(op.In(2), {axes[0]});
    op.Emit(std::move(weighs));
    op.NewUnit();
    table = weighed;
  }
  const int signal = op.ViewOf(op.In(0), in);
  const Shape shape = {in[0], frames, bins, 2};
  Stage stage = MakeStage(op.Out(0, type, shape), shape, "bfkc");
  AddReductionAxis(stage, "r", length);
  AddReductionAxis(stage, "s", in[2]);
  const Exprs a = AxesOf(stage);
  stage.body = CastExpr(wide, op.Load(signal, {a[0], a[1] * step + a[4], a[5]})) *
               op.Load(table, {a[4], a[5], a[2], a[3]});
  SetReduction(stage, Combiner::kSum, wide);
  op.kind = UnitKind::kContraction;
  op.Emit(std::move(stage));
  return {};
}

}  // namespace

void AddSignalOps(LoweringTable& table) {
  table["BlackmanWindow"] = WindowOf<kBlackman>;
  table["DFT"] = Dft;
  table["HammingWindow"] = WindowOf<kHamming>;
  table["HannWindow"] = WindowOf<kHann>;
  table["MelWeightMatrix"] = MelWeights;
  table["STFT"] = Stft;
}

}  // namespace kindred
