// What the row CUDA sketch knows about a workload: which axes of each stage are the rows, which
// loads can be fetched ahead, and along which axis neighbouring elements lie.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/workload.h"

namespace kindred::internal {

// A load of input data whose indices are inside its tensor at every point, in terms of a stage's
// axes in canonical order: rows first, columns then.
struct RowLoad {
  ExprPtr load;
  std::vector<Extent> columns;  // extents of the column axes it is read along
};

struct RowPattern {
  Workload workload;  // temporaries with columns are computed where they are read
  int rows = 0;       // number of row axes
  // Per stage: positions of its axes in canonical order. Stages with one value per row have rows
  // only.
  std::vector<std::vector<int>> order;
  // Neighbouring elements belong to neighbouring rows (the last row axis), not columns.
  bool strided = false;
  bool arg = false;                     // some reduction is an argmax or argmin
  std::int64_t row_count = 1;           // capacities
  std::int64_t columns = 1;             // of the widest stage
  std::vector<RowLoad> fetched;         // loads of the row's own data, each once
  std::vector<std::vector<int>> loads;  // per stage: the fetched loads it reads
  // The first of a pair of stages M = max(f), S = sum(exp(f - M)), as positions; -1: there is none.
  int online_max = -1, online_sum = -1;

  // Axis values of stage `s` from those in canonical order.
  std::vector<ExprPtr> StageValues(std::size_t s, const std::vector<ExprPtr>& canonical) const;
  bool HasColumns(std::size_t s) const;
  // Whether vectors of `lanes` neighbours never cross the end of their axis.
  bool WholeVectors(std::int64_t lanes) const;
};

// nullopt: the workload is not made of rows.
std::optional<RowPattern> MatchCudaRows(const Workload& workload);

}  // namespace kindred::internal
