#include "schedules/internal/emit_stmt.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedules/internal/emit_expr.h"
#include "schedules/internal/emit_vector.h"

namespace kindred::internal {
namespace {

void VisitStatements(const Stmt& s, const std::function<void(const Stmt&)>& visit) {
  visit(s);
  for (const StmtPtr& child : s.children) VisitStatements(*child, visit);
}

// Buffers inside parallel loops are declared there: every thread has its own.
void CollectLocals(const Program& program, const Stmt& s, bool in_parallel, std::set<int>& inside,
                   std::set<int>& outside) {
  const auto note = [&](int buffer) {
    const Scope scope = program.buffers[static_cast<std::size_t>(buffer)].scope;
    if (scope == Scope::kRegister || scope == Scope::kStack)
      (in_parallel ? inside : outside).insert(buffer);
  };
  const auto note_loads = [&](const ExprPtr& e) {
    if (e)
      Visit(*e, [&](const Expr& node) {
        if (node.op == Op::kLoad) note(node.index);
      });
  };
  if (s.kind == StmtKind::kStore) note(s.buffer);
  note_loads(s.index);
  note_loads(s.value);
  note_loads(s.extent);
  in_parallel |= s.kind == StmtKind::kFor && s.loop == LoopKind::kParallel;
  for (const StmtPtr& child : s.children)
    CollectLocals(program, *child, in_parallel, inside, outside);
}

}  // namespace

std::set<int> LocalBuffers(const Program& program, const Stmt& s) {
  std::set<int> inside, outside;
  CollectLocals(program, s, false, inside, outside);
  return outside;
}

std::vector<int> RegisterLanes(const Program& program) {
  std::vector<int> lanes(program.buffers.size(), 1);
  for (const StmtPtr& root : {program.prepare, program.body}) {
    if (!root) continue;
    VisitStatements(*root, [&](const Stmt& loop) {
      if (loop.kind != StmtKind::kFor || loop.loop != LoopKind::kVectorized) return;
      const auto note = [&](int buffer, const Expr& index) {
        if (program.buffers[static_cast<std::size_t>(buffer)].scope != Scope::kRegister) return;
        bool uses = false;
        Visit(index, [&](const Expr& e) { uses |= e.op == Op::kVar && e.index == loop.var; });
        int& slot = lanes[static_cast<std::size_t>(buffer)];
        if (uses) slot = std::max(slot, static_cast<int>(loop.extent->integer));
      };
      VisitStatements(*loop.children[0], [&](const Stmt& s) {
        if (s.kind != StmtKind::kStore) return;
        note(s.buffer, *s.index);
        Visit(*s.value, [&](const Expr& e) {
          if (e.op == Op::kLoad) note(e.index, *e.args[0]);
        });
      });
    });
  }
  return lanes;
}

ExprPtr StatementPrinter::Known(const ExprPtr& e) const {
  return active_ == 0 ? e : SubstituteVars(e, values_);
}

void StatementPrinter::Function(const StmtPtr& root) {
  Declare(LocalBuffers(context_.program, *root));
  Print(root);
}

void StatementPrinter::Declare(const std::set<int>& buffers) {
  for (const int id : buffers) {
    const Buffer& b = context_.BufferAt(id);
    const std::string& name = context_.buffer_names[static_cast<std::size_t>(id)];
    const std::string_view element = StorageElement(b.type);
    if (b.scope == Scope::kStack) {
      context_.Line(fmt::format("{} {}[{}] __attribute__((aligned(64)));", CTypeOf(element), name,
                                std::max<std::int64_t>(b.elements, 1)));
      continue;
    }
    const int lanes = context_.register_lanes[static_cast<std::size_t>(id)];
    const std::string type =
        lanes > 1 ? context_.helpers.Vector(element, lanes) : std::string(CTypeOf(element));
    std::string names;
    if (lanes == 1 && b.elements == 1) {
      names = name;
    } else {
      for (std::int64_t i = 0; i * lanes < b.elements; ++i)
        names += fmt::format("{}{}_{}", i ? ", " : "", name, i);
    }
    context_.Line(fmt::format("{} {};", type, names));
  }
}

void StatementPrinter::Braced(const std::string& head, const StmtPtr& body) {
  context_.Line(head + " {");
  ++context_.indent;
  Print(body);
  --context_.indent;
  context_.Line("}");
}

void StatementPrinter::Print(const StmtPtr& s) {
  switch (s->kind) {
    case StmtKind::kComment: context_.Line("// " + s->text); return;
    case StmtKind::kBlock: {
      const bool lets = std::any_of(s->children.begin(), s->children.end(),
                                    [](const StmtPtr& c) { return c->kind == StmtKind::kLet; });
      if (!lets) {
        for (const StmtPtr& child : s->children) Print(child);
        return;
      }
      context_.Line("{");
      ++context_.indent;
      std::vector<std::size_t> set, named;
      const auto var_of = [](const StmtPtr& let) { return static_cast<std::size_t>(let->var); };
      for (const StmtPtr& child : s->children) {
        if (child->kind == StmtKind::kLet) {
          const std::size_t var = var_of(child);
          const ExprPtr value = Known(child->value);
          if (IsConstant(*value)) {
            values_[var] = value;
            ++active_;
            set.push_back(var);
            continue;
          }
        }
        Print(child);
        if (child->kind == StmtKind::kLet) named.push_back(var_of(child));
      }
      for (const std::size_t var : named) context_.taken_names.erase(context_.variable_names[var]);
      for (const std::size_t var : set) {
        values_[var] = nullptr;
        --active_;
      }
      --context_.indent;
      context_.Line("}");
      return;
    }
    case StmtKind::kLet: {
      const auto var = static_cast<std::size_t>(s->var);
      const ExprPtr value = Known(s->value);
      const DataType type = context_.program.variables[var].type;
      ScalarPrinter printer(context_);
      printer.Share(*value);
      context_.ranges[var] = BoundsOf(*value, context_.Ranges());
      const std::string text =
          type == DataType::kI64 ? printer.PrintIndex(value).text : printer.Print(value).text;
      std::string& name = context_.variable_names[var];
      name = TakeName(context_.taken_names, context_.wanted_names[var]);
      context_.Line(fmt::format("const {} {} = {};", CTypeOf(ComputeElement(type)), name, text));
      return;
    }
    case StmtKind::kIf: {
      const ExprPtr condition = Known(s->value);
      const auto decided = Decide(*condition, context_.Ranges());
      if (decided) {
        if (*decided)
          Print(s->children[0]);
        else if (s->children.size() > 1)
          Print(s->children[1]);
        return;
      }
      ScalarPrinter printer(context_);
      Braced(fmt::format("if ({})", printer.Print(condition).text), s->children[0]);
      if (s->children.size() > 1) Braced("else", s->children[1]);
      return;
    }
    case StmtKind::kStore: Store(*s); return;
    case StmtKind::kFor: For(*s); return;
    case StmtKind::kBarrier:
    case StmtKind::kCombine:
    case StmtKind::kCopy:
    case StmtKind::kCommitCopies:
    case StmtKind::kWaitCopies: return;  // of CUDA programs
  }
}

void StatementPrinter::Store(const Stmt& s) {
  const Buffer& b = context_.BufferAt(s.buffer);
  const ExprPtr value = Known(s.value), index = Known(s.index);
  ScalarPrinter printer(context_);
  printer.Share(*value);
  printer.Assign(s.buffer, index, printer.Stored(b.type, value));
}

void StatementPrinter::For(const Stmt& s) {
  const auto var = static_cast<std::size_t>(s.var);
  const ExprPtr extent = Known(s.extent);
  const auto count = extent->op == Op::kInt ? std::optional(extent->integer) : std::nullopt;
  if (count && *count <= 0) return;
  if (s.loop == LoopKind::kVectorized && count && *count > 1) {
    const std::function<void(const StmtPtr&)> each = [&](const StmtPtr& child) {
      if (child->kind == StmtKind::kBlock) {
        for (const StmtPtr& c : child->children) each(c);
      } else if (child->kind == StmtKind::kStore) {
        Stmt store = *child;
        store.index = Known(store.index);
        store.value = Known(store.value);
        VectorPrinter(context_, s.var, static_cast<int>(*count)).PrintStore(store);
      } else {
        Print(child);
      }
    };
    context_.ranges[var] = Bounds{0, *count - 1};
    each(s.children[0]);
    return;
  }
  if (count && (s.loop == LoopKind::kUnrolled || *count == 1)) {
    if (!Horizontal(s)) Unrolled(s);
    return;
  }
  const auto bounds = BoundsOf(*extent, context_.Ranges());
  if (bounds)
    context_.ranges[var] = Bounds{0, std::max<std::int64_t>(bounds->high - 1, 0)};
  else
    context_.ranges[var] = std::nullopt;
  ScalarPrinter printer(context_);
  const std::string limit = Wrap(printer.Print(extent), kSum);
  const std::string name = TakeName(context_.taken_names, context_.wanted_names[var]);
  context_.variable_names[var] = name;
  const bool parallel =
      s.loop == LoopKind::kParallel && target_.threads > 1 && parallel_depth_ == 0;
  if (parallel) {
    uses_threads_ = true;
    context_.out +=
        fmt::format("#pragma omp parallel for schedule(static) num_threads({})\n", target_.threads);
  } else if (s.unroll > 1) {
    context_.out += fmt::format("#pragma GCC unroll {}\n", s.unroll);
  }
  context_.Line(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", name, limit));
  ++context_.indent;
  if (s.loop == LoopKind::kParallel) {
    ++parallel_depth_;
    if (parallel_depth_ == 1) Declare(LocalBuffers(context_.program, *s.children[0]));
  }
  Print(s.children[0]);
  if (s.loop == LoopKind::kParallel) --parallel_depth_;
  --context_.indent;
  context_.Line("}");
  context_.taken_names.erase(name);
}

void StatementPrinter::Unrolled(const Stmt& s) {
  const auto var = static_cast<std::size_t>(s.var);
  const std::int64_t count = Known(s.extent)->integer;
  ++active_;
  for (std::int64_t i = 0; i < count; ++i) {
    values_[var] = IntExpr(i);
    Print(s.children[0]);
  }
  values_[var] = nullptr;
  --active_;
}

// x = x op r[base + i] over all lanes i of one vector register: one horizontal reduction.
bool StatementPrinter::Horizontal(const Stmt& s) {
  const Stmt* body = s.children[0].get();
  while (body->kind == StmtKind::kBlock && body->children.size() == 1)
    body = body->children[0].get();
  const std::int64_t count = Known(s.extent)->integer;
  if (body->kind != StmtKind::kStore || count < 2 || body->value->args.size() != 2) return false;
  std::string_view op;
  switch (body->value->op) {
    case Op::kAdd: op = "add"; break;
    case Op::kMul: op = "mul"; break;
    case Op::kMax: op = "max"; break;
    case Op::kMin: op = "min"; break;
    default: return false;
  }
  const ExprPtr index = Known(body->index), total = Known(body->value->args[0]),
                lane = Known(body->value->args[1]);
  const Buffer& b = context_.BufferAt(body->buffer);
  if (context_.UsesVar(*index, s.var) || lane->op != Op::kLoad || total->op != Op::kLoad ||
      total->index != body->buffer || !SameExpr(*total->args[0], *index) ||
      context_.register_lanes[static_cast<std::size_t>(lane->index)] != count ||
      context_.BufferAt(lane->index).type != b.type ||
      StorageElement(b.type) != ComputeElement(b.type))
    return false;
  const auto affine = AsAffine(*lane->args[0], static_cast<int>(context_.program.variables.size()));
  if (!affine || affine->constant % count != 0) return false;
  for (std::size_t v = 0; v < affine->coefficients.size(); ++v)
    if (affine->coefficients[v] != (static_cast<int>(v) == s.var ? 1 : 0)) return false;
  const std::string_view element = ComputeElement(b.type);
  const std::string sum = fmt::format(
      "{}({}_{})", context_.helpers.Horizontal(op, element, static_cast<int>(count)),
      context_.buffer_names[static_cast<std::size_t>(lane->index)], affine->constant / count);
  ScalarPrinter printer(context_);
  const std::string target =
      b.scope == Scope::kRegister
          ? printer.RegisterName(body->buffer, index->integer)
          : fmt::format("{}[{}]", context_.buffer_names[static_cast<std::size_t>(body->buffer)],
                        printer.PrintIndex(index).text);
  if (op == "add" || op == "mul")
    context_.Line(fmt::format("{0} = {0} {1} {2};", target, op == "add" ? "+" : "*", sum));
  else
    context_.Line(fmt::format("{0} = {1}({0}, {2});", target,
                              context_.helpers.Scalar(fmt::format("kd_{}_{}", op, element)), sum));
  return true;
}

}  // namespace kindred::internal
