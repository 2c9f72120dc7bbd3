// What the operating system says about the processor.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace kindred {

struct CpuInfo {
  std::string model;            // "model name" of /proc/cpuinfo; "unknown" where it has none
  std::set<std::string> flags;  // instruction sets that kernel and processor both support
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // 0: not told
};

CpuInfo ReadCpuInfo();

// Processors that this thread may run on, ascending.
std::vector<int> AllowedCpus();
// Error-free: where the system refuses, the thread stays where it is.
void PinTo(const std::vector<int>& cpus);

}  // namespace kindred
