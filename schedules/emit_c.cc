#include "schedules/emit_c.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "schedules/internal/emit_context.h"
#include "schedules/internal/emit_names.h"
#include "schedules/internal/emit_stmt.h"
#include "schedules/internal/lower_common.h"

namespace kindred {
namespace {

using internal::CollectBuffers;
using internal::EmitContext;

constexpr std::array<std::string_view, 46> kReserved = {
    "auto",     "break",   "case",      "char",     "const",    "continue", "default",  "do",
    "double",   "else",    "enum",      "extern",   "float",    "for",      "goto",     "if",
    "inline",   "int",     "long",      "register", "restrict", "return",   "short",    "signed",
    "sizeof",   "static",  "struct",    "switch",   "typedef",  "union",    "unsigned", "void",
    "volatile", "while",   "asm",       "typeof",   "linux",    "unix",     "i386",     "main",
    "buffers",  "extents", "workspace", "int64_t",  "uint64_t", "errno"};

// The types and pointers at the start of an entry function.
void Prologue(EmitContext& context, const std::set<int>& used, const std::set<int>& written,
              int first_prepared) {
  const Program& program = context.program;
  int prepared = first_prepared;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    const std::string_view type = internal::CTypeOf(internal::StorageElement(b.type));
    const int id = static_cast<int>(i);
    const std::string_view constant = written.count(id) ? "" : "const ";
    const std::string& name = context.buffer_names[i];
    if (b.scope == Scope::kArgument || b.scope == Scope::kPrepared) {
      const int place = b.scope == Scope::kArgument ? b.argument : prepared++;
      if (used.count(id))
        context.Line(fmt::format("{}{} *restrict {} = ({}{} *)buffers[{}];", constant, type, name,
                                 constant, type, place));
    } else if (b.scope == Scope::kWorkspace) {
      if (used.count(id))
        context.Line(fmt::format("{0} *restrict {1} = ({0} *)((char *)workspace + {2});", type,
                                 name, offset));
      offset += (b.elements * ByteSize(b.type) + 63) / 64 * 64;
    }
  }
  for (std::size_t i = 0; i < context.symbol_names.size(); ++i)
    context.Line(fmt::format("const int64_t {} = extents[{}];", context.symbol_names[i], i));
  context.Line("(void)buffers, (void)extents, (void)workspace;");
}

bool Threaded(EmitContext& context, const Target& target, const std::string& entry,
              const StmtPtr& root, int first_prepared, std::string& code) {
  context.out.clear();
  context.indent = 1;
  context.ranges.assign(context.program.variables.size(), std::nullopt);
  std::set<int> used, written;
  CollectBuffers(*root, used, written);
  Prologue(context, used, written, first_prepared);
  internal::StatementPrinter printer(context, target);
  printer.Function(root);
  context.Line("return 0;");
  code += fmt::format(
      "\nint {}(void *const *buffers, const int64_t *extents, void *workspace) {{\n{}}}\n", entry,
      context.out);
  return printer.uses_threads();
}

bool Loads(const Expr& e) {
  bool loads = false;
  Visit(e, [&](const Expr& node) { loads = loads || node.op == Op::kLoad; });
  return loads;
}

// Whether some element is read only where a condition holds.
bool HasGuardedLoads(const Stmt& stmt) {
  bool guarded = stmt.kind == StmtKind::kIf;
  for (const ExprPtr& e : {stmt.index, stmt.value}) {
    if (!e) continue;
    Visit(*e, [&](const Expr& node) {
      if (node.op == Op::kSelect) guarded = guarded || Loads(*node.args[1]) || Loads(*node.args[2]);
    });
  }
  return guarded || std::any_of(stmt.children.begin(), stmt.children.end(),
                                [](const StmtPtr& child) { return HasGuardedLoads(*child); });
}

}  // namespace

KernelSource EmitC(const Program& program, const Workload& workload, const Target& target) {
  KernelSource source;
  source.entry = program.name;
  source.compiler = program.compiler;
  source.workspace_bytes = program.WorkspaceBytes();

  EmitContext context(program, workload);
  internal::Names names(context.taken_names, kReserved);
  for (const Buffer& b : program.buffers) context.buffer_names.push_back(names.Unique(b.name));
  for (const Symbol& s : workload.symbols) context.symbol_names.push_back(names.Unique(s.name));
  for (const VarInfo& v : program.variables)
    context.variable_names.push_back(names.Identifier(v.name));
  context.wanted_names = context.variable_names;
  context.register_lanes = internal::RegisterLanes(program);

  const int first_prepared = static_cast<int>(ArgumentTensors(workload).size());
  source.arguments = internal::KernelArguments(program, workload);

  std::string functions;
  bool threaded = false;
  if (program.prepare) {
    source.prepare_entry = program.name + "_prepare";
    threaded |=
        Threaded(context, target, source.prepare_entry, program.prepare, first_prepared, functions);
  }
  threaded |= Threaded(context, target, source.entry, program.body, first_prepared, functions);

  source.code = internal::HeadComment(program, workload) +
                "\ntypedef __INT64_TYPE__ int64_t;\ntypedef __UINT64_TYPE__ uint64_t;\n" +
                context.helpers.Source() + functions;
  source.flags = {"-O3", "-march=native"};
  if (!program.plain) {
    for (const char* flag : {"-std=gnu11", "-fno-math-errno", "-fno-trapping-math"})
      source.flags.emplace_back(flag);
    // GCC 12 unrolls short guarded loops whole, and without trapping math then turns masked loads
    // with constant masks into blends that read the whole vector, beyond the end of a tensor. Plain
    // nests without guards keep the unrolling: they need it to be vectorised.
    if (source.compiler == "gcc" && HasGuardedLoads(*program.body))
      source.flags.emplace_back("--param=max-completely-peel-times=0");
    if (target.vector_bytes >= 64) source.flags.emplace_back("-mprefer-vector-width=512");
    // Not -fassociative-math: it folds the error terms of argument reductions away. Infinities and
    // NaNs stay.
    if (workload.contract.fast_math)
      source.flags.insert(source.flags.end(), {"-freciprocal-math", "-fno-signed-zeros"});
    if (threaded) source.flags.emplace_back("-fopenmp");
    source.flags.insert(source.flags.end(), program.flags.begin(), program.flags.end());
  }
  if (context.helpers.uses_libm()) source.flags.emplace_back("-lm");
  return source;
}

}  // namespace kindred
