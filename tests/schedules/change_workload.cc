#include "tests/schedules/change_workload.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/schedules/edit_workload.h"

namespace kindred {
namespace {

constexpr DataType kTypes[] = {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kBF16,
                               DataType::kI64, DataType::kI32, DataType::kI8,  DataType::kU8};

DataType AnyType(Random& random) { return kTypes[random.Below(std::size(kTypes))]; }

Tensor& Produced(Workload& w, const Stage& stage) { return w.tensors[Size(stage.tensor)]; }

std::optional<int> PickTensor(const Workload& w, Random& random,
                              const std::function<bool(const Tensor&)>& wanted) {
  std::vector<int> found;
  for (std::size_t t = 0; t < w.tensors.size(); ++t)
    if (wanted(w.tensors[t])) found.push_back(static_cast<int>(t));
  return Pick(found, random);
}

std::optional<Site> PickSite(const Workload& w, Random& random,
                             const std::function<bool(const Site&)>& wanted) {
  return Pick(SitesOf(w, wanted), random);
}

// Every extent of the value `from` in tensors and axes.
void ReplaceExtents(Workload& w, Extent from, Extent to) {
  for (Tensor& tensor : w.tensors) std::replace(tensor.shape.begin(), tensor.shape.end(), from, to);
  for (Stage& stage : w.stages)
    for (Axis& axis : stage.axes)
      if (axis.extent == from) axis.extent = to;
}

Extent AnyFixedExtent(const Workload& w, Random& random) {
  std::vector<Extent> extents;
  for (const Tensor& tensor : w.tensors)
    for (const Extent& extent : tensor.shape)
      if (extent.symbol < 0 && extent.value > 1) extents.push_back(extent);
  return Pick(extents, random).value_or(Extent{});
}

// --- sizes ---

bool ChangeExtent(Workload& w, Random& random) {
  const Extent from = AnyFixedExtent(w, random);
  static constexpr std::int64_t kSteps[] = {1, 2, -1, 3};
  Extent to = from;
  to.value += kSteps[random.Below(4)];
  ReplaceExtents(w, from, to);
  return from.value > 1;
}

bool MakeSymbolic(Workload& w, Random& random) {
  const Extent from = AnyFixedExtent(w, random);
  if (from.value == 1 || w.symbols.size() > 2) return false;
  w.symbols.push_back({FreshName(w, random), 1, from.value + 3, {from.value}});
  ReplaceExtents(w, from, {from.value, static_cast<int>(w.symbols.size()) - 1});
  return true;
}

bool ChangeSymbol(Workload& w, Random& random) {
  if (w.symbols.empty()) return false;
  Symbol& symbol = w.symbols[random.Below(w.symbols.size())];
  switch (random.Below(3)) {
    case 0:
      if (symbol.likely.empty()) return false;
      ++symbol.high;
      break;
    case 1:
      if (symbol.low == 1) return false;
      --symbol.low;
      break;
    default:
      if (symbol.likely.empty()) return false;
      symbol.likely.push_back(symbol.low);
  }
  return true;
}

// --- indices ---

// An index that is affine, and its coefficients.
std::optional<std::pair<Site, Affine>> PickAffineIndex(const Workload& w, Random& random) {
  const auto site = PickSite(w, random, [&w](const Site& s) {
    const int axes = static_cast<int>(w.stages[s.stage].axes.size());
    return s.where == Site::kIndex && AsAffine(*s.expr, axes).has_value();
  });
  if (!site) return std::nullopt;
  return std::pair(*site,
                   *AsAffine(*site->expr, static_cast<int>(w.stages[site->stage].axes.size())));
}

bool ChangeOffset(Workload& w, Random& random) {
  auto index = PickAffineIndex(w, random);
  if (!index) return false;
  index->second.constant += random.Below(2) == 0 ? 1 : -1;
  Replace(w, index->first, FromAffine(index->second));
  return true;
}

bool ChangeStride(Workload& w, Random& random) {
  auto index = PickAffineIndex(w, random);
  if (!index) return false;
  for (std::int64_t& c : index->second.coefficients)
    if (c != 0 && random.Below(2) == 0) c += c > 1 && random.Below(2) == 0 ? -1 : 1;
  Replace(w, index->first, FromAffine(index->second));
  return true;
}

bool ChangeAxisOfIndex(Workload& w, Random& random) {
  auto index = PickAffineIndex(w, random);
  if (!index || index->second.coefficients.size() < 2) return false;
  std::vector<std::int64_t>& c = index->second.coefficients;
  std::swap(c[random.Below(c.size())], c[random.Below(c.size())]);
  Replace(w, index->first, FromAffine(index->second));
  return true;
}

bool TransposeRead(Workload& w, Random& random) {
  const auto site = PickSite(
      w, random, [](const Site& s) { return s.expr->op == Op::kLoad && s.expr->args.size() > 1; });
  if (!site) return false;
  std::vector<ExprPtr> indices = site->expr->args;
  std::swap(indices[random.Below(indices.size())], indices[random.Below(indices.size())]);
  Replace(w, *site, WithArgs(*site->expr, std::move(indices)));
  return true;
}

// Another layout in memory.
bool TransposeArgument(Workload& w, Random& random) {
  const auto t = PickTensor(w, random, [](const Tensor& tensor) {
    return !IsComputed(tensor) && tensor.shape.size() > 1;
  });
  if (!t) return false;
  std::vector<Extent>& shape = w.tensors[Size(*t)].shape;
  const std::size_t a = random.Below(shape.size()), b = random.Below(shape.size());
  std::swap(shape[a], shape[b]);
  for (Stage& stage : w.stages)
    stage.body = RawRewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || e->index != *t) return nullptr;
      std::vector<ExprPtr> indices = e->args;
      std::swap(indices[a], indices[b]);
      return WithArgs(*e, std::move(indices));
    });
  return true;
}

// --- types ---

bool ChangeArgumentType(Workload& w, Random& random) {
  const auto t = PickTensor(w, random, [](const Tensor& tensor) { return !IsComputed(tensor); });
  const DataType type = AnyType(random);
  w.tensors[Size(*t)].type = type;
  for (Stage& stage : w.stages)
    stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      return e->op == Op::kLoad && e->index == *t ? LoadExpr(*t, e->args, type) : nullptr;
    });
  return true;
}

bool ChangeResultType(Workload& w, Random& random) {
  const auto t = PickTensor(w, random, [](const Tensor& tensor) { return IsComputed(tensor); });
  const DataType type = AnyType(random);
  w.tensors[Size(*t)].type = type;
  for (Stage& stage : w.stages)
    stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      return e->op == Op::kLoad && e->index == *t ? LoadExpr(*t, e->args, type) : nullptr;
    });
  return true;
}

bool ChangeAccumulator(Workload& w, Random& random) {
  Stage& stage = w.stages[random.Below(w.stages.size())];
  if (stage.combiner == Combiner::kNone) return false;
  stage.accumulator = AnyType(random);
  return true;
}

bool RoundInBetween(Workload& w, Random& random) {
  const auto site = PickSite(w, random, [](const Site& s) {
    return s.where == Site::kValue && IsFloat(s.expr->type) && !IsConstant(*s.expr);
  });
  if (!site) return false;
  const DataType narrow = random.Below(2) == 0 ? DataType::kF16 : DataType::kBF16;
  Replace(w, *site, CastExpr(site->expr->type, CastExpr(narrow, site->expr)));
  return true;
}

// --- arithmetic ---

bool ChangeFunction(Workload& w, Random& random) {
  const auto site = PickSite(
      w, random, [](const Site& s) { return s.expr->op >= Op::kExp && s.expr->op <= Op::kRound; });
  if (!site) return false;
  const int count = static_cast<int>(Op::kRound) - static_cast<int>(Op::kExp) + 1;
  const Op op = static_cast<Op>(static_cast<int>(Op::kExp) +
                                static_cast<int>(random.Below(static_cast<std::uint64_t>(count))));
  Replace(w, *site, RawExpr(op, site->expr->type, site->expr->args));
  return true;
}

bool ChangeOperator(Workload& w, Random& random) {
  static constexpr Op kArithmetic[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax};
  static constexpr Op kComparisons[] = {Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual};
  const auto site = PickSite(w, random, [](const Site& s) {
    return !s.index() && s.expr->op >= Op::kAdd && s.expr->op <= Op::kOr &&
           s.expr->args.size() == 2;
  });
  if (!site) return false;
  Op op = site->expr->op == Op::kAnd ? Op::kOr : Op::kAnd;
  if (site->expr->op <= Op::kMax)
    op = kArithmetic[random.Below(std::size(kArithmetic))];
  else if (site->expr->op <= Op::kNotEqual && site->expr->op >= Op::kLess)
    op = kComparisons[random.Below(std::size(kComparisons))];
  Replace(w, *site, RawExpr(op, site->expr->type, site->expr->args));
  return true;
}

bool ChangeConstant(Workload& w, Random& random) {
  const auto site = PickSite(w, random, [](const Site& s) {
    return IsConstant(*s.expr) && s.expr->type != DataType::kBool;
  });
  if (!site) return false;
  const Expr& e = *site->expr;
  Replace(w, *site,
          e.op == Op::kInt ? IntExpr(e.integer ^ 1, e.type)
                           : FloatExpr(e.number + 0.25 + random.Uniform(), e.type));
  return true;
}

bool SwapOperands(Workload& w, Random& random) {
  const auto site = PickSite(w, random, [](const Site& s) {
    return (s.expr->args.size() == 2 && s.expr->op != Op::kPadded && s.expr->op != Op::kLoad &&
            !Commutes(s.expr->op)) ||
           s.expr->op == Op::kSelect;
  });
  if (!site) return false;
  std::vector<ExprPtr> args = site->expr->args;
  std::swap(args[args.size() - 2], args[args.size() - 1]);
  Replace(w, *site, WithArgs(*site->expr, std::move(args)));
  return true;
}

// (a + b) + c as a + (b + c): floats round differently.
bool Reassociate(Workload& w, Random& random) {
  const auto site = PickSite(w, random, [](const Site& s) {
    const Expr& e = *s.expr;
    return (e.op == Op::kAdd || e.op == Op::kMul) && IsFloat(e.type) && e.args[0]->op == e.op;
  });
  if (!site) return false;
  const Expr& e = *site->expr;
  const std::vector<ExprPtr>& inner = e.args[0]->args;
  Replace(w, *site,
          RawExpr(e.op, e.type, {inner[0], RawExpr(e.op, e.type, {inner[1], e.args[1]})}));
  return true;
}

bool ChangeCombiner(Workload& w, Random& random) {
  static constexpr Combiner kAny[] = {Combiner::kSum, Combiner::kMax, Combiner::kMin,
                                      Combiner::kProd};
  Stage& stage = w.stages[random.Below(w.stages.size())];
  if (stage.combiner == Combiner::kNone) return false;
  if (IsArg(stage))
    stage.combiner = stage.combiner == Combiner::kArgMax ? Combiner::kArgMin : Combiner::kArgMax;
  else
    stage.combiner = kAny[random.Below(4)];
  return true;
}

// Another function after all others.
bool AddEpilogue(Workload& w, Random& random) {
  std::vector<std::size_t> pointwise;
  for (std::size_t s = 0; s < w.stages.size(); ++s)
    if (w.stages[s].combiner == Combiner::kNone && IsFloat(w.stages[s].body->type))
      pointwise.push_back(s);
  const auto chosen = Pick(pointwise, random);
  if (!chosen) return false;
  ExprPtr& body = w.stages[*chosen].body;
  switch (random.Below(3)) {
    case 0: body = UnaryExpr(Op::kTanh, body); break;
    case 1: body = body * FloatExpr(0.5, body->type); break;
    default: body = BinaryExpr(Op::kMax, body, FloatExpr(0.125, body->type));
  }
  return true;
}

// --- arguments, outputs, contract ---

bool ChangeRole(Workload& w, Random& random) {
  const auto t = PickTensor(w, random, [](const Tensor& tensor) { return !IsComputed(tensor); });
  Role& role = w.tensors[Size(*t)].role;
  role = role == Role::kInput ? Role::kWeight : Role::kInput;
  return true;
}

bool ChangeData(Workload& w, Random& random) {
  const auto t = PickTensor(w, random, [](const Tensor& tensor) { return !IsComputed(tensor); });
  DataSpec& data = w.tensors[Size(*t)].data;
  if (data.kind == "index") return false;
  static const DataSpec kSpecs[] = {{"uniform", -1, 1, 1, ""},     {"uniform", 0, 1, 1, ""},
                                    {"normal", 0, 1, 1, ""},       {"normal", 0, 1, 0.25, ""},
                                    {"mask", 0, 0, 0.5, ""},       {"mask", 0, 0, 0.125, ""},
                                    {"file", 0, 0, 1, "rows.bin"}, {"file", 0, 0, 1, "b.bin"}};
  data = kSpecs[random.Below(std::size(kSpecs))];
  return true;
}

bool ChangeContract(Workload& w, Random& random) {
  bool* const flags[] = {&w.contract.tf32, &w.contract.winograd, &w.contract.atomics,
                         &w.contract.fast_math};
  bool& flag = *flags[random.Below(4)];
  flag = !flag;
  return true;
}

// One read of an argument goes to a new argument like it.
bool ReadAnother(Workload& w, Random& random) {
  const auto site = PickSite(w, random, [&w](const Site& s) {
    return !s.index() && s.expr->op == Op::kLoad && !IsComputed(w.tensors[Size(s.expr->index)]);
  });
  if (!site) return false;
  Tensor tensor = w.tensors[Size(site->expr->index)];
  tensor.name = FreshName(w, random);
  Replace(w, *site,
          LoadExpr(static_cast<int>(w.tensors.size()), site->expr->args, site->expr->type));
  w.tensors.push_back(std::move(tensor));
  return true;
}

bool MakeOutput(Workload& w, Random& random) {
  const auto t =
      PickTensor(w, random, [](const Tensor& tensor) { return tensor.role == Role::kTemporary; });
  if (!t) return false;
  w.tensors[Size(*t)].role = Role::kOutput;
  return true;
}

bool SwapOutputs(Workload& w, Random& random) {
  std::vector<std::size_t> outputs;
  for (std::size_t s = 0; s < w.stages.size(); ++s)
    if (Produced(w, w.stages[s]).role == Role::kOutput) outputs.push_back(s);
  const auto a = Pick(outputs, random), b = Pick(outputs, random);
  if (!a || *a == *b) return false;
  std::swap(w.stages[*a], w.stages[*b]);
  return true;
}

// The result of a stage that nothing reads, with two dimensions the other way round.
bool TransposeOutput(Workload& w, Random& random) {
  const std::size_t s = random.Below(w.stages.size());
  Stage& stage = w.stages[s];
  if (stage.spatial < 2 || !Readers(w, stage.tensor).empty()) return false;
  const std::size_t a = random.Below(Size(stage.spatial)), b = random.Below(Size(stage.spatial));
  std::swap(stage.axes[a], stage.axes[b]);
  std::vector<Extent>& shape = Produced(w, stage).shape;
  std::swap(shape[a], shape[b]);
  std::vector<ExprPtr> values;
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i) values.push_back(VarExpr(i));
  std::swap(values[a], values[b]);
  stage.body = RawSubstitute(stage.body, values);
  return true;
}

constexpr ChangeKind kKinds[] = {
    {"extent", ChangeExtent},
    {"fixed extent made symbolic", MakeSymbolic},
    {"symbol", ChangeSymbol},
    {"offset or padding", ChangeOffset},
    {"stride or dilation", ChangeStride},
    {"axis of an index", ChangeAxisOfIndex},
    {"transposed read", TransposeRead},
    {"layout of an argument", TransposeArgument},
    {"type of an argument", ChangeArgumentType},
    {"type of a result", ChangeResultType},
    {"accumulator", ChangeAccumulator},
    {"rounding in between", RoundInBetween},
    {"function", ChangeFunction},
    {"operator", ChangeOperator},
    {"constant", ChangeConstant},
    {"operands of a non-commutative operator", SwapOperands},
    {"associativity", Reassociate},
    {"combiner", ChangeCombiner},
    {"epilogue", AddEpilogue},
    {"role", ChangeRole},
    {"named data", ChangeData},
    {"contract", ChangeContract},
    {"another argument", ReadAnother},
    {"temporary made an output", MakeOutput},
    {"order of outputs", SwapOutputs},
    {"layout of an output", TransposeOutput},
};

}  // namespace

std::span<const ChangeKind> ChangeKinds() { return kKinds; }

}  // namespace kindred
