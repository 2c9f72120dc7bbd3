// What NVML says of a device while it works: clocks, what slows them, temperature. The library
// comes with the driver and is opened at run time; where it is missing nothing is known.
#pragma once

#include <memory>
#include <string>

#include "measure/cuda/dynamic_library.h"

namespace kindred {

struct DeviceState {
  double sm_clock_mhz = 0;        // 0: not known
  double temperature_c = 0;       // 0: not known
  bool too_hot = false;           // thermal or hardware slow-down, power brake: it will pass
  bool power_capped = false;      // at its power limit: the device's own way under such a load
  std::string Throttled() const;  // "", "power", "thermal (87 C)", "thermal (87 C), power"
};

class Nvml {
 public:
  // `uuid` is the driver's: "GPU-...". nullptr: there is no NVML, or it does not know the device.
  static std::unique_ptr<Nvml> Open(const std::string& uuid);
  DeviceState Read() const;
  std::string DriverRelease() const;  // "580.65.06"; empty: not known

 private:
  struct Functions;
  Nvml() = default;

  std::unique_ptr<DynamicLibrary> library_;
  std::shared_ptr<const Functions> functions_;
  void* device_ = nullptr;
};

}  // namespace kindred
