// Reading decisions out of a path, for sketches.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schedules/space.h"

namespace kindred::internal {

inline std::optional<std::int64_t> Find(const Path& path, std::string_view decision) {
  for (const Choice& c : path)
    if (c.decision == decision) return c.value;
  return std::nullopt;
}

inline std::int64_t Value(const Path& path, std::string_view decision, std::int64_t otherwise = 0) {
  return Find(path, decision).value_or(otherwise);
}

inline Decision YesNo(std::string name, bool yes_first) {
  if (yes_first) return {std::move(name), {1, 0}, {"yes", "no"}};
  return {std::move(name), {0, 1}, {"no", "yes"}};
}

}  // namespace kindred::internal
