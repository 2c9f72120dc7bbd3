#include "schedules/sketches/cuda_common.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/divisor.h"

namespace kindred::internal {

StmtPtr Launch(Lowering& lowering, const ExprPtr& blocks, std::int64_t threads,
               const std::function<StmtPtr(const ExprPtr& block, const ExprPtr& thread)>& make) {
  const int block = lowering.program.AddVar("block"), thread = lowering.program.AddVar("thread");
  lowering.program.compiler = "nvrtc";
  return For(
      block, blocks, LoopKind::kBlock,
      For(thread, IntExpr(threads), LoopKind::kThread, make(VarExpr(block), VarExpr(thread))));
}

ExprPtr CeilDiv(const ExprPtr& a, std::int64_t b) { return (a + (b - 1)) / IntExpr(b); }

ExprPtr Product(std::span<const ExprPtr> factors) {
  ExprPtr product = IntExpr(1);
  for (const ExprPtr& f : factors) product = product * f;
  return product;
}

ExprPtr Bound(Lowering& lowering, const std::string& name, const ExprPtr& value,
              std::vector<StmtPtr>& lets) {
  if (value->op == Op::kInt || value->op == Op::kVar) return value;
  const int var = lowering.program.AddVar(name);
  lets.push_back(Let(var, value));
  return VarExpr(var);
}

std::vector<ExprPtr> Decompose(Lowering& lowering, const ExprPtr& flat,
                               std::span<const ExprPtr> extents, std::span<const std::string> names,
                               std::vector<StmtPtr>& lets) {
  std::vector<ExprPtr> values(extents.size());
  std::size_t first = 0;  // the slowest with more than one value
  while (first < extents.size() && IsInt(*extents[first], 1)) ++first;
  ExprPtr rest = flat;
  for (std::size_t a = extents.size(); a-- > 0;) {
    if (IsInt(*extents[a], 1)) {
      values[a] = IntExpr(0);
      continue;
    }
    values[a] = Bound(lowering, names[a], a == first ? rest : rest % extents[a], lets);
    if (a > first) rest = rest / extents[a];
  }
  return values;
}

namespace {

// `condition` for all lanes at once; nullptr where lanes may differ. Limits between whole vectors
// are the same for all lanes of one.
ExprPtr ForAllLanes(const ExprPtr& condition, int var, std::int64_t lanes) {
  const auto divisor = [](int) { return std::int64_t{1}; };
  if (!MentionsVar(*condition, var)) return condition;
  const Op op = condition->op;
  if (op == Op::kAnd || op == Op::kOr) {
    const ExprPtr a = ForAllLanes(condition->args[0], var, lanes);
    const ExprPtr b = ForAllLanes(condition->args[1], var, lanes);
    return a && b ? BinaryExpr(op, a, b) : nullptr;
  }
  if (op != Op::kLess && op != Op::kLessEqual) return nullptr;
  // start + v < limit, limit <= start + v: with both multiples of the lanes, v does not matter.
  const std::size_t side = op == Op::kLess ? 0 : 1;
  const ExprPtr start = WithoutVar(condition->args[side], var);
  const ExprPtr& limit = condition->args[1 - side];
  if (!start || MentionsVar(*limit, var) || DivisorOf(*start, divisor) % lanes != 0 ||
      DivisorOf(*limit, divisor) % lanes != 0)
    return nullptr;
  return side == 0 ? BinaryExpr(op, start, limit) : BinaryExpr(op, limit, start);
}

bool Loads(const Expr& e) {
  bool loads = false;
  Visit(e, [&](const Expr& node) { loads |= node.op == Op::kLoad; });
  return loads;
}

// A choice between loads that all lanes of a vector make alike.
std::pair<ExprPtr, ExprPtr> CommonChoice(const ExprPtr& e, int var, std::int64_t lanes) {
  if (e->op == Op::kSelect && (Loads(*e->args[1]) || Loads(*e->args[2])))
    if (const ExprPtr condition = ForAllLanes(e->args[0], var, lanes)) return {e, condition};
  for (const ExprPtr& arg : e->args)
    if (auto found = CommonChoice(arg, var, lanes); found.first) return found;
  return {};
}

StmtPtr Chosen(int var, std::int64_t lanes, const ExprPtr& value, int depth,
               const std::function<StmtPtr(const ExprPtr& value)>& store) {
  constexpr int kMostChoices = 4;
  const auto [choice, condition] =
      depth < kMostChoices ? CommonChoice(value, var, lanes) : std::pair<ExprPtr, ExprPtr>{};
  if (!choice) return For(var, IntExpr(lanes), LoopKind::kVectorized, store(value));
  const auto with = [&, chosen = choice](std::size_t branch) {
    const ExprPtr settled = Rewrite(value, [&](const ExprPtr& node) -> ExprPtr {
      return SameExpr(*node, *chosen) ? node->args[branch] : nullptr;
    });
    return Chosen(var, lanes, settled, depth + 1, store);
  };
  return If(condition, with(1), with(2));
}

}  // namespace

StmtPtr VectorStatement(int var, std::int64_t lanes, const ExprPtr& value,
                        const std::function<StmtPtr(const ExprPtr& value)>& store) {
  if (lanes == 1) return For(var, IntExpr(1), LoopKind::kUnrolled, store(value));
  return Chosen(var, lanes, value, 0, store);
}

Decision Offer(const char* name, std::initializer_list<std::int64_t> options,
               const std::function<bool(std::int64_t)>& legal, std::int64_t fallback) {
  Decision d{name, {}, {}};
  for (const std::int64_t o : options)
    if (legal(o)) d.options.push_back(o);
  if (d.options.empty()) d.options.push_back(fallback);
  return d;
}

int NarrowestBytes(const Workload& workload, std::span<const Stage> stages) {
  int bytes = 16;
  const auto note = [&](int tensor) {
    bytes = std::min(bytes, ByteSize(workload.tensors[static_cast<std::size_t>(tensor)].type));
  };
  for (const Stage& s : stages) {
    note(s.tensor);
    Visit(*s.body, [&](const Expr& e) {
      if (e.op == Op::kLoad) note(e.index);
    });
  }
  return bytes;
}

}  // namespace kindred::internal
