#include "schedules/internal/inline_stages.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "schedules/internal/lower_common.h"

namespace kindred::internal {
namespace {

bool IsCheap(const Expr& body) {
  int operations = 0;
  bool costly = false;
  Visit(body, [&](const Expr& e) {
    costly |= (e.op >= Op::kExp && e.op <= Op::kTan) || e.op == Op::kPow || e.op == Op::kDiv;
    operations += !e.args.empty() && e.op != Op::kLoad && e.type != DataType::kI64;
  });
  return !costly && operations <= 3;
}

// One inlined occurrence: the same load gives the same tree, so that sharing survives.
struct Occurrence {
  ExprPtr load, value;
};

}  // namespace

bool CanInline(const Workload& workload, const Stage& stage) {
  return stage.combiner == Combiner::kNone &&
         workload.tensors[static_cast<std::size_t>(stage.tensor)].role == Role::kTemporary;
}

std::vector<bool> WorthInlining(const Workload& workload, double repeats, bool cheap_always) {
  std::vector<bool> chosen;
  for (const Stage& producer : workload.stages) {
    bool worth = CanInline(workload, producer);
    if (worth && !(cheap_always && IsCheap(*producer.body))) {
      const double elements = static_cast<double>(std::max<std::int64_t>(
          Elements(workload.tensors[static_cast<std::size_t>(producer.tensor)]), 1));
      for (const Stage& reader : workload.stages) {
        bool reads = false;
        Visit(*reader.body,
              [&](const Expr& e) { reads |= e.op == Op::kLoad && e.index == producer.tensor; });
        worth = worth && (!reads || static_cast<double>(Points(reader)) <= repeats * elements);
      }
    }
    chosen.push_back(worth);
  }
  return chosen;
}

Workload InlineStages(const Workload& workload, const std::vector<bool>& chosen) {
  if (std::none_of(chosen.begin(), chosen.end(), [](bool c) { return c; })) return workload;
  Workload result = workload;
  result.stages.clear();
  std::unordered_map<int, Stage> inlined;  // by tensor
  for (std::size_t i = 0; i < workload.stages.size(); ++i) {
    Stage stage = workload.stages[i];
    bool reads = false;
    Visit(*stage.body,
          [&](const Expr& e) { reads |= e.op == Op::kLoad && inlined.count(e.index) != 0; });
    if (reads) {
      stage.body = GuardPadding(workload, stage);
      std::vector<Occurrence> seen;
      stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
        if (e->op != Op::kLoad) return nullptr;
        const auto producer = inlined.find(e->index);
        if (producer == inlined.end()) return nullptr;
        for (const Occurrence& o : seen)
          if (SameExpr(*o.load, *e)) return o.value;
        const ExprPtr value = CastExpr(e->type, SubstituteVars(producer->second.body, e->args));
        seen.push_back({e, value});
        return value;
      });
    }
    if (!chosen[i]) {
      result.stages.push_back(std::move(stage));
      continue;
    }
    stage.body = GuardPadding(workload, stage);
    const int tensor = stage.tensor;
    inlined.emplace(tensor, std::move(stage));
  }
  return result;
}

}  // namespace kindred::internal
