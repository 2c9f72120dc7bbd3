// Prints the statements of a program as C: expands unrolled loops, names registers, declares local
// buffers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schedules/internal/emit_context.h"
#include "schedules/target.h"

namespace kindred::internal {

class StatementPrinter {
 public:
  StatementPrinter(EmitContext& context, const Target& target)
      : context_(context), target_(target), values_(context.program.variables.size()) {}

  // The statements of one function, local buffers declared first.
  void Function(const StmtPtr& root);

  bool uses_threads() const { return uses_threads_; }

 private:
  void Print(const StmtPtr& s);
  void For(const Stmt& s);
  void Unrolled(const Stmt& s);
  bool Horizontal(const Stmt& s);
  void Store(const Stmt& s);
  void Declare(const std::set<int>& buffers);
  void Braced(const std::string& head, const StmtPtr& body);
  // With the values of unrolled variables put in.
  ExprPtr Known(const ExprPtr& e) const;

  EmitContext& context_;
  const Target& target_;
  std::vector<ExprPtr> values_;  // of unrolled (and constant let) variables
  int active_ = 0;               // how many of them are set
  int parallel_depth_ = 0;
  bool uses_threads_ = false;
};

// Buffers with register or stack scope that a statement touches.
std::set<int> LocalBuffers(const Program& program, const Stmt& s);

// Lanes of each buffer's registers: what the vectorized loops that touch it have; 1 where none
// does.
std::vector<int> RegisterLanes(const Program& program);

}  // namespace kindred::internal
