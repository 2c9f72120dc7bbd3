// One operand's tile on its way from global to shared memory, within a CUDA contraction's kernel.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedules/internal/lower_common.h"
#include "schedules/sketches/cuda_contraction.h"

namespace kindred::internal {

class OperandTile {
 public:
  // Adds its buffers to the program. All references outlive the tile.
  OperandTile(Lowering& lowering, const CudaContraction& contraction,
              const CudaContractionPlan& plan, bool of_b);

  // Where the kernel is: values of the batch axes, the tile's first row or column, the thread.
  void Place(const std::vector<ExprPtr>& axes, const ExprPtr& origin, const ExprPtr& thread);

  StmtPtr Fetch(const ExprPtr& step);    // tile `step` of the reduction into registers
  StmtPtr Commit(const ExprPtr& stage);  // registers into shared memory
  StmtPtr Copy(const ExprPtr& step, const ExprPtr& stage);  // by cp.async
  // `count` neighbouring elements of the tile's line `k` from `side` on, into registers.
  StmtPtr Read(int into, const ExprPtr& slot, const ExprPtr& stage, const ExprPtr& k,
               const ExprPtr& side, std::int64_t count);

  const ExprPtr& origin() const { return origin_; }
  std::int64_t tile() const { return tile_; }
  std::int64_t all() const { return operand_.all; }
  std::int64_t strip() const { return strip_; }  // neighbours that a thread owns

 private:
  struct Access {
    ExprPtr i, k, side;  // which one of the thread; its first element in the tile
  };
  struct Point {
    ExprPtr k, side;  // in the whole product
    ExprPtr inside;   // whether the product reaches there; null: it does
  };
  StmtPtr Accesses(std::int64_t width, const std::function<StmtPtr(const Access&)>& make);
  Point PointOf(const Access& at, const ExprPtr& step, std::vector<StmtPtr>& lets);
  void SpreadPoint(const Point& point, std::vector<ExprPtr>& values, std::vector<StmtPtr>& lets);
  ExprPtr SharedIndex(const ExprPtr& stage, const ExprPtr& k, const ExprPtr& side) const;

  Lowering& lowering_;
  const CudaContraction& contraction_;
  const CudaContractionPlan& plan_;
  const CudaOperand& operand_;
  std::int64_t tile_, line_, width_, strip_;
  int shared_ = -1, fetched_ = -1;
  std::vector<ExprPtr> axes_;
  ExprPtr origin_, thread_;
};

// The axes' values, last fastest, of a flat index over them, into `values` (one per anchor axis).
void Spread(Lowering& lowering, const CudaContraction& contraction, const ExprPtr& flat,
            const std::vector<int>& axes, std::vector<ExprPtr>& values, std::vector<StmtPtr>& lets);

template <class Make>
StmtPtr Unrolled(Lowering& lowering, const char* name, std::int64_t extent, const Make& make) {
  if (extent == 1) return make(IntExpr(0));
  const int var = lowering.program.AddVar(name);
  return For(var, IntExpr(extent), LoopKind::kUnrolled, make(VarExpr(var)));
}

}  // namespace kindred::internal
