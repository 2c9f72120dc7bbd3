#include "cost_model/internal/warp.h"

#include <algorithm>
#include <cmath>

namespace kindred {
namespace {

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t Apply(Op op, std::int64_t a, std::int64_t b) {
  // Products wrap: indices of real programs do not, and their samples may.
  const auto unsigned_a = static_cast<std::uint64_t>(a), unsigned_b = static_cast<std::uint64_t>(b);
  switch (op) {
    case Op::kAdd: return static_cast<std::int64_t>(unsigned_a + unsigned_b);
    case Op::kSub: return static_cast<std::int64_t>(unsigned_a - unsigned_b);
    case Op::kMul: return static_cast<std::int64_t>(unsigned_a * unsigned_b);
    case Op::kDiv: return b == -1 ? Apply(Op::kSub, 0, a) : FloorDiv(a, b);
    case Op::kMod: return b == -1 ? 0 : Apply(Op::kSub, a, Apply(Op::kMul, FloorDiv(a, b), b));
    case Op::kMin: return std::min(a, b);
    case Op::kMax: return std::max(a, b);
    case Op::kLess: return a < b;
    case Op::kLessEqual: return a <= b;
    case Op::kEqual: return a == b;
    case Op::kNotEqual: return a != b;
    case Op::kAnd: return a != 0 && b != 0;
    case Op::kOr: return a != 0 || b != 0;
    default: return 0;
  }
}

// Stands for a value in memory: some number below a thousand that depends on the address alone.
std::int64_t ValueAt(std::int64_t address) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(address) * 2654435761u % 997);
}

}  // namespace

void Warp::Begin(std::span<const int> loops, std::int64_t first, std::int64_t step) {
  variables_.assign(nest_.variables().size(), Value{});
  for (const NestLoop& loop : nest_.loops())
    if (loop.kind == LoopKind::kVectorized)
      variables_[static_cast<std::size_t>(loop.variable)].known = true;
  std::int64_t apart = 1;  // threads from one iteration to the next
  for (std::size_t i = loops.size(); i-- > 0;) {
    const NestLoop& loop = nest_.loops()[static_cast<std::size_t>(loops[i])];
    const auto extent = std::max<std::int64_t>(1, std::llround(loop.extent));
    Value& value = variables_[static_cast<std::size_t>(loop.variable)];
    value.known = true;
    value.uniform = false;
    for (int lane = 0; lane < kWarpThreads; ++lane)
      value.lanes[static_cast<std::size_t>(lane)] = (first + lane * step) / apart % extent;
    apart *= extent;
  }
}

Lanes Warp::Indices(const Expr& index) {
  Value value = Evaluate(index);
  if (value.uniform) value.lanes.fill(value.lanes[0]);
  return value.lanes;
}

Warp::Value Warp::OfVariable(int variable) {
  Value& value = variables_[static_cast<std::size_t>(variable)];
  if (value.known) return value;
  const NestVariable& of = nest_.variables()[static_cast<std::size_t>(variable)];
  Value found;
  if (of.value != nullptr)
    found = Evaluate(*of.value);
  else
    found.lanes[0] = static_cast<std::int64_t>(of.sample);
  found.known = true;
  return variables_[static_cast<std::size_t>(variable)] = found;
}

Warp::Value Warp::Evaluate(const Expr& e) {
  const auto map = [](Value value, const auto& function) {
    const std::size_t lanes = value.uniform ? 1 : value.lanes.size();
    for (std::size_t i = 0; i < lanes; ++i) value.lanes[i] = function(value.lanes[i]);
    return value;
  };
  switch (e.op) {
    case Op::kInt: {
      Value value;
      value.lanes[0] = e.integer;
      return value;
    }
    case Op::kVar: return OfVariable(e.index);
    case Op::kCast: return Evaluate(*e.args[0]);
    case Op::kLoad: return map(Evaluate(*e.args[0]), ValueAt);
    case Op::kNeg:
      return map(Evaluate(*e.args[0]), [](std::int64_t a) { return Apply(Op::kSub, 0, a); });
    case Op::kAbs:
      return map(Evaluate(*e.args[0]),
                 [](std::int64_t a) { return a < 0 ? Apply(Op::kSub, 0, a) : a; });
    case Op::kNot:
      return map(Evaluate(*e.args[0]), [](std::int64_t a) -> std::int64_t { return a == 0; });
    case Op::kSelect: return Evaluate(*e.args[1]);
    default: break;
  }
  if (e.args.size() != 2) return Value{};
  Value a = Evaluate(*e.args[0]);
  const Value b = Evaluate(*e.args[1]);
  if (a.uniform && !b.uniform) {
    a.lanes.fill(a.lanes[0]);
    a.uniform = false;
  }
  const std::size_t lanes = a.uniform ? 1 : a.lanes.size();
  for (std::size_t i = 0; i < lanes; ++i)
    a.lanes[i] = Apply(e.op, a.lanes[i], b.lanes[b.uniform ? 0 : i]);
  return a;
}

}  // namespace kindred
