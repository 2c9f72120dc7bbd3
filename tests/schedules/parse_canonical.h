// ParseCanonical: a workload for a test, from its text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "schedules/canonical.h"
#include "schedules/text_form.h"

namespace kindred::test {

// The canonical form, under that name. A text that does not parse fails the test that asks, and
// gives an empty workload.
inline Workload ParseCanonical(const std::string& name, const std::string& text) {
  auto workload = ParseWorkload(text, name);
  EXPECT_TRUE(workload.has_value()) << name << (workload ? "" : workload.error().message);
  Workload canonical = workload ? Canonicalize(*workload).workload : Workload{};
  canonical.name = name;
  return canonical;
}

}  // namespace kindred::test
