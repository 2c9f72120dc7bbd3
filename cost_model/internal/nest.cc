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
      variables_[static_cast<std::size_t>(stmt.var)].depends = DependsOn(*stmt.value);
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
  variables_[static_cast<std::size_t>(stmt.var)] = {
      loop.depth, nullptr, std::floor((loop.extent - 1) / 2),
      loop.depth < 32 ? std::uint32_t{1} << loop.depth : 0};
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
  NestStatement& statement = statements_.emplace_back();
  statement.loop = stack_.empty() ? -1 : stack_.back();
  statement.depth = static_cast<int>(stack_.size());
  statement.executions = executions;
  statement.type = stmt.value->type;
  statement.first_access = static_cast<int>(accesses_.size());
  index_ops_ = {};
  CountOps(*stmt.value, statement, false);
  if (stmt.kind != StmtKind::kLet) {
    const Buffer& buffer = program_->buffers[static_cast<std::size_t>(stmt.buffer)];
    statement.buffer = stmt.buffer;
    statement.type = buffer.type;
    statement.to_register = buffer.scope == Scope::kRegister;
    statement.recurrent = ReadsBuffer(*stmt.value, stmt.buffer);
    AddIndex(*stmt.index, 1, statement.target);
    if (!statement.to_register) {
      CountIndexOps(*stmt.index);
      accesses_.push_back({stmt.buffer, true, static_cast<int>(statements_.size()) - 1,
                           statement.depth, executions, statement.target, stmt.index.get()});
    }
  }
  statement.end_access = static_cast<int>(accesses_.size());
  double operations = 1;
  for (std::size_t i = 0; i < statement.ops.size(); ++i) {
    statement.ops[i] += index_ops_[i];
    operations += statement.ops[i];
  }
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
      NestAccess& access = accesses_.emplace_back();
      access.buffer = e.index;
      access.statement = static_cast<int>(statements_.size()) - 1;
      access.depth = statement.depth;
      access.executions = statement.executions;
      access.expression = e.args[0].get();
      AddIndex(*e.args[0], 1, access.index);
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
    IndexOps(power ? OpClass::kInteger : OpClass::kIntegerDivide) += share;
  }
  if (e.op == Op::kLoad) IndexOps(OpClass::kInteger) += 1;
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

}  // namespace kindred
