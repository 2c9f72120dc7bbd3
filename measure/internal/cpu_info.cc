#include "measure/internal/cpu_info.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace kindred {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "48K" -> 49152; 0 where there is no number.
std::int64_t ParseSize(const std::string& text) {
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  switch (*end) {
    case 'K': return number << 10;
    case 'M': return number << 20;
    case 'G': return number << 30;
    default: return number;
  }
}

void ReadCaches(CpuInfo& info) {
  const std::string base = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0; i < 8; ++i) {
    const std::string folder = base + std::to_string(i);
    const std::string type = FirstLine(folder + "/type");
    if (type != "Data" && type != "Unified") continue;
    const std::int64_t bytes = ParseSize(FirstLine(folder + "/size"));
    const std::string level = FirstLine(folder + "/level");
    if (level == "1") info.l1_bytes = bytes;
    if (level == "2") info.l2_bytes = bytes;
    if (level == "3") info.l3_bytes = bytes;
  }
  const auto ask = [](std::int64_t& bytes, int name) {
    if (bytes == 0) bytes = std::max(0l, sysconf(name));
  };
  ask(info.l1_bytes, _SC_LEVEL1_DCACHE_SIZE);
  ask(info.l2_bytes, _SC_LEVEL2_CACHE_SIZE);
  ask(info.l3_bytes, _SC_LEVEL3_CACHE_SIZE);
}

}  // namespace

CpuInfo ReadCpuInfo() {
  CpuInfo info;
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.empty()) {  // the first processor's block
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view name =
        std::string_view(line).substr(0, line.find_last_not_of(" \t:", colon) + 1);
    const std::string value = line.substr(std::min(line.size(), colon + 2));
    if (name == "model name") info.model = value;
    if (name == "flags" || name == "Features") {
      std::istringstream words(value);
      for (std::string word; words >> word;) info.flags.insert(word);
    }
  }
  if (info.model.empty()) info.model = "unknown";
  ReadCaches(info);
  return info;
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cpus.push_back(i);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

void PinTo(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace kindred
