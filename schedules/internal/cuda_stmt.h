// Prints the statements of one CUDA step: what one thread does. Unrolled loops stay loops under
// `#pragma unroll`, registers are local arrays that the compiler keeps in registers.
#pragma once

#include <array>
#include <set>
#include <vector>

#include "schedules/internal/cuda_context.h"

namespace kindred::internal {

class CudaStatementPrinter {
 public:
  explicit CudaStatementPrinter(CudaContext& context)
      : context_(context), values_(context.program.variables.size()) {}

  // The body of the kernel; `step` begins with its block and thread loops, whose extents are taken
  // down here.
  void Step(const StmtPtr& step);

  const std::array<ExprPtr, 3>& grid() const { return grid_; }
  const std::array<int, 3>& block() const { return block_; }

 private:
  void Print(const StmtPtr& s);
  void PrintBlock(const Stmt& s);
  void Branch(const Stmt& s);
  void For(const Stmt& s);
  void Vector(const Stmt& store, int var, int lanes);
  void Combine(const Stmt& s);
  void Copy(const Stmt& s);
  void Braced(const std::string& head, const StmtPtr& body);
  void Bind(int var, const std::string& value);
  // With the values of constant variables put in.
  ExprPtr Known(const ExprPtr& e) const;

  CudaContext& context_;
  std::vector<ExprPtr> values_;  // of variables with one value
  int active_ = 0;               // how many of them are set
  bool fresh_scope_ = true;      // the next block stands alone between braces
  std::array<ExprPtr, 3> grid_ = {IntExpr(1), IntExpr(1), IntExpr(1)};
  std::array<int, 3> block_ = {1, 1, 1};
};

}  // namespace kindred::internal
