#include "measure/cuda/cupti.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace kindred {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::size_t kBufferAlignment = 8;
constexpr unsigned kFlushForced = 1;

using BufferRequested = void(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using BufferCompleted = void(void* context, std::uint32_t stream, std::uint8_t* buffer,
                             std::size_t bytes, std::size_t valid_bytes);

}  // namespace

// From CUPTI's reference manual; every function returns 0 for success.
struct Cupti::Functions {
  int (*register_callbacks)(BufferRequested* requested, BufferCompleted* completed);
  int (*enable)(int kind);
  int (*flush)(unsigned flags);
  int (*next)(std::uint8_t* buffer, std::size_t valid_bytes, void** record);
  int (*dropped)(void* context, std::uint32_t stream, std::size_t* count);
  int (*text)(int code, const char** text);
};

namespace {

// CUPTI calls back without a pointer of ours, from threads of its own.
struct Collected {
  std::mutex mutex;
  int (*next)(std::uint8_t* buffer, std::size_t valid_bytes, void** record) = nullptr;
  std::vector<KernelTimes> kernels;
};
Collected& TheCollected() {
  static Collected* const collected = new Collected;  // CUPTI may call while the process ends
  return *collected;
}

void OnRequested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void OnCompleted(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  Collected& collected = TheCollected();
  {
    const std::lock_guard lock(collected.mutex);
    for (void* record = nullptr;
         valid_bytes > 0 && collected.next(buffer, valid_bytes, &record) == 0;) {
      std::uint32_t kind = 0;
      std::memcpy(&kind, record, sizeof kind);
      if (kind != kCuptiConcurrentKernel) continue;
      CuptiKernelRecord kernel;
      std::memcpy(&kernel, record, sizeof kernel);
      collected.kernels.push_back({kernel.start, kernel.end, kernel.correlation});
    }
  }
  std::free(buffer);
}

}  // namespace

Result<std::unique_ptr<Cupti>> Cupti::Start() {
  const std::string names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                               "libcupti.so"};
  std::unique_ptr<Cupti> cupti(new Cupti);
  KINDRED_TRY(cupti->library_, DynamicLibrary::Open(names, "CUPTI", "nvidia-cuda-cupti"));
  Functions f = {};
  const char* absent = nullptr;
  const auto find = [&]<typename R, typename... A>(R (*&function)(A...), const char* name) {
    function = cupti->library_->Find<R(A...)>(name);
    if (function == nullptr) absent = name;
  };
  find(f.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(f.enable, "cuptiActivityEnable");
  find(f.flush, "cuptiActivityFlushAll");
  find(f.next, "cuptiActivityGetNextRecord");
  find(f.dropped, "cuptiActivityGetNumDroppedRecords");
  find(f.text, "cuptiGetResultString");
  if (absent != nullptr) return Environment(cupti->library_->path() + " has no " + absent);
  const auto said = [&](int code) {
    const char* text = nullptr;
    if (f.text(code, &text) != 0 || text == nullptr) text = "unknown";
    return Environment(std::string("CUPTI refuses: ") + text + " (" + std::to_string(code) + ")");
  };
  TheCollected().next = f.next;
  if (const int code = f.register_callbacks(OnRequested, OnCompleted); code != 0) return said(code);
  if (const int code = f.enable(static_cast<int>(kCuptiConcurrentKernel)); code != 0)
    return said(code);
  cupti->functions_ = std::make_shared<const Functions>(f);
  return cupti;
}

Result<std::vector<KernelTimes>> Cupti::Take() {
  const Functions& f = *functions_;
  if (const int code = f.flush(kFlushForced); code != 0)
    return Environment("CUPTI's flush returned " + std::to_string(code));
  std::size_t dropped = 0;
  if (f.dropped(nullptr, 0, &dropped) == 0 && dropped > 0)
    return Environment("CUPTI has lost " + std::to_string(dropped) + " records");
  std::vector<KernelTimes> kernels;
  {
    Collected& collected = TheCollected();
    const std::lock_guard lock(collected.mutex);
    kernels.swap(collected.kernels);
  }
  std::sort(kernels.begin(), kernels.end(), [](const KernelTimes& a, const KernelTimes& b) {
    return a.correlation != b.correlation ? a.correlation < b.correlation : a.start_ns < b.start_ns;
  });
  return kernels;
}

}  // namespace kindred
