#include "cost_model/internal/nest.h"

#include <algorithm>
#include <cmath>

namespace kindred {
namespace {

double& OpsOf(NestStatement& statement, OpClass kind) {
  return statement.ops[static_cast<std::size_t>(kind)];
}

// In floats or complex numbers.
bool IsMultiply(const Expr& e) { return e.op == Op::kMul && !IsInteger(e.type); }

// Whether `e` is a load of `buffer` at the very index of a store.
bool ReadsBuffer(const Expr& e, int buffer) {
  if (e.op == Op::kLoad && e.index == buffer) return true;
  for (const ExprPtr& arg : e.args)
    if (ReadsBuffer(*arg, buffer)) return true;
  return false;
}

OpClass ClassOf(const Expr& e) {
  const bool floating = !IsInteger(e.type);
  switch (e.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kMin:
    case Op::kMax:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound:
    case Op::kReal:
    case Op::kImag:
    case Op::kConj:
    case Op::kComplex: return floating ? OpClass::kAdd : OpClass::kInteger;
    case Op::kMul: return floating ? OpClass::kMultiply : OpClass::kInteger;
    case Op::kDiv:
    case Op::kMod: return floating ? OpClass::kDivide : OpClass::kIntegerDivide;
    case Op::kSqrt:
    case Op::kRsqrt: return OpClass::kDivide;
    case Op::kExp:
    case Op::kLog:
    case Op::kErf:
    case Op::kTanh:
    case Op::kSin:
    case Op::kCos:
    case Op::kTan:
    case Op::kPow: return OpClass::kMath;
    case Op::kCast: return OpClass::kCast;
    default: return OpClass::kCompare;
  }
}

}  // namespace

void Nest::Build(const Program& program) {
  program_ = &program;
  loops_.clear();
  statements_.clear();
  accesses_.clear();
  meetings_.clear();
  stack_.clear();
  variables_.assign(program.variables.size(), NestVariable{});
  branches_ = 0;
  code_size_ = 0;
  if (program.body) Walk(*program.body, 1, 1);
}

void Nest::Walk(const Stmt& stmt, double executions, double copies) {
  switch (stmt.kind) {
    case StmtKind::kBlock:
      for (const StmtPtr& child : stmt.children) Walk(*child, executions, copies);
      return;
    case StmtKind::kFor: WalkFor(stmt, executions, copies); return;
    case StmtKind::kIf: {
      const double taken = Probability(*stmt.value);
      branches_ += executions;
      code_size_ += copies;
      Walk(*stmt.children[0], executions * taken, copies);
      if (stmt.children.size() > 1) Walk(*stmt.children[1], executions * (1 - taken), copies);
      return;
    }
    case StmtKind::kLet:
      variables_[static_cast<std::size_t>(stmt.var)].value = stmt.value.get();
      AddStatement(stmt, executions, copies);
      return;
    case StmtKind::kStore:
    case StmtKind::kCopy: AddStatement(stmt, executions, copies); return;
    case StmtKind::kBarrier:
    case StmtKind::kCombine:
      meetings_.push_back({stack_.empty() ? -1 : stack_.back(), executions, stmt.width});
      return;
    case StmtKind::kCommitCopies:
    case StmtKind::kWaitCopies:
    case StmtKind::kComment: return;
  }
}

void Nest::WalkFor(const Stmt& stmt, double executions, double copies) {
  const int id = static_cast<int>(loops_.size());
  NestLoop loop;
  loop.parent = stack_.empty() ? -1 : stack_.back();
  loop.depth = static_cast<int>(stack_.size());
  loop.variable = stmt.var;
  loop.extent_expression = stmt.extent.get();
  loop.kind = stmt.loop;
  loop.unroll = stmt.unroll;
  loop.extent = std::max(0.0, Average(*stmt.extent));
  loop.entries = executions;
  loop.first_access = static_cast<int>(accesses_.size());
  loop.first_statement = static_cast<int>(statements_.size());
  loops_.push_back(loop);
  stack_.push_back(id);
  variables_[static_cast<std::size_t>(stmt.var)] = {loop.depth, nullptr,
                                                    std::floor((loop.extent - 1) / 2)};
  if (stmt.loop == LoopKind::kUnrolled)
    copies *= loop.extent;
  else if (stmt.loop == LoopKind::kSerial && stmt.unroll > 1)
    copies *= std::min<double>(stmt.unroll, loop.extent);
  Walk(*stmt.children[0], executions * loop.extent, copies);
  stack_.pop_back();
  NestLoop& done = loops_[static_cast<std::size_t>(id)];
  done.end_access = static_cast<int>(accesses_.size());
  done.end_statement = static_cast<int>(statements_.size());
  done.end_loop = static_cast<int>(loops_.size());
}

void Nest::AddStatement(const Stmt& stmt, double executions, double copies) {
  NestStatement statement;
  statement.loop = stack_.empty() ? -1 : stack_.back();
  statement.depth = static_cast<int>(stack_.size());
  statement.executions = executions;
  statement.type = stmt.value->type;
  statement.first_access = static_cast<int>(accesses_.size());
  const int id = static_cast<int>(statements_.size());
  statements_.push_back(statement);  // index operations may add to it
  NestStatement counted = statement;
  CountOps(*stmt.value, counted, false);
  if (stmt.kind != StmtKind::kLet) {
    const Buffer& buffer = program_->buffers[static_cast<std::size_t>(stmt.buffer)];
    counted.buffer = stmt.buffer;
    counted.type = buffer.type;
    counted.to_register = buffer.scope == Scope::kRegister;
    counted.recurrent = ReadsBuffer(*stmt.value, stmt.buffer);
    AddIndex(*stmt.index, 1, counted.target);
    if (!counted.to_register) {
      CountIndexOps(*stmt.index);
      accesses_.push_back(
          {stmt.buffer, true, id, counted.depth, executions, counted.target, stmt.index.get()});
    }
  }
  counted.end_access = static_cast<int>(accesses_.size());
  NestStatement& stored = statements_[static_cast<std::size_t>(id)];
  for (std::size_t i = 0; i < counted.ops.size(); ++i) counted.ops[i] += stored.ops[i];
  stored = counted;
  double operations = 1;
  for (const double ops : counted.ops) operations += ops;
  code_size_ += copies * operations;
}

void Nest::CountOps(const Expr& e, NestStatement& statement, bool inside_fma) {
  switch (e.op) {
    case Op::kInt:
    case Op::kFloat:
    case Op::kVar:
    case Op::kExtent: return;
    case Op::kLoad: {
      if (program_->buffers[static_cast<std::size_t>(e.index)].scope == Scope::kRegister) return;
      NestAccess access;
      access.buffer = e.index;
      access.statement = static_cast<int>(statements_.size()) - 1;
      access.depth = statement.depth;
      access.executions = statement.executions;
      access.expression = e.args[0].get();
      AddIndex(*e.args[0], 1, access.index);
      accesses_.push_back(access);
      CountIndexOps(*e.args[0]);
      return;
    }
    default: break;
  }
  bool fused = false;
  if (!IsInteger(e.type) && (e.op == Op::kAdd || e.op == Op::kSub) &&
      (IsMultiply(*e.args[0]) || IsMultiply(*e.args[1]))) {
    OpsOf(statement, OpClass::kFusedMultiplyAdd) += 1;
    fused = true;
  } else if (!(inside_fma && IsMultiply(e))) {
    OpsOf(statement, ClassOf(e)) += 1;
  }
  // A product of complex numbers is two, the second one added to the first.
  if (e.type == DataType::kC64 && IsMultiply(e)) OpsOf(statement, OpClass::kFusedMultiplyAdd) += 1;
  for (const ExprPtr& arg : e.args) {
    CountOps(*arg, statement, fused);
    if (fused && IsMultiply(*arg)) fused = false;  // one product is fused, the other one is not
  }
}

// Integer division in an index is paid as often as the deepest loop that it depends on turns.
void Nest::CountIndexOps(const Expr& e) {
  if (e.op == Op::kDiv || e.op == Op::kMod) {
    const bool power =
        e.args[1]->op == Op::kInt && (e.args[1]->integer & (e.args[1]->integer - 1)) == 0;
    const std::uint32_t depends = DependsOn(e);
    double share = 1;
    for (int depth = static_cast<int>(stack_.size()) - 1; depth >= 0; --depth) {
      if (depth < 32 && (depends >> depth) & 1) break;
      share /= std::max(
          1.0, loops_[static_cast<std::size_t>(stack_[static_cast<std::size_t>(depth)])].extent);
    }
    OpsOf(statements_.back(), power ? OpClass::kInteger : OpClass::kIntegerDivide) += share;
  }
  if (e.op == Op::kLoad) OpsOf(statements_.back(), OpClass::kInteger) += 1;
  for (const ExprPtr& arg : e.args) CountIndexOps(*arg);
}

void Nest::AddIndex(const Expr& e, double scale, LinearIndex& out) {
  switch (e.op) {
    case Op::kInt: out.constant += scale * static_cast<double>(e.integer); return;
    case Op::kVar: {
      const NestVariable& variable = variables_[static_cast<std::size_t>(e.index)];
      if (variable.value)
        AddIndex(*variable.value, scale, out);
      else if (variable.depth >= 0 && variable.depth < kMaxNestDepth)
        out.stride[static_cast<std::size_t>(variable.depth)] += scale;
      return;
    }
    case Op::kAdd:
      AddIndex(*e.args[0], scale, out);
      AddIndex(*e.args[1], scale, out);
      return;
    case Op::kSub:
      AddIndex(*e.args[0], scale, out);
      AddIndex(*e.args[1], -scale, out);
      return;
    case Op::kNeg: AddIndex(*e.args[0], -scale, out); return;
    case Op::kMul:
      if (e.args[1]->op == Op::kInt)
        return AddIndex(*e.args[0], scale * static_cast<double>(e.args[1]->integer), out);
      if (e.args[0]->op == Op::kInt)
        return AddIndex(*e.args[1], scale * static_cast<double>(e.args[0]->integer), out);
      return AddIndex(*e.args[0], scale * std::max(1.0, Evaluate(*e.args[1])), out);
    case Op::kDiv:
      return AddIndex(*e.args[0], scale / std::max(1.0, std::abs(Evaluate(*e.args[1]))), out);
    case Op::kMod: {
      LinearIndex inner;
      AddIndex(*e.args[0], 1, inner);
      const double modulus = std::max(1.0, std::abs(Evaluate(*e.args[1])));
      for (std::size_t depth = 0; depth < inner.stride.size(); ++depth)
        out.stride[depth] += scale * std::fmod(inner.stride[depth], modulus);
      out.indirect |= inner.indirect;
      return;
    }
    case Op::kMin:
    case Op::kMax: return AddIndex(e.args[0]->op == Op::kInt ? *e.args[1] : *e.args[0], scale, out);
    case Op::kSelect: return AddIndex(*e.args[1], scale, out);
    case Op::kCast: return AddIndex(*e.args[0], scale, out);
    case Op::kLoad: out.indirect = true; return AddIndex(*e.args[0], 0, out);
    default: return;
  }
}

std::uint32_t Nest::DependsOn(const Expr& e) const {
  if (e.op == Op::kVar) {
    const NestVariable& variable = variables_[static_cast<std::size_t>(e.index)];
    if (variable.value) return DependsOn(*variable.value);
    return variable.depth >= 0 && variable.depth < 32 ? 1u << variable.depth : 0u;
  }
  std::uint32_t mask = 0;
  for (const ExprPtr& arg : e.args) mask |= DependsOn(*arg);
  return mask;
}

double Nest::Evaluate(const Expr& e) const {
  const auto arg = [&](std::size_t i) { return Evaluate(*e.args[i]); };
  switch (e.op) {
    case Op::kInt: return static_cast<double>(e.integer);
    case Op::kFloat: return e.number;
    case Op::kVar: {
      const NestVariable& variable = variables_[static_cast<std::size_t>(e.index)];
      return variable.value ? Evaluate(*variable.value) : variable.sample;
    }
    case Op::kAdd: return arg(0) + arg(1);
    case Op::kSub: return arg(0) - arg(1);
    case Op::kMul: return arg(0) * arg(1);
    case Op::kNeg: return -arg(0);
    case Op::kDiv: {
      const double divisor = arg(1);
      return divisor == 0 ? 0 : std::floor(arg(0) / divisor);
    }
    case Op::kMod: {
      const double divisor = arg(1), value = arg(0);
      return divisor == 0 ? 0 : value - std::floor(value / divisor) * divisor;
    }
    case Op::kMin: return std::min(arg(0), arg(1));
    case Op::kMax: return std::max(arg(0), arg(1));
    case Op::kLess: return arg(0) < arg(1);
    case Op::kLessEqual: return arg(0) <= arg(1);
    case Op::kEqual: return arg(0) == arg(1);
    case Op::kNotEqual: return arg(0) != arg(1);
    case Op::kAnd: return arg(0) != 0 && arg(1) != 0;
    case Op::kOr: return arg(0) != 0 || arg(1) != 0;
    case Op::kNot: return arg(0) == 0;
    case Op::kSelect: return arg(0) != 0 ? arg(1) : arg(2);
    case Op::kCast: return arg(0);
    default: return 1;  // loaded values and symbolic extents: of unknown, small size
  }
}

void Nest::Sample(Sampling& sampling, int next, double weight) {
  if (next == sampling.count) {
    sampling.sum += weight * Evaluate(*sampling.expression);
    sampling.weight += weight;
    return;
  }
  const int id = stack_[static_cast<std::size_t>(sampling.depths[static_cast<std::size_t>(next)])];
  const NestLoop& loop = loops_[static_cast<std::size_t>(id)];
  double& sample = variables_[static_cast<std::size_t>(loop.variable)].sample;
  const double extent = Evaluate(*loop.extent_expression);
  if (extent <= sampling.points) {
    for (sample = 0; sample < extent; ++sample) Sample(sampling, next + 1, weight);
    return;
  }
  // The first, the last, and evenly spread ones that stand for the others.
  const int between = sampling.points - 2;
  sample = 0;
  Sample(sampling, next + 1, weight);
  for (int i = 0; i < between; ++i) {
    sample = std::floor(1 + (i + 0.5) * (extent - 2) / between);
    Sample(sampling, next + 1, weight * (extent - 2) / between);
  }
  sample = extent - 1;
  Sample(sampling, next + 1, weight);
}

double Nest::Average(const Expr& e) {
  if (e.op == Op::kInt) return static_cast<double>(e.integer);
  std::uint32_t depends = DependsOn(e);
  if (depends == 0) return Evaluate(e);
  Sampling sampling;
  sampling.expression = &e;
  for (int depth = std::min<int>(static_cast<int>(stack_.size()), 32) - 1; depth >= 0; --depth)
    if ((depends >> depth) & 1) {
      const NestLoop& loop =
          loops_[static_cast<std::size_t>(stack_[static_cast<std::size_t>(depth)])];
      if (loop.extent_expression->op != Op::kInt) depends |= DependsOn(*loop.extent_expression);
    }
  for (int depth = 0; depth < 32; ++depth)
    if ((depends >> depth) & 1) sampling.depths[static_cast<std::size_t>(sampling.count++)] = depth;
  constexpr int kPoints[] = {32, 10, 6, 4};
  sampling.points = kPoints[std::min(sampling.count, 4) - 1];
  Sample(sampling, 0, 1);
  for (int i = 0; i < sampling.count; ++i) {
    const NestLoop& loop = loops_[static_cast<std::size_t>(
        stack_[static_cast<std::size_t>(sampling.depths[static_cast<std::size_t>(i)])])];
    variables_[static_cast<std::size_t>(loop.variable)].sample = std::floor((loop.extent - 1) / 2);
  }
  return sampling.weight > 0 ? sampling.sum / sampling.weight : 0;
}

double Nest::Probability(const Expr& condition) { return std::clamp(Average(condition), 0.0, 1.0); }

}  // namespace kindred
