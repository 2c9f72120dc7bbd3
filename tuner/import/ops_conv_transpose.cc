// ConvTranspose as ordinary convolutions, one for each of few phases of the output.
//
// Along one dimension with stride s, dilation d and padding b before, output y gets input i through
// tap r where y + b = s i + d r. Outputs of one phase, y = s q + p with fixed p, use the same taps
// r, those with p + b - d r = 0 (mod s), and read i = q + (p + b - d r) / s: a convolution of
// stride 1 with a part of the weight, taps in reverse order. Neighbouring phases that read the same
// inputs are further output channels of one convolution: a 2x2 kernel with stride 2 is a single
// matrix product. The parts of the weight are cut out ahead of time; what the convolutions make is
// put in its place by one pass, which also adds the bias. Nothing is multiplied by an inserted
// zero.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

constexpr const char* kPlaces[] = {"x", "yx", "zyx"};
constexpr const char* kTaps[] = {"s", "rs", "qrs"};

struct Geometry {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0;
};

// Phases [first, first + count) of one dimension, all with `taps` taps. Tap t of phase first + p
// is r = top + p - step t, and reads input q + shift + spread t. taps 0: nothing falls there.
struct Phases {
  std::int64_t first = 0, count = 1;
  std::int64_t taps = 0, top = 0, step = 1, shift = 0, spread = 1;
};

Phases PhaseOf(const Geometry& g, std::int64_t phase) {
  const std::int64_t common = std::gcd(g.stride, g.dilation);
  Phases run;
  run.first = phase;
  run.step = g.stride / common;
  run.spread = g.dilation / common;
  for (std::int64_t r = 0; r < g.kernel; ++r) {
    const std::int64_t at = phase + g.before - g.dilation * r;
    if (at % g.stride != 0) continue;
    ++run.taps;
    run.top = r;
    run.shift = at / g.stride;
  }
  return run;
}

std::vector<Phases> RunsOf(const Geometry& g, bool apart) {
  std::vector<Phases> runs;
  for (std::int64_t phase = 0; phase < g.stride; ++phase) {
    const Phases next = PhaseOf(g, phase);
    Phases* last = runs.empty() ? nullptr : &runs.back();
    if (!apart && last != nullptr && next.taps == last->taps &&
        (next.taps == 0 || (next.shift == last->shift && next.top == last->top + last->count))) {
      ++last->count;
    } else {
      runs.push_back(next);
    }
  }
  return runs;
}

struct Form {
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  // channels per group
  std::vector<Geometry> dims;
  bool depthwise() const { return in == 1 && out == 1 && groups > 1; }
  bool grouped() const { return groups > 1 && !depthwise(); }
};

Result<Form> ReadForm(OpContext& op, const Shape& x, const Shape& w) {
  Form form;
  form.groups = op.Int("group", 1);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size())
    return Unsupported(
        fmt::format("an input of shape {} with a weight of shape {}", ShapeText(x), ShapeText(w)));
  if (form.groups < 1 || x[1] != w[0] || w[0] % form.groups != 0)
    return BadInput(fmt::format("{}: {}: input {}, weight {} and group {} do not fit together",
                                op.model.path, op.node.Label(), ShapeText(x), ShapeText(w),
                                form.groups));
  form.batch = x[0];
  form.in = w[0] / form.groups;
  form.out = w[1];
  const std::size_t rank = x.size() - 2;
  const Shape kernel(w.begin() + 2, w.end());
  const Shape given = op.Ints("kernel_shape").value_or(kernel);
  const Shape strides = op.Ints("strides").value_or(Shape(rank, 1));
  const Shape dilations = op.Ints("dilations").value_or(Shape(rank, 1));
  const Shape pads = op.Ints("pads").value_or(Shape(2 * rank, 0));
  const Shape more = op.Ints("output_padding").value_or(Shape(rank, 0));
  const auto wanted = op.Ints("output_shape");
  const std::string automatic = op.Text("auto_pad", "NOTSET");
  bool fits = given == kernel && strides.size() == rank && dilations.size() == rank &&
              pads.size() == 2 * rank && more.size() == rank &&
              (!wanted || wanted->size() == rank || wanted->size() == rank + 2);
  constexpr std::int64_t kMost = 1 << 20;
  for (std::size_t d = 0; fits && d < rank; ++d)
    fits = kernel[d] > 0 && strides[d] > 0 && dilations[d] > 0 && more[d] >= 0 && pads[d] >= 0 &&
           pads[rank + d] >= 0 &&
           std::max({strides[d], dilations[d], more[d], pads[d], pads[rank + d]}) < kMost;
  if (!fits)
    return BadInput(fmt::format(
        "{}: {}: kernel, strides, dilations, pads, output_padding or output_shape do not fit {} "
        "spatial dimensions",
        op.model.path, op.node.Label(), rank));
  for (std::size_t d = 0; d < rank; ++d) {
    Geometry g{x[2 + d], 1, kernel[d], strides[d], dilations[d], pads[d]};
    const std::int64_t whole = g.stride * (g.in - 1) + more[d] + (g.kernel - 1) * g.dilation + 1;
    g.out = whole - pads[d] - pads[rank + d];
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (wanted || same) {
      g.out = wanted ? (*wanted)[wanted->size() - rank + d] : g.in * g.stride;
      const std::int64_t total = std::max<std::int64_t>(0, whole - g.out);
      g.before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else if (automatic == "VALID") {
      g.out = whole;
      g.before = 0;
    }
    if (g.out < 1)
      return BadInput(fmt::format("{}: {} would have an output of extent {}", op.model.path,
                                  op.node.Label(), g.out));
    form.dims.push_back(g);
  }
  return form;
}

Shape Join(Shape head, const Shape& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

class Emitter {
 public:
  Emitter(OpContext& op, const Form& form, int x, int w)
      : op_(op), form_(form), rank_(form.dims.size()), x_(x) {
    const auto value = [&](int id) { return op.graph.values[static_cast<std::size_t>(id)]; };
    type_ = value(x).type;
    Shape image, taps;
    for (const Geometry& g : form.dims) {
      image.push_back(g.in);
      taps.push_back(g.kernel);
      steps_.push_back((g.out + g.stride - 1) / g.stride);
      single_ = single_ && g.stride == 1;
    }
    if (form.grouped()) x_ = op.ViewOf(x, Join({form.batch, form.groups, form.in}, image));
    w_ = op.ViewOf(w, Join({form.groups, form.in, form.out}, taps));
  }

  void Run(int b) {
    if (single_) return Convolve(b);
    std::vector<std::vector<Phases>> runs;
    for (const Geometry& g : form_.dims) runs.push_back(RunsOf(g, form_.depthwise()));
    Interleave(runs, b);
  }

 private:
  // The channels' dimensions of the output: [groups, out per group], or one of them.
  Shape Channels() const {
    return form_.grouped() ? Shape{form_.groups, form_.out}
                           : Shape{form_.depthwise() ? form_.groups : form_.out};
  }

  std::string Names() const { return form_.grouped() ? "ngo" : form_.depthwise() ? "nc" : "no"; }

  // The part of the weight that the phases of `runs` use, as a convolution reads it: [groups,
  // phases and channels out, channels in, taps].
  int CutWeight(const std::vector<Phases>& runs) {
    Shape phases, taps;
    for (const Phases& run : runs) {
      phases.push_back(run.count);
      taps.push_back(run.taps);
    }
    const Shape shape = Join(Join(Join({form_.groups}, phases), {form_.out, form_.in}), taps);
    const int part = op_.Temp(fmt::format("weight{}", parts_), type_, shape);
    Stage stage = MakeStage(part, shape);
    const Exprs at = AxesOf(stage);
    Exprs from = {at[0], at[rank_ + 2], at[rank_ + 1]};
    for (std::size_t d = 0; d < rank_; ++d)
      from.push_back(at[1 + d] + at[rank_ + 3 + d] * -runs[d].step + runs[d].top);
    stage.body = op_.Load(w_, std::move(from));
    op_.kind = UnitKind::kMovement;
    op_.NewUnit();
    op_.Emit(std::move(stage));
    const std::int64_t out = ElementCount(phases) * form_.out;
    if (form_.depthwise()) return op_.ViewOf(part, Join({form_.groups}, taps));
    if (form_.grouped()) return op_.ViewOf(part, Join({form_.groups, out, form_.in}, taps));
    return op_.ViewOf(part, Join({out, form_.in}, taps));
  }

  // target = the convolution of all phases of `runs`, [n, (g,) phases and channels, steps].
  void EmitPart(const std::vector<Phases>& runs, int target) {
    const int weight = CutWeight(runs);
    const Shape shape = op_.graph.values[static_cast<std::size_t>(target)].shape;
    Stage stage = MakeStage(target, shape, Names() + kPlaces[rank_ - 1]);
    const std::size_t head = shape.size() - rank_;
    if (!form_.depthwise()) AddReductionAxis(stage, form_.grouped() ? "ci" : "c", form_.in);
    for (std::size_t d = 0; d < rank_; ++d)
      AddReductionAxis(stage, std::string(1, kTaps[rank_ - 1][d]), runs[d].taps);
    const Exprs axes = AxesOf(stage);
    Exprs at(axes.begin(), axes.begin() + 1), by;
    if (form_.grouped() || form_.depthwise()) {
      at.push_back(axes[1]);
      by.push_back(axes[1]);
    }
    if (!form_.depthwise()) {
      by.push_back(axes[head - 1]);
      at.push_back(axes[shape.size()]);
      by.push_back(axes[shape.size()]);
    }
    bool leaves = false;
    for (std::size_t d = 0; d < rank_; ++d) {
      const ExprPtr tap = axes[axes.size() - rank_ + d];
      at.push_back(axes[head + d] + tap * runs[d].spread + runs[d].shift);
      by.push_back(tap);
      leaves |=
          runs[d].shift < 0 ||
          steps_[d] - 1 + (runs[d].taps - 1) * runs[d].spread + runs[d].shift >= form_.dims[d].in;
    }
    ExprPtr pixel = LoadExpr(x_, std::move(at), type_);
    if (leaves) pixel = PaddedExpr(std::move(pixel), Literal(0, type_));
    stage.body = pixel * LoadExpr(weight, std::move(by), type_);
    SetReduction(stage, Combiner::kSum, DefaultAccumulator(type_));
    op_.kind = UnitKind::kContraction;
    op_.NewUnit();
    op_.Emit(std::move(stage));
  }

  int BiasOf(int b) { return b >= 0 && form_.grouped() ? op_.ViewOf(b, Channels()) : b; }

  // Stride 1: one convolution, its bias behind it.
  void Convolve(int b) {
    std::vector<Phases> runs;
    for (const Geometry& g : form_.dims) runs.push_back(PhaseOf(g, 0));
    const Shape places = Join(Join({form_.batch}, Channels()), steps_);
    const Shape whole = Join({form_.batch, form_.groups * form_.out}, steps_);
    const bool view = form_.grouped();
    const int out = op_.Out(0, type_, whole);
    const int result = view ? op_.Temp("groups", type_, places) : out;
    const int sum = b >= 0 ? op_.Temp("sum", DefaultAccumulator(type_), places) : result;
    EmitPart(runs, sum);
    if (b >= 0) {
      b = BiasOf(b);
      Stage stage = MakeStage(result, places, Names() + kPlaces[rank_ - 1]);
      const Exprs axes = AxesOf(stage);
      stage.body =
          op_.Load(sum, axes) +
          op_.Load(b, Exprs(axes.begin() + 1,
                            axes.begin() + static_cast<std::ptrdiff_t>(places.size() - rank_)));
      op_.Emit(std::move(stage));
    }
    if (!view) return;
    op_.graph.values[static_cast<std::size_t>(result)].kind = ValueKind::kComputed;
    op_.View(0, result, whole);
  }

  // out[n, (g,) o, y...] from the part that phase y mod stride belongs to.
  void Interleave(const std::vector<std::vector<Phases>>& runs, int b) {
    Shape places, whole = {form_.batch, form_.groups * form_.out};
    bool even = true;  // every phase has as many outputs: they are dimensions of their own
    for (const Geometry& g : form_.dims) {
      whole.push_back(g.out);
      even = even && g.out % g.stride == 0;
    }
    for (std::size_t d = 0; d < rank_; ++d) {
      const Geometry& g = form_.dims[d];
      places.push_back(even ? steps_[d] : g.out);
      if (even) places.push_back(g.stride);
    }
    const Shape shape = Join(Join({form_.batch}, Channels()), places);
    const bool view = even || form_.grouped();
    const int out = op_.Out(0, type_, whole);
    const int result = view ? op_.Temp("interleaved", type_, shape) : out;
    Stage stage = MakeStage(result, shape);
    const Exprs axes = AxesOf(stage);
    head_ = Exprs(axes.begin(), axes.end() - static_cast<std::ptrdiff_t>(places.size()));
    for (std::size_t d = 0; d < rank_; ++d) {
      const std::size_t first = head_.size() + (even ? 2 * d : d);
      const std::int64_t stride = form_.dims[d].stride;
      steps_at_.push_back(even ? axes[first] : axes[first] / IntExpr(stride));
      phase_at_.push_back(even ? axes[first + 1] : axes[first] % IntExpr(stride));
    }
    std::vector<Phases> chosen;
    stage.body = Choose(runs, chosen);
    if (b >= 0) {
      b = BiasOf(b);
      stage.body = stage.body + op_.Load(b, Exprs(head_.begin() + 1, head_.end()));
    }
    op_.kind = UnitKind::kMovement;
    op_.NewUnit();
    op_.Emit(std::move(stage));
    if (!view) return;
    op_.graph.values[static_cast<std::size_t>(result)].kind = ValueKind::kComputed;
    op_.View(0, result, whole);
  }

  // The element at the axes of the interleaving stage, where the first dimensions' runs are
  // `chosen`.
  ExprPtr Choose(const std::vector<std::vector<Phases>>& runs, std::vector<Phases>& chosen) {
    const std::size_t d = chosen.size();
    if (d == rank_) return Element(chosen);
    ExprPtr element;
    for (std::size_t i = runs[d].size(); i-- > 0;) {
      const Phases& run = runs[d][i];
      chosen.push_back(run);
      const ExprPtr own = Choose(runs, chosen);
      chosen.pop_back();
      element =
          element ? SelectExpr(BinaryExpr(Op::kLess, phase_at_[d], IntExpr(run.first + run.count)),
                               own, element)
                  : own;
    }
    return element;
  }

  ExprPtr Element(const std::vector<Phases>& chosen) {
    Shape phases;
    for (const Phases& run : chosen) {
      if (run.taps == 0) return Literal(0, DefaultAccumulator(type_));
      phases.push_back(run.count);
    }
    const Shape channels =
        form_.depthwise() ? Shape{form_.groups} : Shape{ElementCount(phases) * form_.out};
    Shape shape = Join({form_.batch}, form_.grouped() ? Shape{form_.groups} : Shape{});
    shape = Join(Join(shape, channels), steps_);
    const int part = op_.Temp(fmt::format("part{}", parts_), type_, shape);
    EmitPart(chosen, part);
    ++parts_;
    op_.graph.values[static_cast<std::size_t>(part)].kind = ValueKind::kComputed;
    Shape split = {form_.batch};
    Exprs at = {head_[0]};
    if (form_.grouped()) {
      split.push_back(form_.groups);
      at.push_back(head_[1]);
    }
    for (std::size_t d = 0; d < rank_ && !form_.depthwise(); ++d) {
      if (phases[d] == 1) continue;
      split.push_back(phases[d]);
      at.push_back(phase_at_[d] + (-chosen[d].first));
    }
    split.push_back(form_.depthwise() ? form_.groups : form_.out);
    at.push_back(head_.back());
    at.insert(at.end(), steps_at_.begin(), steps_at_.end());
    return op_.Load(op_.ViewOf(part, Join(split, steps_)), std::move(at));
  }

  OpContext& op_;
  const Form& form_;
  std::size_t rank_;
  int x_, w_ = -1;
  DataType type_ = DataType::kF32;
  Shape steps_;         // outputs of a phase, per dimension
  bool single_ = true;  // one phase only
  int parts_ = 0;
  Exprs head_, steps_at_, phase_at_;  // of the interleaving stage
};

Result<void> ConvTranspose(OpContext& op) {
  if (op.InShape(1).size() < 3) return Unsupported("a weight of shape " + ShapeText(op.InShape(1)));
  KINDRED_CHECK(CheckShape(op, 2, {op.InShape(1)[1] * op.Int("group", 1)}));
  return LowerConvTranspose(op, op.In(0), op.In(1), op.Has(2) ? op.In(2) : -1);
}

}  // namespace

Result<void> LowerConvTranspose(OpContext& op, int x, int w, int b) {
  const auto shape = [&](int id) { return op.graph.values[static_cast<std::size_t>(id)].shape; };
  KINDRED_TRY(const Form form, ReadForm(op, shape(x), shape(w)));
  Emitter(op, form, x, w).Run(b);
  return {};
}

void AddConvTransposeOps(LoweringTable& table) { table["ConvTranspose"] = ConvTranspose; }

}  // namespace kindred
