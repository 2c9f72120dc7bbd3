// What the parts of a contraction's lowering share: pattern, plan, program under construction, and
// the arithmetic of axes and addresses. One object per lowering; not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedules/internal/lower_common.h"
#include "schedules/sketches/contraction_build.h"
#include "schedules/sketches/contraction_plan.h"
#include "schedules/target.h"

namespace kindred {

// Values of the anchor's axes, or of some of them.
using AxisValues = std::vector<ExprPtr>;
using StepFunction = std::function<ExprPtr(std::span<const ExprPtr>)>;

// A workspace buffer with one part for each iteration of the parallel loop around it.
struct Scratch {
  int buffer = -1;
  ExprPtr base;
};

// Where a tile stands in the loops around it.
struct TilePlace {
  ExprPtr y0;             // first row (of y) of the block of columns
  ExprPtr kb;             // which block of the reduction
  ExprPtr k0_start, run;  // its first element and length, of the outermost reduction axis
  ExprPtr n_first, n_tiles, m_first, m_tiles;  // tiles of the outer block
  bool b_local = false, a_local = false;       // the packed operand holds this block only
};

struct ContractionContext {
  ContractionContext(const Workload& workload, const ContractionPattern& pattern,
                     const ContractionPlan& plan, const Target& target);

  const Workload& workload;
  const ContractionPattern& pattern;
  const ContractionPlan& plan;
  const Target& target;
  internal::Lowering lowering;
  const ContractionColumns columns;
  const bool copy_b;  // b goes through a padded copy
  const DataType accumulator;
  const std::int64_t n_tiles, m_tiles, k0_blocks;
  AxisValues axes;  // loop variables of the outer axes, 0 elsewhere
  std::int64_t parallel_parts = 1;
  ExprPtr parallel_index;  // variable of the parallel loop, where inside one

  Program& program() { return lowering.program; }
  ExprPtr& Axis(int axis) { return axes[static_cast<std::size_t>(axis)]; }
  std::string AxisName(int axis) const;
  int K0() const { return pattern.k.front(); }  // outermost reduction axis
  std::int64_t InnerReduction() const { return pattern.ReductionExtent() / pattern.Extent(K0()); }
  std::int64_t TileColumns() const { return plan.TileColumns(); }
  AxisValues FullReduction() const;  // extents of the reduction axes
  void SetReduction(AxisValues& at, std::span<const ExprPtr> k, const ExprPtr& k0_start) const;

  Scratch AddScratch(std::string name, std::int64_t elements);

  // Address of an operand's element in its own tensor; that element in the accumulator's type; and
  // what the reduction loops add to the address there and in a panel.
  ExprPtr FlatIndexOf(const OperandAccess& operand, std::span<const ExprPtr> at) const;
  ExprPtr Element(const OperandAccess& operand, std::span<const ExprPtr> at);
  StepFunction StrideStep(const OperandAccess& operand) const;
  StepFunction PanelStep(std::int64_t width) const;

  // Combinations of the outer axes that an operand depends on: how many, and which one this is.
  std::int64_t OuterCount(const OperandAccess& operand) const;
  ExprPtr OuterIndex(const OperandAccess& operand);

  // A loop, parallel where asked for and not inside one already.
  template <typename Body>
  StmtPtr OuterLoop(std::string name, std::int64_t extent, bool parallel, Body&& body) {
    if (!parallel || extent < 2 || parallel_index)
      return Loop(program(), std::move(name), extent, LoopKind::kSerial, body);
    parallel_parts = extent;
    auto loop =
        Loop(program(), std::move(name), extent, LoopKind::kParallel, [&](const ExprPtr& i) {
          parallel_index = i;
          return body(i);
        });
    parallel_parts = 1;
    parallel_index = nullptr;
    return loop;
  }
};

}  // namespace kindred
