#include "schedules/internal/divisor.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace kindred::internal {

std::int64_t DivisorOf(const Expr& e, const std::function<std::int64_t(int var)>& of_variable) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto of = [&](std::size_t i) { return DivisorOf(*e.args[i], of_variable); };
  switch (e.op) {
    case Op::kInt: return std::llabs(e.integer);
    case Op::kVar: return of_variable(e.index);
    case Op::kMul: {
      const std::int64_t a = of(0), b = of(1);
      if (a == 0 || b == 0) return 0;
      return a > kMost || b > kMost ? std::max(a, b) : a * b;
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMin:
    case Op::kMax:
    case Op::kMod: return std::gcd(of(0), of(1));
    case Op::kSelect: return std::gcd(of(1), of(2));
    case Op::kDiv: {
      const Expr& by = *e.args[1];
      const std::int64_t a = of(0);
      const bool exact = by.op == Op::kInt && by.integer > 0 && a % by.integer == 0;
      return exact ? a / by.integer : 1;
    }
    default: return 1;
  }
}

bool MentionsVar(const Expr& e, int var) {
  bool mentions = false;
  Visit(e, [&](const Expr& node) { mentions |= node.op == Op::kVar && node.index == var; });
  return mentions;
}

ExprPtr WithoutVar(const ExprPtr& e, int var) {
  if (e->op == Op::kVar && e->index == var) return IntExpr(0);
  if (e->op != Op::kAdd) return nullptr;
  const bool left = MentionsVar(*e->args[0], var), right = MentionsVar(*e->args[1], var);
  if (left == right) return nullptr;
  const ExprPtr rest = WithoutVar(e->args[left ? 0 : 1], var);
  return rest ? rest + e->args[left ? 1 : 0] : nullptr;
}

}  // namespace kindred::internal
