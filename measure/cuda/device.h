// A CUDA device that a worker process has taken: driver, context, one stream, what times its
// kernels.
//
// One per process; single-threaded. An error that the driver reports for a kernel may leave the
// context dead: then the process has to end (alive()).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/cuda/cupti.h"
#include "measure/cuda/driver_api.h"
#include "measure/cuda/nvml.h"
#include "schedules/base/result.h"

namespace kindred {

struct DeviceFacts {
  int index = 0;
  std::string name, uuid;  // "NVIDIA H200", "GPU-1c6a..."
  std::string arch;        // "sm_90a"
  std::string driver;      // "13.0", the CUDA version it stands for
  std::string release;     // of the driver, "580.65.06"; empty: NVML does not say
  std::int64_t memory_bytes = 0, l2_bytes = 0;
  int sms = 0;
  double clock_ghz = 1;  // the highest of the multiprocessors; 1 where the driver does not say
  std::int64_t shared_bytes_per_block = 0, shared_bytes_per_sm = 0;
  int registers_per_sm = 0, warp = 0, threads_per_block = 0, threads_per_sm = 0, blocks_per_sm = 0;
  std::string timer;         // "cupti" or "events"
  std::string timer_reason;  // why not CUPTI
};

class Device {
 public:
  // `trace`: CUPTI is asked to time kernels. Error (kEnvironment): no driver, no such device, or it
  // gives no context; one line each.
  static Result<std::unique_ptr<Device>> Take(int index, bool trace = true);
  // The devices, without their timers. Error (kEnvironment): no driver, no device.
  static Result<std::vector<DeviceFacts>> List();

  const DriverApi& api() const { return *api_; }
  const DeviceFacts& facts() const { return facts_; }
  void* stream() const { return stream_; }
  void* context() const { return context_; }
  bool alive() const { return api_->synchronize() == 0; }
  DeviceState ReadState() const { return nvml_ ? nvml_->Read() : DeviceState{}; }

  // nullptr: events have to do.
  Cupti* cupti() const { return cupti_.get(); }
  void StopCupti(const std::string& reason);

  // Event `index`, which is made where it is not there yet, on the stream; and the time between
  // two.
  CudaResult Record(std::size_t index);
  CudaResult Between(std::size_t begin, std::size_t end, double* ns) const;

  // Writes twice the second-level cache's size, `times` times, on the stream.
  CudaResult Flush(int times) const;
  std::int64_t flush_bytes() const { return 2 * facts_.l2_bytes; }

 private:
  Device() = default;

  std::unique_ptr<Cupti> cupti_;
  std::unique_ptr<DriverApi> api_;
  std::unique_ptr<Nvml> nvml_;
  DeviceFacts facts_;
  void *context_ = nullptr, *stream_ = nullptr;
  CudaPointer flush_ = 0;
  std::vector<void*> events_;
};

}  // namespace kindred
