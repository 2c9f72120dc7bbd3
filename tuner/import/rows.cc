#include "tuner/import/rows.h"

#include <algorithm>

namespace kindred {
namespace {

const std::string kLetters = "ijklmnpqtuvw";

std::string Letters(const Rows& rows, bool reduced) {
  std::string names;
  for (std::size_t d = 0; d < rows.in.size(); ++d)
    if (rows.Reduced(d) == reduced) names += kLetters[d % kLetters.size()];
  return names;
}

}  // namespace

bool Rows::Reduced(std::size_t d) const {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
}

Shape Rows::Kept() const {
  Shape kept = in;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  return kept;
}

Rows MakeRows(const OpContext& op, int value, std::vector<std::int64_t> axes) {
  Rows rows{value, op.graph.values[static_cast<std::size_t>(value)].shape, {}, std::move(axes), 1};
  for (std::size_t d = 0; d < rows.in.size(); ++d) {
    if (rows.Reduced(d)) {
      rows.size *= rows.in[d];
    } else {
      rows.out.push_back(rows.in[d]);
    }
  }
  return rows;
}

void EmitReduction(OpContext& op, const Rows& rows, int tensor, Combiner combiner,
                   DataType accumulator, const RowBody& body) {
  Stage stage = MakeStage(tensor, rows.out, Letters(rows, false));
  const std::string names = Letters(rows, true);
  for (std::size_t i = 0; i < rows.axes.size(); ++i)
    AddReductionAxis(stage, std::string(1, names[i]),
                     rows.in[static_cast<std::size_t>(rows.axes[i])]);
  const Exprs axes = AxesOf(stage);
  Exprs element;
  std::size_t outer = 0, inner = rows.out.size();
  for (std::size_t d = 0; d < rows.in.size(); ++d)
    element.push_back(axes[rows.Reduced(d) ? inner++ : outer++]);
  stage.body = body(
      element, Exprs(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(rows.out.size())));
  SetReduction(stage, combiner, accumulator);
  op.kind = UnitKind::kRow;
  op.Emit(std::move(stage));
}

void EmitElements(OpContext& op, const Rows& rows, int tensor, const RowBody& body) {
  Stage stage = MakeStage(tensor, rows.in);
  const Exprs axes = AxesOf(stage);
  Exprs row;
  for (std::size_t d = 0; d < rows.in.size(); ++d)
    if (!rows.Reduced(d)) row.push_back(axes[d]);
  stage.body = body(axes, row);
  op.Emit(std::move(stage));
}

void EmitRows(OpContext& op, const Rows& rows, int tensor,
              const std::function<ExprPtr(const Exprs&)>& body) {
  Stage stage = MakeStage(tensor, rows.out, Letters(rows, false));
  stage.body = body(AxesOf(stage));
  op.Emit(std::move(stage));
}

int EmitMean(OpContext& op, const Rows& rows, const std::string& name, const RowBody& body) {
  const DataType wide =
      DefaultAccumulator(op.graph.values[static_cast<std::size_t>(rows.value)].type);
  const int sum = op.Temp(name + "_sum", wide, rows.out);
  EmitReduction(op, rows, sum, Combiner::kSum, wide, body);
  const int mean = op.Temp(name, wide, rows.out);
  EmitRows(op, rows, mean, [&](const Exprs& at) {
    return op.Load(sum, at) / Literal(static_cast<double>(rows.size), wide);
  });
  return mean;
}

}  // namespace kindred
