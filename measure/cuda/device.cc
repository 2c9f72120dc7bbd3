#include "measure/cuda/device.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace kindred {
namespace {

// CUdevice_attribute of cuda.h.
enum Attribute {
  kThreadsPerBlock = 1,
  kWarpSize = 10,
  kClockKhz = 13,
  kSms = 16,
  kL2Bytes = 38,
  kThreadsPerSm = 39,
  kMajor = 75,
  kMinor = 76,
  kSharedBytesPerSm = 81,
  kRegistersPerSm = 82,
  kSharedBytesPerBlock = 97,
  kBlocksPerSm = 106,
};

// CU_STREAM_DEFAULT: copies, which are on the null stream, are ordered with what is on the stream.
constexpr unsigned kOrderedWithCopies = 0;

Error Refused(const DriverApi& api, const std::string& what, CudaResult code) {
  return Environment(what + ": " + api.Text(code));
}

std::string ArchOf(int major, int minor) {
  // Hopper's own instructions are only in the variant with an "a".
  const int number = 10 * major + minor;
  return "sm_" + std::to_string(number) + (number == 90 ? "a" : "");
}

Result<int> CountDevices(const DriverApi& api) {
  if (const CudaResult code = api.init(0); code != 0)
    return Refused(api, "the NVIDIA driver does not start", code);
  int count = 0;
  if (const CudaResult code = api.device_count(&count); code != 0)
    return Refused(api, "the NVIDIA driver lists no devices", code);
  if (count == 0) return Environment("the NVIDIA driver sees no device");
  return count;
}

Result<DeviceFacts> FactsOf(const DriverApi& api, int index, int device) {
  DeviceFacts facts;
  facts.index = index;
  std::array<char, 256> name = {};
  std::array<unsigned char, 16> uuid = {};
  std::size_t memory = 0;
  int driver = 0;
  CudaResult code = api.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
  if (code == 0) code = api.device_uuid(uuid.data(), device);
  if (code == 0) code = api.device_memory(&memory, device);
  if (code == 0) code = api.driver_version(&driver);
  const auto attribute = [&](Attribute which) {
    int value = 0;
    if (code == 0) code = api.device_attribute(&value, which, device);
    return value;
  };
  facts.name = name.data();
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  facts.driver = std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
  facts.uuid = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    std::array<char, 4> digits = {};
    std::snprintf(digits.data(), digits.size(), "%02x", uuid[i]);
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) facts.uuid += "-";
    facts.uuid += digits.data();
  }
  const int major = attribute(kMajor), minor = attribute(kMinor);
  facts.arch = ArchOf(major, minor);
  facts.l2_bytes = std::max(attribute(kL2Bytes), 1 << 10);
  facts.sms = attribute(kSms);
  facts.shared_bytes_per_block = attribute(kSharedBytesPerBlock);
  facts.shared_bytes_per_sm = attribute(kSharedBytesPerSm);
  facts.registers_per_sm = attribute(kRegistersPerSm);
  facts.warp = attribute(kWarpSize);
  facts.threads_per_block = attribute(kThreadsPerBlock);
  facts.threads_per_sm = attribute(kThreadsPerSm);
  facts.blocks_per_sm = attribute(kBlocksPerSm);
  int khz = 0;  // newer drivers may no longer say
  if (api.device_attribute(&khz, kClockKhz, device) == 0 && khz > 0) facts.clock_ghz = khz / 1e6;
  if (code != 0)
    return Refused(api, "the driver does not describe cuda:" + std::to_string(index), code);
  return facts;
}

Result<DeviceFacts> FactsOfIndex(const DriverApi& api, int index) {
  int device = 0;
  if (const CudaResult code = api.device_get(&device, index); code != 0)
    return Refused(api, "the driver does not give cuda:" + std::to_string(index), code);
  return FactsOf(api, index, device);
}

}  // namespace

Result<std::vector<DeviceFacts>> Device::List() {
  KINDRED_TRY(const auto api, DriverApi::Load());
  KINDRED_TRY(const int count, CountDevices(*api));
  std::vector<DeviceFacts> all;
  for (int index = 0; index < count; ++index) {
    KINDRED_TRY(DeviceFacts facts, FactsOfIndex(*api, index));
    all.push_back(std::move(facts));
  }
  return all;
}

Result<std::unique_ptr<Device>> Device::Take(int index, bool trace) {
  std::unique_ptr<Device> taken(new Device);
  Device& d = *taken;
  KINDRED_TRY(d.api_, DriverApi::Load());
  // CUPTI wants to be there before the driver is initialised.
  auto cupti = trace ? Cupti::Start()
                     : Result<std::unique_ptr<Cupti>>(Environment("it counts, and times nothing"));
  KINDRED_TRY(const int count, CountDevices(*d.api_));
  const std::string name = "cuda:" + std::to_string(index);
  if (index < 0 || index >= count)
    return Environment("there is no " + name + ": the driver sees " + std::to_string(count) +
                       (count == 1 ? " device, cuda:0" : " devices, from cuda:0 on"));
  KINDRED_TRY(d.facts_, FactsOfIndex(*d.api_, index));
  int device = 0;
  CudaResult code = d.api_->device_get(&device, index);
  if (code == 0) code = d.api_->context_retain(&d.context_, device);
  if (code == 0) code = d.api_->context_set(d.context_);
  if (code == 0) code = d.api_->stream_create(&d.stream_, kOrderedWithCopies);
  if (code == 0)
    code = d.api_->memory_allocate(&d.flush_, static_cast<std::size_t>(d.flush_bytes()));
  if (code == 0) code = d.Flush(1);
  if (code == 0) code = d.api_->stream_synchronize(d.stream_);
  if (code != 0) return Refused(*d.api_, name + " (" + d.facts_.name + ") cannot be used", code);
  d.nvml_ = Nvml::Open(d.facts_.uuid);
  if (d.nvml_) d.facts_.release = d.nvml_->DriverRelease();
  d.facts_.timer = "cupti";
  if (cupti)
    d.cupti_ = std::move(*cupti);
  else
    d.StopCupti(cupti.error().message);
  return taken;
}

void Device::StopCupti(const std::string& reason) {
  cupti_.reset();
  facts_.timer = "events";
  facts_.timer_reason = reason;
}

CudaResult Device::Record(std::size_t index) {
  while (events_.size() <= index) {
    void* made = nullptr;
    if (const CudaResult code = api_->event_create(&made, 0); code != 0) return code;
    events_.push_back(made);
  }
  return api_->event_record(events_[index], stream_);
}

CudaResult Device::Between(std::size_t begin, std::size_t end, double* ns) const {
  float milliseconds = 0;
  const CudaResult code = api_->event_elapsed(&milliseconds, events_[begin], events_[end]);
  *ns = static_cast<double>(milliseconds) * 1e6;
  return code;
}

CudaResult Device::Flush(int times) const {
  for (int i = 0; i < times; ++i)
    if (const CudaResult code =
            api_->fill_async(flush_, 0, static_cast<std::size_t>(flush_bytes()), stream_);
        code != 0)
      return code;
  return 0;
}

}  // namespace kindred
