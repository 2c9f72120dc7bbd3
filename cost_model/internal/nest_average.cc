// Values of expressions in a nest: at the samples of the loop variables, and averaged over the
// iterations of the loops that they depend on.
#include <algorithm>
#include <cmath>

#include "cost_model/internal/nest.h"

namespace kindred {

std::uint32_t Nest::DependsOn(const Expr& e) const {
  if (e.op == Op::kVar) return variables_[static_cast<std::size_t>(e.index)].depends;
  std::uint32_t mask = 0;
  for (const ExprPtr& arg : e.args) mask |= DependsOn(*arg);
  return mask;
}

double Nest::Evaluate(const Expr& e) const {
  switch (e.op) {
    case Op::kInt: return static_cast<double>(e.integer);
    case Op::kFloat: return e.number;
    case Op::kVar: {
      const NestVariable& variable = variables_[static_cast<std::size_t>(e.index)];
      return variable.value ? Evaluate(*variable.value) : variable.sample;
    }
    case Op::kLoad:
    case Op::kExtent: return ApplyOp(e.op, 0, 0, 0);
    default: break;
  }
  std::array<double, 3> values = {};
  for (std::size_t i = 0; i < std::min(values.size(), e.args.size()); ++i)
    values[i] = Evaluate(*e.args[i]);
  return ApplyOp(e.op, values[0], values[1], values[2]);
}

void Nest::Sample(Sampling& sampling, int next, double weight) {
  if (next == sampling.count) {
    sampling.sum += weight * tape_[sampling.result];
    sampling.weight += weight;
    return;
  }
  const int id = stack_[static_cast<std::size_t>(sampling.depths[static_cast<std::size_t>(next)])];
  const NestLoop& loop = loops_[static_cast<std::size_t>(id)];
  double& sample = variables_[static_cast<std::size_t>(loop.variable)].sample;
  const int slot = sampling.slots[static_cast<std::size_t>(next)];
  const auto at = [&](double value, double share) {
    sample = tape_[slot] = value;
    tape_.Run(next + 1);
    Sample(sampling, next + 1, share);
  };
  const double extent = Evaluate(*loop.extent_expression);
  if (extent <= sampling.points) {
    for (double i = 0; i < extent; ++i) at(i, weight);
    return;
  }
  // The first, the last, and evenly spread ones that stand for the others.
  const int between = sampling.points - 2;
  at(0, weight);
  for (int i = 0; i < between; ++i)
    at(std::floor(1 + (i + 0.5) * (extent - 2) / between), weight * (extent - 2) / between);
  at(extent - 1, weight);
}

double Nest::Average(const Expr& e) {
  if (e.op == Op::kInt) return static_cast<double>(e.integer);
  std::uint32_t depends = DependsOn(e);
  if (depends == 0) return Evaluate(e);
  const auto loop_at = [&](int depth) -> const NestLoop& {
    return loops_[static_cast<std::size_t>(stack_[static_cast<std::size_t>(depth)])];
  };
  for (int depth = std::min<int>(static_cast<int>(stack_.size()), 32) - 1; depth >= 0; --depth)
    if (((depends >> depth) & 1) && loop_at(depth).extent_expression->op != Op::kInt)
      depends |= DependsOn(*loop_at(depth).extent_expression);
  Sampling sampling;
  tape_.Clear(variables_.size());
  for (int depth = 0; depth < 32; ++depth) {
    if (((depends >> depth) & 1) == 0) continue;
    const auto level = static_cast<std::size_t>(sampling.count++);
    sampling.depths[level] = depth;
    sampling.slots[level] = tape_.AddLoop(loop_at(depth).variable, sampling.count);
  }
  sampling.result = tape_.Add(e, variables_);
  constexpr int kPoints[] = {32, 10, 6, 4};
  sampling.points = kPoints[std::min(sampling.count, 4) - 1];
  tape_.Run(0);
  Sample(sampling, 0, 1);
  for (int i = 0; i < sampling.count; ++i) {
    const NestLoop& loop = loop_at(sampling.depths[static_cast<std::size_t>(i)]);
    variables_[static_cast<std::size_t>(loop.variable)].sample = std::floor((loop.extent - 1) / 2);
  }
  return sampling.weight > 0 ? sampling.sum / sampling.weight : 0;
}

double Nest::Probability(const Expr& condition) { return std::clamp(Average(condition), 0.0, 1.0); }

}  // namespace kindred
