// What the CUDA sketches share: launches, thread indices, vector statements under conditions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedules/internal/lower_common.h"
#include "schedules/program.h"
#include "schedules/space.h"
#include "schedules/target.h"

namespace kindred::internal {

// One step: `blocks` thread blocks of `threads` threads; `make` sees both indices.
StmtPtr Launch(Lowering& lowering, const ExprPtr& blocks, std::int64_t threads,
               const std::function<StmtPtr(const ExprPtr& block, const ExprPtr& thread)>& make);

// ceil(a / b).
ExprPtr CeilDiv(const ExprPtr& a, std::int64_t b);

ExprPtr Product(std::span<const ExprPtr> factors);

// Taken apart, last extent fastest: values of all extents, each bound by a let in `lets` where it
// is not plain. `flat` must be a variable or a constant.
std::vector<ExprPtr> Decompose(Lowering& lowering, const ExprPtr& flat,
                               std::span<const ExprPtr> extents, std::span<const std::string> names,
                               std::vector<StmtPtr>& lets);

// A fresh variable for `value`, its let appended to `lets`; constants and variables stay
// themselves.
ExprPtr Bound(Lowering& lowering, const std::string& name, const ExprPtr& value,
              std::vector<StmtPtr>& lets);

// For v in lanes (a vectorized loop): store(value). Where `value` chooses by a condition that is
// the same in all lanes, the choice is made around the loop, so that loads stay whole. `var` is the
// vector variable.
StmtPtr VectorStatement(int var, std::int64_t lanes, const ExprPtr& value,
                        const std::function<StmtPtr(const ExprPtr& value)>& store);

// `options` that `legal` allows; the first option stays first. Never empty: `fallback` then.
Decision Offer(const char* name, std::initializer_list<std::int64_t> options,
               const std::function<bool(std::int64_t)>& legal, std::int64_t fallback);

// Bytes of the narrowest tensor element that the stages read or write.
int NarrowestBytes(const Workload& workload, std::span<const Stage> stages);

}  // namespace kindred::internal
