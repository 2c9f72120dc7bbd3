// The normal form in which the log keeps text, so that what is exported and imported again compares
// equal.
#pragma once

#include <string>
#include <string_view>

namespace kindred {

// JSON without white space, keys in the order given. What is no JSON comes back unchanged: the
// tables refuse it.
std::string CompactJson(const std::string& json);

// Bytes that are not UTF-8 (a compiler's message, cut short) become U+FFFD.
std::string ValidUtf8(const std::string& text);

// Whether arrays and objects lie at most so deep in each other. Deeper ones are not worth the
// stack.
bool NestsAtMost(std::string_view json, int depth);

inline constexpr int kMaximumJsonDepth = 100;

}  // namespace kindred
