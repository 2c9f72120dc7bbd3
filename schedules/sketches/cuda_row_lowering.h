// One lowering of the row CUDA sketch at work: cuda_rows_lower.cc has the launches and the passes
// over the columns, cuda_row_reductions.cc what makes one value of a row.
//
// A group of threads owns a row, or (strided) `lanes` neighbouring rows. What belongs to a row
// stays in registers, one slot per row of the group; an accumulator has `lanes` slots, which are
// joined where they belong to one row. Without strides the owners of a row are neighbouring
// threads, with strides neighbouring threads own neighbouring rows.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "schedules/sketches/cuda_common.h"
#include "schedules/sketches/cuda_rows_lower.h"

namespace kindred::internal {

class RowLowering {
 public:
  RowLowering(const RowPattern& pattern, const RowSchedule& schedule)
      : p_(pattern), w_(pattern.workload), s_(schedule), lowering_(pattern.workload) {}

  Program Run();

 private:
  // The columns of one thread that a statement is made for.
  struct Place {
    std::vector<ExprPtr> canonical;  // axis values of the first lane
    ExprPtr chunk, round;
  };
  using MakeColumns = std::function<StmtPtr(const Place&)>;

  static constexpr std::int64_t kWarp = 32;

  std::int64_t RowLanes() const { return p_.strided ? s_.lanes : 1; }
  std::int64_t ColumnLanes() const { return p_.strided ? 1 : s_.lanes; }

  // One launch of these stages.
  StmtPtr RowsOf(const std::vector<std::size_t>& stages);

  // Axis values of lane `v`.
  std::vector<ExprPtr> Lane(std::vector<ExprPtr> canonical, const ExprPtr& v) const;

  // A vector statement: value and store of each lane.
  StmtPtr Lanes(std::int64_t lanes, const std::function<ExprPtr(const ExprPtr& v)>& value,
                const std::function<StmtPtr(const ExprPtr& v, const ExprPtr& value)>& store);

  // make() for each vector of columns of this thread: an owner takes every owners-th.
  StmtPtr Columns(const std::vector<Extent>& columns, bool written_out, const MakeColumns& make);

  std::vector<Extent> ColumnsOf(std::size_t s) const;

  // The row's data, read before the first pass: where an element lies, and how they get there.
  ExprPtr FetchedSlot(const ExprPtr& round, const ExprPtr& v) const;
  StmtPtr FetchRow(std::size_t i);

  // The body of stage `s` at lane `v`.
  ExprPtr Body(std::size_t s, const Place& at, const ExprPtr& v);

  bool WrittenOut() const { return s_.residency == Residency::kRegisters; }

  StmtPtr OfStage(std::size_t s);
  StmtPtr Reduction(std::size_t s);
  StmtPtr ArgReduction(std::size_t s);

  // An accumulator becomes that of all owners of the row.
  StmtPtr AmongOwners(Combiner combiner, int acc);

  // Maximum and sum of exponentials below it: whenever a larger maximum is found, the sum so far is
  // scaled down. A thread that has seen only -inf has the sum 0.
  StmtPtr Online();

  // Values of the row: for later stages in registers, as the tensor would round them; an output is
  // stored by the first owner.
  StmtPtr Keep(const Stage& s, const std::function<ExprPtr(const ExprPtr& v)>& value);

  ExprPtr FirstOwner() const;

  // Partial results lie side by side for who reads them next: splits of a row, or with strides rows
  // of a split.
  StmtPtr StorePartial(const Stage& s, int acc);
  StmtPtr Join(const Stage& s);

  StmtPtr Pointwise(const Stage& stage);

  const RowPattern& p_;
  const Workload& w_;
  const RowSchedule s_;
  Lowering lowering_;
  ExprPtr thread_, lane_, group_, row_, split_, inside_;
  std::vector<ExprPtr> values_;            // of the row axes
  std::vector<int> fetched_;               // buffer per fetched load; -1: none
  std::vector<std::pair<int, int>> kept_;  // tensor, register buffer
  int partial_ = -1;
};

}  // namespace kindred::internal
