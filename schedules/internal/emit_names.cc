#include "schedules/internal/emit_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "schedules/internal/emit_context.h"
#include "schedules/text_form.h"

namespace kindred::internal {

std::string Names::Unique(const std::string& wanted) {
  return TakeName(taken_, Identifier(wanted));
}

std::string Names::Identifier(const std::string& wanted) const {
  std::string base;
  for (const char c : wanted)
    base += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) || base[0] == '_')
    base = "v" + base;
  // t0, t1, ... are the printer's temporaries; x_0 could be an element of the registers x.
  const bool temporary = base.size() > 1 && base[0] == 't' &&
                         std::all_of(base.begin() + 1, base.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; });
  if (temporary) base = "tensor" + base.substr(1);
  const bool reserved = std::find(reserved_.begin(), reserved_.end(), base) != reserved_.end() ||
                        base.rfind("kd_", 0) == 0;
  return reserved ? base + "_" : base;
}

std::string HeadComment(const Program& program, const Workload& workload) {
  std::string text = fmt::format("// Kernel {}.\n//\n// Computes:\n", program.name);
  const auto lines = [&text](const std::string& block) {
    std::istringstream in(block);
    for (std::string line; std::getline(in, line);) {
      while (!line.empty() && (line.back() == '\\' || line.back() == '\r')) line.pop_back();
      text += "//   " + line + "\n";
    }
  };
  lines(PrintWorkload(workload));
  if (!program.head_comment.empty()) {
    text += "// Schedule:\n";
    lines(program.head_comment);
  }
  return text;
}

std::vector<KernelArgument> KernelArguments(const Program& program, const Workload& workload) {
  std::vector<KernelArgument> result;
  for (const int id : ArgumentTensors(workload)) {
    const Tensor& t = workload.tensors[static_cast<std::size_t>(id)];
    result.push_back(
        {id, t.name, t.type, Elements(t),
         t.role == Role::kOutput ? KernelArgument::Access::kWrite : KernelArgument::Access::kRead,
         "row-major"});
  }
  for (const Buffer& b : program.buffers)
    if (b.scope == Scope::kPrepared)
      result.push_back(
          {-1, b.name, b.type, b.elements, KernelArgument::Access::kPrepared, b.layout});
  return result;
}

void CollectBuffers(const Stmt& s, std::set<int>& used, std::set<int>& written) {
  const auto loads = [&used](const ExprPtr& e) {
    if (e)
      Visit(*e, [&](const Expr& node) {
        if (node.op == Op::kLoad) used.insert(node.index);
      });
  };
  loads(s.index);
  loads(s.value);
  loads(s.extent);
  if (s.kind == StmtKind::kStore || s.kind == StmtKind::kCopy) {
    used.insert(s.buffer);
    written.insert(s.buffer);
  }
  for (const StmtPtr& child : s.children) CollectBuffers(*child, used, written);
}

}  // namespace kindred::internal
