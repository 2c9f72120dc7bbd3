// libcupti.so.13 of the emulated device: activity records of kernels, with the layout that the
// worker expects.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "measure/cuda/cupti.h"
#include "tests/cuda_emulation/driver/driver.h"
#include "tests/cuda_emulation/driver/faults.h"

namespace {

using kindred::CuptiKernelRecord;
using kindred::cuda_emulation::Planted;

// As long as CUpti_ActivityKernel10.
struct Record {
  CuptiKernelRecord kernel;
  unsigned char rest[112];
};

using Requested = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using Completed = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                           std::size_t bytes, std::size_t valid_bytes);
Requested g_requested;
Completed g_completed;

constexpr int kMaxLimitReached = 12, kNotPermitted = 35;

}  // namespace

KINDRED_EXPORT int cuptiActivityRegisterCallbacks(Requested requested, Completed completed) {
  g_requested = requested;
  g_completed = completed;
  return 0;
}
KINDRED_EXPORT int cuptiActivityEnable(int) {
  const std::string refused = Planted("cupti");
  return refused.empty() ? 0 : std::atoi(refused.c_str());
}
KINDRED_EXPORT int cuptiActivityFlushAll(unsigned) {
  for (;;) {
    KindredEmulatedKernel kernels[64];
    const unsigned count = kindred_emulated_kernels(kernels, 64);
    if (count == 0 || !Planted("cupti_drops").empty()) return 0;
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 0;
    g_requested(&buffer, &bytes, &most);
    if (buffer == nullptr || bytes < count * sizeof(Record)) return 0;
    for (unsigned i = 0; i < count; ++i) {
      Record record = {};
      record.kernel.kind = kindred::kCuptiConcurrentKernel;
      record.kernel.start = kernels[i].start;
      record.kernel.end = kernels[i].end;
      record.kernel.correlation = kernels[i].correlation;
      std::memcpy(buffer + i * sizeof(Record), &record, sizeof record);
    }
    g_completed(nullptr, 0, buffer, bytes, count * sizeof(Record));
  }
}
KINDRED_EXPORT int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes,
                                              void** record) {
  std::uint8_t* next =
      *record == nullptr ? buffer : static_cast<std::uint8_t*>(*record) + sizeof(Record);
  if (next + sizeof(Record) > buffer + valid_bytes) return kMaxLimitReached;
  *record = next;
  return 0;
}
KINDRED_EXPORT int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* count) {
  *count = 0;
  return 0;
}
KINDRED_EXPORT int cuptiGetResultString(int code, const char** text) {
  *text = code == kNotPermitted ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                : "planted in the emulated device";
  return 0;
}
