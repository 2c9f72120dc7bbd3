#include "schedules/sketches/contraction_pattern.h"

#include <algorithm>
#include <set>

namespace kindred {
namespace {

// A vector axis shorter than this is joined with its neighbour where both belong to b.
constexpr std::int64_t kShortAxis = 64;

std::int64_t Coefficient(const Affine& affine, int axis) {
  return affine.coefficients[static_cast<std::size_t>(axis)];
}

bool HasSymbols(const Workload& workload) {
  const auto symbolic = [](const Extent& e) { return e.symbol >= 0; };
  for (const Tensor& tensor : workload.tensors)
    if (std::any_of(tensor.shape.begin(), tensor.shape.end(), symbolic)) return true;
  for (const Stage& stage : workload.stages)
    for (const Axis& axis : stage.axes)
      if (symbolic(axis.extent)) return true;
  return false;
}

std::set<int> LoadedTensors(const Expr& e) {
  std::set<int> tensors;
  Visit(e, [&](const Expr& node) {
    if (node.op == Op::kLoad) tensors.insert(node.index);
  });
  return tensors;
}

// Every load of `tensor` in `body` names each of `axes` spatial axes once, plainly; returns the
// axis that each dimension of the tensor is read at (the same for all loads), nullopt if not so.
std::optional<std::vector<int>> PlainLoadAxes(const Expr& body, int tensor, int axes) {
  std::optional<std::vector<int>> result;
  bool plain = true;
  Visit(body, [&](const Expr& node) {
    if (node.op == Op::kPadded && node.args[0]->index == tensor) plain = false;
    if (node.op != Op::kLoad || node.index != tensor) return;
    std::vector<int> read;
    for (const ExprPtr& arg : node.args) {
      if (arg->op != Op::kVar || std::count(read.begin(), read.end(), arg->index) > 0) {
        plain = false;
        return;
      }
      read.push_back(arg->index);
    }
    if (static_cast<int>(read.size()) != axes || (result && *result != read)) plain = false;
    result = read;
  });
  if (!plain) return std::nullopt;
  return result;
}

const Expr* SkipCasts(const Expr* e) {
  while (e->op == Op::kCast) e = e->args[0].get();
  return e;
}

bool Slides(const OperandAccess& operand, int axis, std::span<const int> reduction) {
  for (const Affine& index : operand.index) {
    if (Coefficient(index, axis) == 0) continue;
    if (Coefficient(index, axis) != 1) return true;
    for (const int k : reduction)
      if (Coefficient(index, k) != 0) return true;
  }
  return false;
}

}  // namespace

bool OperandAccess::Uses(int axis) const { return !DimensionsOf(axis).empty(); }

std::vector<int> OperandAccess::DimensionsOf(int axis) const {
  std::vector<int> dimensions;
  for (std::size_t d = 0; d < index.size(); ++d)
    if (Coefficient(index[d], axis) != 0) dimensions.push_back(static_cast<int>(d));
  return dimensions;
}

std::int64_t OperandAccess::Stride(int axis) const {
  std::int64_t stride = 0, size = 1;
  for (std::size_t d = index.size(); d-- > 0; size *= shape[d])
    stride += Coefficient(index[d], axis) * size;
  return stride;
}

std::int64_t ContractionPattern::ReductionExtent() const {
  std::int64_t product = 1;
  for (const int axis : k) product *= Extent(axis);
  return product;
}

std::optional<PointwiseChain> MatchPointwiseChain(const Workload& workload) {
  if (HasSymbols(workload)) return std::nullopt;
  PointwiseChain chain;
  const int stages = static_cast<int>(workload.stages.size());
  for (int i = 0; i < stages; ++i) {
    if (workload.stages[static_cast<std::size_t>(i)].reduction() == 0) continue;
    if (chain.anchor >= 0) return std::nullopt;
    chain.anchor = i;
  }
  if (chain.anchor < 0) return std::nullopt;
  const Stage& anchor = workload.stages[static_cast<std::size_t>(chain.anchor)];

  // Stages that need the anchor come after it; all others are computed before it.
  std::vector<int> axes_of(workload.tensors.size(),
                           -1);  // index into after_axes, -1 not of the chain
  std::vector<int> identity;
  for (int axis = 0; axis < anchor.spatial; ++axis) identity.push_back(axis);
  std::vector<std::vector<int>> known = {identity};
  axes_of[static_cast<std::size_t>(anchor.tensor)] = 0;
  for (int i = 0; i < stages; ++i) {
    const Stage& stage = workload.stages[static_cast<std::size_t>(i)];
    if (i == chain.anchor) continue;
    std::optional<std::vector<int>> axes;
    for (const int tensor : LoadedTensors(*stage.body)) {
      const int source = axes_of[static_cast<std::size_t>(tensor)];
      if (source < 0) continue;
      const auto read = PlainLoadAxes(*stage.body, tensor, stage.spatial);
      if (!read || static_cast<int>(read->size()) != anchor.spatial) return std::nullopt;
      std::vector<int> mapped(read->size());
      for (std::size_t d = 0; d < read->size(); ++d)
        mapped[static_cast<std::size_t>((*read)[d])] = known[static_cast<std::size_t>(source)][d];
      if (axes && *axes != mapped) return std::nullopt;
      axes = mapped;
    }
    if (!axes) {
      chain.before.push_back(i);
      continue;
    }
    axes_of[static_cast<std::size_t>(stage.tensor)] = static_cast<int>(known.size());
    known.push_back(*axes);
    chain.after.push_back(i);
    chain.after_axes.push_back(*axes);
  }
  return chain;
}

std::optional<OperandAccess> MatchOperand(const Workload& workload, const Stage& stage,
                                          const Expr& e) {
  const Expr* load = SkipCasts(&e);
  OperandAccess operand;
  if (load->op == Op::kPadded) {
    operand.padded = true;
    operand.pad_value = load->args[1];
    if (!IsConstant(*operand.pad_value)) return std::nullopt;
    load = load->args[0].get();
  }
  if (load->op != Op::kLoad) return std::nullopt;
  // A cast that loses digits on the way to the product is not the same as none.
  for (const Expr* cast = &e; cast->op == Op::kCast; cast = cast->args[0].get())
    if (IsInteger(cast->type) != IsInteger(load->type) ||
        (cast->type != load->type && ByteSize(cast->type) <= ByteSize(load->type)))
      return std::nullopt;
  operand.tensor = load->index;
  const Tensor& tensor = workload.tensors[static_cast<std::size_t>(operand.tensor)];
  operand.type = tensor.type;
  operand.weight = tensor.role == Role::kWeight;
  for (const Extent& extent : tensor.shape) operand.shape.push_back(extent.value);
  for (const ExprPtr& index : load->args) {
    const auto affine = AsAffine(*index, static_cast<int>(stage.axes.size()));
    if (!affine) return std::nullopt;
    for (const std::int64_t c : affine->coefficients)
      if (c < 0) return std::nullopt;
    operand.index.push_back(*affine);
  }
  return operand;
}

std::optional<ContractionPattern> MatchContraction(const Workload& workload) {
  const auto chain = MatchPointwiseChain(workload);
  if (!chain) return std::nullopt;
  const Stage& stage = workload.stages[static_cast<std::size_t>(chain->anchor)];
  if (stage.combiner != Combiner::kSum || stage.spatial == 0) return std::nullopt;
  if (stage.accumulator != DataType::kF32 && stage.accumulator != DataType::kF64 &&
      stage.accumulator != DataType::kI32 && stage.accumulator != DataType::kC64)
    return std::nullopt;
  const Expr* product = SkipCasts(stage.body.get());
  if (product->op != Op::kMul || ByteSize(stage.body->type) < ByteSize(product->type))
    return std::nullopt;
  const auto left = MatchOperand(workload, stage, *product->args[0]);
  const auto right = MatchOperand(workload, stage, *product->args[1]);
  if (!left || !right) return std::nullopt;
  for (const OperandAccess* operand : {&*left, &*right})
    if (IsInteger(operand->type) != IsInteger(stage.accumulator) ||
        ByteSize(operand->type) > ByteSize(stage.accumulator))
      return std::nullopt;

  ContractionPattern pattern;
  pattern.anchor = chain->anchor;
  pattern.before = chain->before;
  pattern.after = chain->after;
  pattern.after_axes = chain->after_axes;
  pattern.accumulator = stage.accumulator;
  pattern.spatial = stage.spatial;
  for (const Axis& axis : stage.axes) pattern.extents.push_back(axis.extent.value);

  // The innermost axis of what is stored last is the vector axis.
  std::vector<int> order;
  if (pattern.after.empty()) {
    for (int axis = 0; axis < stage.spatial; ++axis) order.push_back(axis);
  } else {
    order = pattern.after_axes.back();
  }
  pattern.x = order.back();
  if (left->Uses(pattern.x) == right->Uses(pattern.x)) return std::nullopt;
  pattern.a = left->Uses(pattern.x) ? *right : *left;
  pattern.b = left->Uses(pattern.x) ? *left : *right;
  if (pattern.b.DimensionsOf(pattern.x).size() != 1) return std::nullopt;

  std::vector<int> reduction;
  for (int axis = stage.spatial; axis < static_cast<int>(stage.axes.size()); ++axis) {
    if (!pattern.a.Uses(axis) || !pattern.b.Uses(axis)) return std::nullopt;
    reduction.push_back(axis);
  }
  for (int axis = 0; axis < stage.spatial; ++axis)
    if (!pattern.a.Uses(axis) && !pattern.b.Uses(axis)) return std::nullopt;

  // Two output axes make one long vector axis where b slides over both (a plane of an image), or
  // where the inner one is short.
  if (order.size() >= 2) {
    const int y = order[order.size() - 2];
    const bool own = pattern.b.Uses(y) && !pattern.a.Uses(y);
    const auto dimensions = pattern.b.DimensionsOf(y);
    const bool slides = pattern.b.padded || Slides(pattern.b, pattern.x, reduction) ||
                        Slides(pattern.b, y, reduction);
    if (own && dimensions.size() == 1 && dimensions != pattern.b.DimensionsOf(pattern.x) &&
        (slides || pattern.Extent(pattern.x) < kShortAxis))
      pattern.y = y;
  }
  pattern.b_slides =
      pattern.b.padded || Slides(pattern.b, pattern.x, reduction) ||
      (pattern.y >= 0 && Slides(pattern.b, pattern.y, reduction)) ||
      (pattern.y >= 0 &&
       pattern.b.Stride(pattern.y) != pattern.b.Stride(pattern.x) * pattern.Extent(pattern.x));

  for (int axis = 0; axis < stage.spatial; ++axis)
    if (pattern.a.Uses(axis) && !pattern.b.Uses(axis) &&
        (pattern.m < 0 || pattern.Extent(axis) >= pattern.Extent(pattern.m)))
      pattern.m = axis;
  for (const bool of_b : {true, false})
    for (int axis = 0; axis < stage.spatial; ++axis)
      if (axis != pattern.x && axis != pattern.y && axis != pattern.m &&
          pattern.b.Uses(axis) == of_b) {
        pattern.outer.push_back(axis);
        pattern.outer_of_b += of_b ? 1 : 0;
      }

  // Pure reduction axes outermost, longest stride of b first; sliding ones innermost, in order.
  std::vector<int> sliding;
  for (const int axis : reduction) {
    bool slides = false;
    for (const OperandAccess* operand : {&pattern.a, &pattern.b})
      for (const Affine& index : operand->index)
        for (int s = 0; s < stage.spatial; ++s)
          slides |= Coefficient(index, axis) != 0 && Coefficient(index, s) != 0;
    (slides ? sliding : pattern.k).push_back(axis);
  }
  if (pattern.k.empty() && pattern.m < 0) return std::nullopt;  // nothing is shared: a window
  const auto longer = [&](int p, int q) { return pattern.b.Stride(p) > pattern.b.Stride(q); };
  std::stable_sort(pattern.k.begin(), pattern.k.end(), longer);
  std::stable_sort(sliding.begin(), sliding.end(), longer);
  pattern.k.insert(pattern.k.end(), sliding.begin(), sliding.end());
  return pattern;
}

}  // namespace kindred
