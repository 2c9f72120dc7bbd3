// 128-bit content hashes (xxh3), the identity of workloads, schedules, sources and binaries.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kindred {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Hash128&) const = default;
  // 32 lower-case hexadecimal digits.
  std::string Hex() const;
};

Hash128 HashOf(std::string_view bytes);

}  // namespace kindred

template <>
struct std::hash<kindred::Hash128> {
  std::size_t operator()(const kindred::Hash128& h) const noexcept { return h.low; }
};
