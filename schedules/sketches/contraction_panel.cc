#include "schedules/sketches/contraction_panel.h"

#include "schedules/sketches/contraction_box.h"
#include "schedules/sketches/contraction_build.h"

namespace kindred {

ExprPtr LinearStep(std::span<const ExprPtr> k, std::span<const ExprPtr> reduction) {
  ExprPtr linear = k[0];
  for (std::size_t i = 1; i < k.size(); ++i) linear = linear * reduction[i] + k[i];
  return linear;
}

StmtPtr EmitPanels(Program& program, const PanelSpec& spec,
                   const std::function<ExprPtr(const ExprPtr&, std::span<const ExprPtr>)>& source) {
  std::vector<ExprPtr> k(spec.reduction.size());
  const auto reduction_loops = [&](const std::function<StmtPtr()>& body) {
    std::function<StmtPtr(std::size_t)> nest = [&](std::size_t level) -> StmtPtr {
      if (level == k.size()) return body();
      return Loop(program, "k", spec.reduction[level], LoopKind::kSerial,
                  [&](const ExprPtr& value) {
                    k[level] = value;
                    return nest(level + 1);
                  });
    };
    return nest(0);
  };
  // Panel at `to`, its first column `column`, with `count` columns there.
  const auto panel = [&](const ExprPtr& to, const ExprPtr& column, std::int64_t count) -> StmtPtr {
    const auto at = [&] { return to + LinearStep(k, spec.reduction) * spec.width; };
    std::vector<StmtPtr> parts;
    if (spec.neighbours) {
      const std::int64_t copied = spec.readable_beyond ? spec.width : count;
      parts.push_back(reduction_loops([&] {
        std::vector<StmtPtr> row;
        const ExprPtr place = Named(program, row, "to", at());
        row.push_back(CopyConstantRun(program, spec.buffer, place, copied, spec.lanes,
                                      [&](const ExprPtr& j) { return source(column + j, k); }));
        if (copied < spec.width)
          row.push_back(CopyConstantRun(program, spec.buffer, place + copied, spec.width - copied,
                                        spec.lanes,
                                        [&](const ExprPtr&) { return Constant(0, spec.type); }));
        return Block(std::move(row));
      }));
      return Block(std::move(parts));
    }
    parts.push_back(Loop(program, "j", count, LoopKind::kSerial, [&](const ExprPtr& j) {
      return reduction_loops([&] { return Store(spec.buffer, at() + j, source(column + j, k)); });
    }));
    if (count < spec.width)
      parts.push_back(reduction_loops([&] {
        return Loop(program, "j", spec.width - count, LoopKind::kSerial, [&](const ExprPtr& j) {
          return Store(spec.buffer, at() + j + count, Constant(0, spec.type));
        });
      }));
    return Block(std::move(parts));
  };

  return Loop(program, "tile", spec.tiles, LoopKind::kSerial, [&](const ExprPtr& tile) {
    std::vector<StmtPtr> body;
    const ExprPtr to = Named(program, body, "panel", spec.base + tile * (spec.steps * spec.width));
    const ExprPtr column = Named(program, body, "column", (spec.first_tile + tile) * spec.width);
    const std::int64_t tail = spec.extent % spec.width;
    if (tail == 0)
      body.push_back(panel(to, column, spec.width));
    else if (spec.extent < spec.width)
      body.push_back(panel(to, column, tail));
    else
      body.push_back(If(LessThan(column + (spec.width - 1), IntExpr(spec.extent)),
                        panel(to, column, spec.width), panel(to, column, tail)));
    return Block(std::move(body));
  });
}

}  // namespace kindred
