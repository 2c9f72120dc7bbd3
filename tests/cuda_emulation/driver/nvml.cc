// libnvidia-ml.so.1 of the emulated device.
#include <cstdlib>
#include <cstring>

#include "tests/cuda_emulation/driver/driver.h"
#include "tests/cuda_emulation/driver/faults.h"

namespace {
int g_readings;
constexpr unsigned long long kThermalSlowdown = 0x40;
}  // namespace

KINDRED_EXPORT int nvmlInit_v2() { return 0; }
KINDRED_EXPORT int nvmlDeviceGetHandleByUUID(const char*, void** device) {
  *device = &g_readings;
  return 0;
}
KINDRED_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.65.06", length);
  return 0;
}
KINDRED_EXPORT int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1000;
  return 0;
}
KINDRED_EXPORT int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 87;
  return 0;
}
KINDRED_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  const std::string throttled = kindred::cuda_emulation::Planted("throttled");
  *reasons = g_readings++ < std::atoi(throttled.c_str()) ? kThermalSlowdown : 0;
  return 0;
}
