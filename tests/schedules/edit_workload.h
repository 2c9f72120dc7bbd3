// What the rewrites and the changes of the key's tests are made of: places in a workload's bodies,
// and nodes without the folding of schedules/expr.h (what a reader of foreign forms could hand to
// Canonicalize).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedules/base/seed.h"
#include "schedules/workload.h"

namespace kindred {

inline std::size_t Size(int value) { return static_cast<std::size_t>(value); }

template <typename T>
void Shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.Below(i)]);
}

template <typename T>
std::optional<T> Pick(const std::vector<T>& items, Random& random) {
  if (items.empty()) return std::nullopt;
  return items[random.Below(items.size())];
}

bool IsArg(const Stage& stage);
bool IsComputed(const Tensor& tensor);
bool Commutes(Op op);
bool HasLoad(const Expr& e);

// A name that nothing in `workload` has, often one that needs quotes.
std::string FreshName(const Workload& workload, Random& random);

// Stages that read `tensor`.
std::vector<std::size_t> Readers(const Workload& workload, int tensor);

// --- nodes ---

ExprPtr RawExpr(Op op, DataType type, std::vector<ExprPtr> args);
ExprPtr WithArgs(const Expr& e, std::vector<ExprPtr> args);

// Bottom-up, as Rewrite, but nodes above a change are copied as they are.
ExprPtr RawRewrite(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& replace);

// values[i] in place of kVar i.
ExprPtr RawSubstitute(const ExprPtr& e, const std::vector<ExprPtr>& values);

ExprPtr Constant(DataType type, double value);

// --- places ---

// A place in a stage's body, by its number in the order of Visit.
struct Site {
  std::size_t stage;
  int place;
  ExprPtr expr;
  enum { kValue, kIndex, kInsideIndex, kInsideCondition } where = kValue;

  bool index() const { return where == kIndex || where == kInsideIndex; }
};

// Sites that `wanted` accepts; the read that padded takes is none, but its indices are.
std::vector<Site> SitesOf(const Workload& workload, const std::function<bool(const Site&)>& wanted);

void Replace(Workload& workload, const Site& site, const ExprPtr& by);

}  // namespace kindred
