#include "measure/cuda/nvml.h"

namespace kindred {
namespace {

// nvmlClocksEventReason*, nvmlClockType_t and nvmlTemperatureSensors_t of NVML's reference manual.
constexpr unsigned long long kPowerCap = 0x4;
constexpr unsigned long long kSlowDown =
    0x8 | 0x20 | 0x40 | 0x80;  // hardware, thermal, power brake
constexpr int kSmClock = 1, kGpuTemperature = 0;

}  // namespace

// Every function returns 0 for success.
struct Nvml::Functions {
  int (*init)();
  int (*by_uuid)(const char* uuid, void** device);
  int (*clock)(void* device, int type, unsigned* mhz);
  int (*temperature)(void* device, int sensor, unsigned* celsius);
  int (*reasons)(void* device, unsigned long long* reasons);
  int (*release)(char* text, unsigned length);
};

std::unique_ptr<Nvml> Nvml::Open(const std::string& uuid) {
  const std::string names[] = {"libnvidia-ml.so.1"};
  std::unique_ptr<Nvml> nvml(new Nvml);
  auto library = DynamicLibrary::Open(names, "NVML", "");
  if (!library) return nullptr;
  nvml->library_ = std::move(*library);
  const DynamicLibrary& l = *nvml->library_;
  Functions f = {};
  f.init = l.Find<int()>("nvmlInit_v2");
  f.by_uuid = l.Find<int(const char*, void**)>("nvmlDeviceGetHandleByUUID");
  f.clock = l.Find<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
  f.temperature = l.Find<int(void*, int, unsigned*)>("nvmlDeviceGetTemperature");
  f.release = l.Find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  // Its name since driver 535, and the one before.
  for (const char* name :
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"})
    if (f.reasons == nullptr) f.reasons = l.Find<int(void*, unsigned long long*)>(name);
  if (f.init == nullptr || f.by_uuid == nullptr || f.init() != 0 ||
      f.by_uuid(uuid.c_str(), &nvml->device_) != 0)
    return nullptr;
  nvml->functions_ = std::make_shared<const Functions>(f);
  return nvml;
}

DeviceState Nvml::Read() const {
  const Functions& f = *functions_;
  DeviceState state;
  unsigned value = 0;
  if (f.clock != nullptr && f.clock(device_, kSmClock, &value) == 0) state.sm_clock_mhz = value;
  if (f.temperature != nullptr && f.temperature(device_, kGpuTemperature, &value) == 0)
    state.temperature_c = value;
  unsigned long long reasons = 0;
  if (f.reasons != nullptr && f.reasons(device_, &reasons) == 0) {
    state.too_hot = (reasons & kSlowDown) != 0;
    state.power_capped = (reasons & kPowerCap) != 0;
  }
  return state;
}

std::string Nvml::DriverRelease() const {
  char text[81] = {};  // one more than NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  const bool known = functions_->release != nullptr && functions_->release(text, 80) == 0;
  return known ? text : "";
}

std::string DeviceState::Throttled() const {
  std::string text;
  if (too_hot) text = "thermal (" + std::to_string(static_cast<int>(temperature_c)) + " C)";
  if (power_capped) text += text.empty() ? "power" : ", power";
  return text;
}

}  // namespace kindred
