// What is known to divide an integer expression: the alignment of indices.
#pragma once

#include <cstdint>
#include <functional>

#include "schedules/expr.h"

namespace kindred::internal {

// A number that divides `e` whatever its variables are, given one that divides each variable
// (at least 1); 0 where the value is 0.
std::int64_t DivisorOf(const Expr& e, const std::function<std::int64_t(int var)>& of_variable);

// `e` as something + variable `var` (with factor 1, nowhere else in it): that something. nullptr:
// it is not.
ExprPtr WithoutVar(const ExprPtr& e, int var);

bool MentionsVar(const Expr& e, int var);

}  // namespace kindred::internal
