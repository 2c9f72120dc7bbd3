#include "cost_model/internal/tape.h"

#include <algorithm>
#include <cmath>

#include "cost_model/internal/nest.h"

namespace kindred {

double ApplyOp(Op op, double a, double b, double c) {
  switch (op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    case Op::kNeg: return -a;
    case Op::kDiv: return b == 0 ? 0 : std::floor(a / b);
    case Op::kMod: return b == 0 ? 0 : a - std::floor(a / b) * b;
    case Op::kMin: return std::min(a, b);
    case Op::kMax: return std::max(a, b);
    case Op::kLess: return a < b;
    case Op::kLessEqual: return a <= b;
    case Op::kEqual: return a == b;
    case Op::kNotEqual: return a != b;
    case Op::kAnd: return a != 0 && b != 0;
    case Op::kOr: return a != 0 || b != 0;
    case Op::kNot: return a == 0;
    case Op::kSelect: return a != 0 ? b : c;
    case Op::kCast: return a;
    default: return 1;  // loaded values and symbolic extents: of unknown, small size
  }
}

void Tape::Clear(std::size_t variables) {
  values_.clear();
  levels_.clear();
  slot_of_variable_.assign(variables, -1);
  for (int level = 0; level <= deepest_; ++level) steps_[static_cast<std::size_t>(level)].clear();
  deepest_ = 0;
}

int Tape::Slot(double value, int level) {
  values_.push_back(value);
  levels_.push_back(level);
  return static_cast<int>(values_.size()) - 1;
}

int Tape::AddLoop(int variable, int level) {
  return slot_of_variable_[static_cast<std::size_t>(variable)] = Slot(0, level);
}

int Tape::Add(const Expr& e, const std::vector<NestVariable>& variables) {
  switch (e.op) {
    case Op::kInt: return Slot(static_cast<double>(e.integer), 0);
    case Op::kFloat: return Slot(e.number, 0);
    case Op::kVar: {
      const auto id = static_cast<std::size_t>(e.index);
      if (slot_of_variable_[id] < 0) {
        const NestVariable& variable = variables[id];
        slot_of_variable_[id] =
            variable.value ? Add(*variable.value, variables) : Slot(variable.sample, 0);
      }
      return slot_of_variable_[id];
    }
    case Op::kCast: return Add(*e.args[0], variables);
    case Op::kLoad:
    case Op::kExtent: return Slot(1, 0);
    default: break;
  }
  std::array<int, 3> arguments = {};
  int level = 0;
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    arguments[i] = Add(*e.args[i], variables);
    level = std::max(level, levels_[static_cast<std::size_t>(arguments[i])]);
  }
  const int to = Slot(0, level);
  steps_[static_cast<std::size_t>(level)].push_back(
      {e.op, to, arguments[0], arguments[1], arguments[2]});
  deepest_ = std::max(deepest_, level);
  return to;
}

void Tape::Run(int level) {
  for (const Step& step : steps_[static_cast<std::size_t>(level)])
    (*this)[step.to] = ApplyOp(step.op, (*this)[step.a], (*this)[step.b], (*this)[step.c]);
}

}  // namespace kindred
