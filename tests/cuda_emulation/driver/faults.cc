#include "tests/cuda_emulation/driver/faults.h"

#include <cstdlib>
#include <sstream>

namespace kindred::cuda_emulation {

std::string Planted(const std::string& name) {
  const char* all = std::getenv("KINDRED_FAKE_CUDA");
  std::istringstream items(all == nullptr ? "" : all);
  for (std::string item; std::getline(items, item, ',');) {
    const std::size_t equals = item.find('=');
    if (equals != std::string::npos && item.substr(0, equals) == name)
      return item.substr(equals + 1);
  }
  return {};
}

bool PlantedIn(const std::string& name, const std::string& source) {
  const std::string text = Planted(name);
  return !text.empty() && source.find(text) != std::string::npos;
}

}  // namespace kindred::cuda_emulation
