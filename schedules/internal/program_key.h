// Identity of a lowered program: equal arithmetic in equal order has an equal key, whatever the
// names of variables and buffers and the decisions that led there.
#pragma once

#include "schedules/base/hash.h"
#include "schedules/program.h"

namespace kindred::internal {

Hash128 ProgramKey(const Program& program);

}  // namespace kindred::internal
