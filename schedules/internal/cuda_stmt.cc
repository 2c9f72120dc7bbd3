#include "schedules/internal/cuda_stmt.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "schedules/internal/cuda_expr.h"

namespace kindred::internal {
namespace {

constexpr std::string_view kAxes = "xyz";
constexpr std::int64_t kPackBytes = 16;  // the widest memory operation

// Loads that are evaluated whatever the conditions in `e` say, or may be.
void CollectLoads(const CudaContext& context, const Expr& e, std::vector<const Expr*>& loads) {
  if (e.op == Op::kLoad) return loads.push_back(&e);
  if (e.op == Op::kSelect) {
    CollectLoads(context, *e.args[0], loads);
    for (int i : {1, 2}) {
      const Expr& branch = *e.args[static_cast<std::size_t>(i)];
      if (context.Safe(branch)) CollectLoads(context, branch, loads);
    }
    return;
  }
  if (e.op == Op::kAnd || e.op == Op::kOr) return;
  for (const ExprPtr& arg : e.args) CollectLoads(context, *arg, loads);
}

}  // namespace

ExprPtr CudaStatementPrinter::Known(const ExprPtr& e) const {
  return active_ == 0 ? e : SubstituteVars(e, values_);
}

void CudaStatementPrinter::Bind(int var, const std::string& value) {
  const auto v = static_cast<std::size_t>(var);
  const bool wide = context_.IsWide(*VarExpr(var));
  std::string& name = context_.variable_names[v];
  name = TakeName(context_.taken_names, context_.wanted_names[v]);
  context_.Line(fmt::format("const {} {} = {};", wide ? "long long" : "int", name, value));
}

void CudaStatementPrinter::Step(const StmtPtr& step) {
  StmtPtr inside = step;
  for (const LoopKind kind : {LoopKind::kBlock, LoopKind::kThread}) {
    std::vector<const Stmt*> loops;
    while (inside->kind == StmtKind::kFor && inside->loop == kind) {
      loops.push_back(inside.get());
      inside = inside->children[0];
    }
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const std::size_t axis = loops.size() - 1 - i;
      const auto var = static_cast<std::size_t>(loops[i]->var);
      const auto bounds = BoundsOf(*loops[i]->extent, context_.Ranges());
      context_.ranges[var] =
          bounds ? std::optional(Bounds{0, std::max<std::int64_t>(bounds->high - 1, 0)})
                 : std::nullopt;
      context_.divisors[var] = 1;
      const bool block = kind == LoopKind::kBlock;
      if (block)
        grid_[axis] = loops[i]->extent;
      else
        block_[axis] = static_cast<int>(loops[i]->extent->integer);
      if (IsInt(*loops[i]->extent, 1)) {
        values_[var] = IntExpr(0);
        ++active_;
      } else {
        Bind(loops[i]->var,
             fmt::format("(int){}.{}", block ? "blockIdx" : "threadIdx", kAxes[axis]));
      }
    }
  }
  Print(inside);
}

void CudaStatementPrinter::Braced(const std::string& head, const StmtPtr& body) {
  context_.Line(head + " {");
  ++context_.indent;
  fresh_scope_ = true;
  Print(body);
  --context_.indent;
  context_.Line("}");
}

void CudaStatementPrinter::Print(const StmtPtr& s) {
  const bool fresh = std::exchange(fresh_scope_, false);
  switch (s->kind) {
    case StmtKind::kComment: context_.Line("// " + s->text); return;
    case StmtKind::kBarrier: context_.Line("kd_syncthreads();"); return;
    case StmtKind::kBlock:
      fresh_scope_ = fresh;
      PrintBlock(*s);
      return;
    case StmtKind::kLet: {
      const auto var = static_cast<std::size_t>(s->var);
      const ExprPtr value = Known(s->value);
      CudaExprPrinter printer(context_);
      printer.Share(*value);
      if (context_.program.variables[var].type == DataType::kI64) {
        context_.ranges[var] = BoundsOf(*value, context_.Ranges());
        context_.divisors[var] = context_.Divisor(*value);
        Bind(s->var, printer.PrintIndex(value).text);
        return;
      }
      const std::string text = printer.Print(value).text;
      std::string& name = context_.variable_names[var];
      name = TakeName(context_.taken_names, context_.wanted_names[var]);
      context_.Line(fmt::format("const {} {} = {};",
                                CudaComputeType(context_.program.variables[var].type), name, text));
      return;
    }
    case StmtKind::kIf: Branch(*s); return;
    case StmtKind::kCombine: Combine(*s); return;
    case StmtKind::kCopy: Copy(*s); return;
    case StmtKind::kCommitCopies: context_.Line("kd_cp_async_commit();"); return;
    case StmtKind::kWaitCopies:
      context_.Line(fmt::format("kd_cp_async_wait<{}>();", s->width));
      return;
    case StmtKind::kStore: {
      const ExprPtr value = Known(s->value), index = Known(s->index);
      CudaExprPrinter printer(context_);
      printer.Share(*value);
      const std::string text = printer.Stored(context_.BufferAt(s->buffer).type, value);
      context_.Line(fmt::format("{} = {};", printer.Element(s->buffer, index), text));
      return;
    }
    case StmtKind::kFor: For(*s); return;
  }
}

void CudaStatementPrinter::PrintBlock(const Stmt& s) {
  const bool lets = std::any_of(s.children.begin(), s.children.end(),
                                [](const StmtPtr& c) { return c->kind == StmtKind::kLet; });
  const bool braces = lets && !std::exchange(fresh_scope_, false);
  if (braces) {
    context_.Line("{");
    ++context_.indent;
  }
  std::vector<std::size_t> set, named;
  for (const StmtPtr& child : s.children) {
    if (child->kind == StmtKind::kLet) {
      const auto var = static_cast<std::size_t>(child->var);
      const ExprPtr value = Known(child->value);
      if (IsConstant(*value)) {
        values_[var] = value;
        ++active_;
        set.push_back(var);
        continue;
      }
      named.push_back(var);
    }
    fresh_scope_ = false;
    Print(child);
  }
  for (const std::size_t var : named) context_.taken_names.erase(context_.variable_names[var]);
  for (const std::size_t var : set) {
    values_[var] = nullptr;
    --active_;
  }
  if (braces) {
    --context_.indent;
    context_.Line("}");
  }
}

void CudaStatementPrinter::Branch(const Stmt& s) {
  const ExprPtr condition = Known(s.value);
  const auto decided = Decide(*condition, context_.Ranges());
  if (decided) {
    if (*decided)
      Print(s.children[0]);
    else if (s.children.size() > 1)
      Print(s.children[1]);
    return;
  }
  CudaExprPrinter printer(context_);
  const std::string head = fmt::format("if ({})", printer.Print(condition).text);
  // Inside, variables are below what they were compared with.
  const auto ranges = context_.ranges;
  std::vector<ExprPtr> facts = {condition};
  while (!facts.empty()) {
    const ExprPtr fact = facts.back();
    facts.pop_back();
    if (fact->op == Op::kAnd) facts.insert(facts.end(), fact->args.begin(), fact->args.end());
    if (fact->op != Op::kLess || fact->args[0]->op != Op::kVar) continue;
    const auto limit = BoundsOf(*fact->args[1], context_.Ranges());
    auto& range = context_.ranges[static_cast<std::size_t>(fact->args[0]->index)];
    if (range && limit && limit->high - 1 >= range->low)
      range->high = std::min(range->high, limit->high - 1);
  }
  Braced(head, s.children[0]);
  context_.ranges = ranges;
  if (s.children.size() > 1) Braced("else", s.children[1]);
}

void CudaStatementPrinter::For(const Stmt& s) {
  const auto var = static_cast<std::size_t>(s.var);
  const ExprPtr extent = Known(s.extent);
  const auto count = extent->op == Op::kInt ? std::optional(extent->integer) : std::nullopt;
  if (count && *count <= 0) return;
  context_.divisors[var] = 1;
  if (count && *count == 1) {
    values_[var] = IntExpr(0);
    ++active_;
    Print(s.children[0]);
    values_[var] = nullptr;
    --active_;
    return;
  }
  const auto bounds = BoundsOf(*extent, context_.Ranges());
  context_.ranges[var] =
      bounds ? std::optional(Bounds{0, std::max<std::int64_t>(bounds->high - 1, 0)}) : std::nullopt;
  if (s.loop == LoopKind::kVectorized) {
    const std::function<void(const StmtPtr&)> each = [&](const StmtPtr& child) {
      if (child->kind == StmtKind::kBlock)
        for (const StmtPtr& c : child->children) each(c);
      else if (child->kind == StmtKind::kStore)
        Vector(*child, s.var, static_cast<int>(*count));
    };
    each(s.children[0]);
    return;
  }
  CudaExprPrinter printer(context_);
  const std::string limit = Wrap(printer.Print(extent), kSum);
  std::string& name = context_.variable_names[var];
  name = TakeName(context_.taken_names, context_.wanted_names[var]);
  if (s.loop == LoopKind::kUnrolled)
    context_.Line("#pragma unroll");
  else if (s.unroll > 1)
    context_.Line(fmt::format("#pragma unroll {}", s.unroll));
  const std::string_view type = context_.IsWide(*VarExpr(s.var)) || context_.IsWide(*extent)
                                    ? std::string_view("long long")
                                    : std::string_view("int");
  Braced(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1})", type, name, limit), s.children[0]);
  context_.taken_names.erase(name);
}

// One store of `lanes` elements. Loads and stores of neighbouring elements whose alignment is known
// move several at once; what lies between is done lane by lane.
void CudaStatementPrinter::Vector(const Stmt& store, int var, int lanes) {
  const ExprPtr value = Known(store.value), index = Known(store.index);
  // Elements of one memory operation; 1: none.
  const auto width = [&](int buffer, const ExprPtr& at) -> int {
    const Buffer& b = context_.BufferAt(buffer);
    if (b.scope == Scope::kRegister) return 1;
    const ExprPtr start = WithoutVar(at, var);
    if (!start) return 1;
    int elements = static_cast<int>(std::min<std::int64_t>(lanes, kPackBytes / ByteSize(b.type)));
    const std::int64_t divisor = context_.Divisor(*start);
    while (elements > 1 && divisor % elements != 0) elements /= 2;
    return elements;
  };
  const auto pack = [&](int buffer, int elements) {
    return fmt::format("kd_vec<{}, {}>", CudaStorageType(context_.BufferAt(buffer).type), elements);
  };
  const auto lane_of = [&](const std::string& name, int elements, const std::string& lane) {
    if (elements == lanes) return fmt::format("{}.v[{}]", name, lane);
    return fmt::format("{0}[{2} / {1}].v[{2} % {1}]", name, elements, lane);
  };
  const auto count_of = [&](int elements) {
    return elements == lanes ? "" : fmt::format("[{}]", lanes / elements);
  };
  std::vector<std::string> taken;
  const auto temporary = [&](const std::string& wanted) {
    taken.push_back(TakeName(context_.taken_names, wanted));
    return taken.back();
  };
  const auto name_for = [&](int buffer) {
    return temporary(context_.buffer_names[static_cast<std::size_t>(buffer)] + "_pack");
  };
  const std::string lane = temporary(context_.wanted_names[static_cast<std::size_t>(var)]);
  const std::string part = temporary("part");
  context_.Line("{");
  ++context_.indent;
  CudaExprPrinter printer(context_);
  std::vector<const Expr*> loads;
  CollectLoads(context_, *value, loads);
  std::vector<std::pair<const Expr*, std::string>> packed;
  for (const Expr* load : loads) {
    const int elements = width(load->index, load->args[0]);
    if (elements == 1) continue;
    const auto same = std::find_if(packed.begin(), packed.end(), [&](const auto& other) {
      return other.first->index == load->index && SameExpr(*other.first->args[0], *load->args[0]);
    });
    if (same != packed.end()) {
      printer.Loaded(*load, same->second);
      continue;
    }
    const std::string name = name_for(load->index);
    const std::string& from = context_.buffer_names[static_cast<std::size_t>(load->index)];
    const std::string start = printer.PrintIndex(WithoutVar(load->args[0], var)).text;
    const std::string type = pack(load->index, elements);
    if (elements == lanes) {
      context_.Line(
          fmt::format("const {} {} = kd_load<{}>({} + {});", type, name, elements, from, start));
    } else {
      context_.Line(fmt::format("{} {}{};", type, name, count_of(elements)));
      context_.Line("#pragma unroll");
      context_.Line(
          fmt::format("for (int {5} = 0; {5} < {0}; ++{5}) {1}[{5}] = kd_load<{2}>({3} + "
                      "{4} + {5} * {2});",
                      lanes / elements, name, elements, from, start, part));
    }
    packed.emplace_back(load, lane_of(name, elements, lane));
    printer.Loaded(*load, packed.back().second);
  }
  const int stored = width(store.buffer, index);
  const std::string result = stored > 1 ? name_for(store.buffer) : "";
  if (stored > 1)
    context_.Line(fmt::format("{} {}{};", pack(store.buffer, stored), result, count_of(stored)));
  context_.Line("#pragma unroll");
  context_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", lane, lanes));
  ++context_.indent;
  context_.variable_names[static_cast<std::size_t>(var)] = lane;
  printer.Share(*value);
  const std::string text = printer.Stored(context_.BufferAt(store.buffer).type, value);
  context_.Line(fmt::format(
      "{} = {};", stored > 1 ? lane_of(result, stored, lane) : printer.Element(store.buffer, index),
      text));
  --context_.indent;
  context_.Line("}");
  if (stored > 1) {
    const std::string& into = context_.buffer_names[static_cast<std::size_t>(store.buffer)];
    const std::string start = printer.PrintIndex(WithoutVar(index, var)).text;
    if (stored == lanes) {
      context_.Line(fmt::format("kd_store({} + {}, {});", into, start, result));
    } else {
      context_.Line("#pragma unroll");
      context_.Line(
          fmt::format("for (int {5} = 0; {5} < {0}; ++{5}) kd_store({1} + {2} + {5} * "
                      "{3}, {4}[{5}]);",
                      lanes / stored, into, start, stored, result, part));
    }
  }
  --context_.indent;
  context_.Line("}");
  for (const std::string& name : taken) context_.taken_names.erase(name);
}

}  // namespace kindred::internal
