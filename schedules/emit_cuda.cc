#include "schedules/emit_cuda.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "schedules/internal/cuda_context.h"
#include "schedules/internal/cuda_prelude.h"
#include "schedules/internal/cuda_stmt.h"
#include "schedules/internal/emit_names.h"

namespace kindred {
namespace {

using internal::CudaContext;

constexpr auto kReserved = std::to_array<std::string_view>(
    {"alignas",  "alignof",  "and",      "asm",          "auto",      "bitand",        "bitor",
     "blockDim", "blockIdx", "bool",     "break",        "case",      "catch",         "char",
     "class",    "compl",    "const",    "constexpr",    "continue",  "decltype",      "default",
     "delete",   "do",       "double",   "dynamic_cast", "else",      "enum",          "errno",
     "explicit", "export",   "extern",   "false",        "float",     "for",           "friend",
     "goto",     "gridDim",  "half",     "if",           "inline",    "int",           "linux",
     "long",     "main",     "mutable",  "namespace",    "new",       "noexcept",      "not",
     "nullptr",  "operator", "or",       "private",      "protected", "public",        "register",
     "return",   "short",    "signed",   "sizeof",       "static",    "static_assert", "struct",
     "switch",   "template", "this",     "threadIdx",    "throw",     "true",          "try",
     "typedef",  "typeid",   "typename", "union",        "unix",      "unsigned",      "using",
     "virtual",  "void",     "volatile", "warpSize",     "while",     "xor",           "exp",
     "log",      "sqrt",     "rsqrt",    "erf",          "tanh",      "sin",           "cos",
     "tan",      "floor",    "ceil",     "round",        "abs",       "min",           "max",
     "pow",      "dim3",     "clock"});

constexpr std::int64_t kWorkspaceAlignment = 256, kSharedAlignment = 128;

std::int64_t Rounded(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

// Declarations of what a step uses, and the step's list of parameters.
class Declarations {
 public:
  Declarations(CudaContext& context, const StmtPtr& root) : context_(context) {
    internal::CollectBuffers(*root, used_, written_);
  }

  std::string Parameters(KernelStep& step) const {
    const Program& program = context_.program;
    std::string text;
    const auto add = [&](KernelStep::Parameter::Kind kind, std::int64_t value,
                         const std::string& declaration) {
      step.parameters.push_back({kind, value});
      text += (text.empty() ? "" : ", ") + declaration;
    };
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& b = program.buffers[i];
      const int id = static_cast<int>(i);
      const bool workspace = b.scope == Scope::kWorkspace;
      if (used_.count(id) && (workspace || b.scope == Scope::kArgument))
        add(workspace ? KernelStep::Parameter::Kind::kWorkspace
                      : KernelStep::Parameter::Kind::kArgument,
            workspace ? offset : b.argument,
            fmt::format("{}{} *__restrict__ {}", written_.count(id) ? "" : "const ",
                        internal::CudaStorageType(b.type), context_.buffer_names[i]));
      if (workspace) offset += Rounded(b.elements * ByteSize(b.type), kWorkspaceAlignment);
    }
    for (std::size_t i = 0; i < context_.symbol_names.size(); ++i)
      add(KernelStep::Parameter::Kind::kExtent, static_cast<std::int64_t>(i),
          fmt::format("const long long {}", Passed(i)));
    return text;
  }

  // Extents, shared memory and registers, at the start of the body.
  void Locals(KernelStep& step) const {
    for (std::size_t i = 0; i < context_.symbol_names.size(); ++i)
      if (Passed(i) != context_.symbol_names[i])
        context_.Line(fmt::format("const int {} = (int){};", context_.symbol_names[i], Passed(i)));
    for (const int id : used_) {
      const Buffer& b = context_.BufferAt(id);
      const std::string& name = context_.buffer_names[static_cast<std::size_t>(id)];
      const std::string_view type = internal::CudaStorageType(b.type);
      if (b.scope == Scope::kShared) {
        if (step.shared_bytes == 0)
          context_.Line(fmt::format("KD_SHARED_MEMORY({});", kSharedAlignment));
        context_.Line(
            fmt::format("KD_SHARED({}, {}, {}, {});", type, name, step.shared_bytes, b.elements));
        step.shared_bytes += Rounded(b.elements * ByteSize(b.type), kSharedAlignment);
      } else if (b.scope == Scope::kRegister || b.scope == Scope::kStack) {
        const bool scalar = b.scope == Scope::kRegister && b.elements == 1;
        context_.Line(
            fmt::format("{} {}{};", type, name, scalar ? "" : fmt::format("[{}]", b.elements)));
      }
    }
  }

 private:
  // Extents are passed in 64 bits; one that always fits is narrowed first.
  std::string Passed(std::size_t symbol) const {
    const std::string& name = context_.symbol_names[symbol];
    return context_.IsWide(*ExtentExpr(static_cast<int>(symbol))) ? name : name + "_extent";
  }

  CudaContext& context_;
  std::set<int> used_, written_;
};

std::string EmitStep(CudaContext& context, const StmtPtr& root, KernelStep& step) {
  context.out.clear();
  context.indent = 1;
  context.temporaries = 0;
  context.ranges.assign(context.program.variables.size(), std::nullopt);
  const std::set<std::string> taken = context.taken_names;
  const Declarations declarations(context, root);
  const std::string parameters = declarations.Parameters(step);
  declarations.Locals(step);
  internal::CudaStatementPrinter printer(context);
  printer.Step(root);
  for (std::size_t i = 0; i < step.grid.size(); ++i)
    step.grid[i] = Clone(printer.grid()[i]);  // the program may go before its source
  step.block = printer.block();
  context.taken_names = taken;
  return fmt::format("\nextern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n{}}}\n",
                     step.block[0] * step.block[1] * step.block[2], step.entry, parameters,
                     context.out);
}

}  // namespace

KernelSource EmitCuda(const Program& program, const Workload& workload) {
  KernelSource source;
  source.language = KernelSource::Language::kCuda;
  source.entry = program.name;
  source.compiler = program.compiler;
  source.flags = program.flags;
  source.arguments = internal::KernelArguments(program, workload);
  for (const Buffer& b : program.buffers)
    if (b.scope == Scope::kWorkspace)
      source.workspace_bytes += Rounded(b.elements * ByteSize(b.type), kWorkspaceAlignment);

  CudaContext context(program, workload);
  internal::Names names(context.taken_names, kReserved);
  for (const Buffer& b : program.buffers) context.buffer_names.push_back(names.Unique(b.name));
  for (const Symbol& s : workload.symbols) context.symbol_names.push_back(names.Unique(s.name));
  for (const VarInfo& v : program.variables)
    context.variable_names.push_back(names.Identifier(v.name));
  context.wanted_names = context.variable_names;
  context.register_lanes.assign(program.buffers.size(), 1);

  std::vector<StmtPtr> steps;
  const StmtList all =
      program.body->kind == StmtKind::kBlock ? program.body->children : StmtList{program.body};
  for (const StmtPtr& s : all)
    if (s->kind == StmtKind::kFor) steps.push_back(s);
  std::string functions;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    KernelStep step;
    step.entry = steps.size() == 1 ? program.name : fmt::format("{}_{}", program.name, i);
    functions += EmitStep(context, steps[i], step);
    source.steps.push_back(std::move(step));
  }
  source.code = internal::HeadComment(program, workload) + "\n" + internal::CudaPrelude(functions) +
                functions;
  return source;
}

}  // namespace kindred
