// State shared by the printers of emitted CUDA, and what they know about integers: which need 64
// bits, and what divides them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/internal/divisor.h"
#include "schedules/internal/emit_context.h"

namespace kindred::internal {

struct CudaContext : EmitContext {
  CudaContext(const Program& p, const Workload& w)
      : EmitContext(p, w), divisors(p.variables.size(), 1) {}

  std::vector<std::int64_t> divisors;  // numbers known to divide the variables in scope

  // Whether an expression of type i64 is printed with 64 bits: its value or one on the way to it
  // may not fit in an int.
  bool IsWide(const Expr& e) const;
  // A number known to divide an integer expression; 0 where its value is 0.
  std::int64_t Divisor(const Expr& e) const;
};

// "float", "kd_f16", ...: how elements of the type lie in memory.
std::string_view CudaStorageType(DataType type);
// The type arithmetic on values of this type happens in. Of i64 "long long", whatever IsWide says.
std::string_view CudaComputeType(DataType type);

}  // namespace kindred::internal
