// Small workloads that cover the language, for differential tests: each has few points.
#pragma once

#include <string>
#include <vector>

namespace kindred {

struct SampleWorkload {
  std::string name;
  std::string text;
};

const std::vector<SampleWorkload>& SmallWorkloads();

}  // namespace kindred
