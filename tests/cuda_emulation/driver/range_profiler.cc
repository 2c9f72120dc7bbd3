// The range profiler of the emulated libcupti.so.13. Values are made up, but for what was launched
// in the range. It takes calls only in the order that CUPTI's manual gives, and wants three passes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "measure/cuda/range_profiler_api.h"
#include "tests/cuda_emulation/driver/driver.h"
#include "tests/cuda_emulation/driver/faults.h"

namespace {

constexpr int kInvalidParameter = 1, kInvalidOperation = 7;
constexpr std::size_t kImageBytes = 64;
constexpr int kPasses = 3;
// A device of before the range profiler's metrics of tensor cores.
const std::string kUnknownMetric = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";

struct Host {
  std::vector<std::string> metrics;
};

enum class Stage { kOff, kInitialised, kEnabled, kConfigured, kStarted, kInRange, kDecoded };
struct Profiler {
  Stage stage = Stage::kOff;
  int passes = 0;
  unsigned kernels_in_pass = 0;  // of the last one
};
Profiler g_profiler;

unsigned TakeKernels() {
  KindredEmulatedKernel kernels[64];
  unsigned all = 0;
  for (unsigned some = 0; (some = kindred_emulated_kernels(kernels, 64)) > 0;) all += some;
  return all;
}

int Step(void* profiler, Stage from, Stage to) {
  if (profiler != &g_profiler) return kInvalidParameter;
  if (g_profiler.stage != from) return kInvalidOperation;
  g_profiler.stage = to;
  return 0;
}

template <typename Block>
bool Complete(const Block* block, std::size_t bytes) {
  return block->bytes == bytes && block->reserved == nullptr;
}
#define COMPLETE(block, Type, field) Complete(block, KINDRED_CUPTI_SIZE(Type, field))

}  // namespace

using namespace kindred;

KINDRED_EXPORT int cuptiProfilerInitialize(CuptiBlock* p) {
  if (!COMPLETE(p, CuptiBlock, reserved)) return kInvalidParameter;
  g_profiler.stage = Stage::kInitialised;
  return 0;
}
KINDRED_EXPORT int cuptiDeviceGetChipName(CuptiChipName* p) {
  p->chip = "GH100";
  return COMPLETE(p, CuptiChipName, chip) ? 0 : kInvalidParameter;
}
KINDRED_EXPORT int cuptiProfilerGetCounterAvailability(CuptiAvailability* p) {
  if (!COMPLETE(p, CuptiAvailability, image)) return kInvalidParameter;
  p->image_bytes = kImageBytes;
  return 0;
}

KINDRED_EXPORT int cuptiProfilerHostInitialize(CuptiHostInitialize* p) {
  if (!COMPLETE(p, CuptiHostInitialize, host) || p->profiler != kCuptiRangeProfiler ||
      std::string(p->chip) != "GH100" || p->availability == nullptr)
    return kInvalidParameter;
  p->host = new Host;
  return 0;
}
KINDRED_EXPORT int cuptiProfilerHostDeinitialize(CuptiHost* p) {
  if (!COMPLETE(p, CuptiHost, host)) return kInvalidParameter;
  delete static_cast<Host*>(p->host);
  return 0;
}
KINDRED_EXPORT int cuptiProfilerHostConfigAddMetrics(CuptiHostMetrics* p) {
  if (!COMPLETE(p, CuptiHostMetrics, count)) return kInvalidParameter;
  for (std::size_t i = 0; i < p->count; ++i) {
    if (p->names[i] == kUnknownMetric) return kInvalidParameter;
    static_cast<Host*>(p->host)->metrics.emplace_back(p->names[i]);
  }
  return 0;
}
KINDRED_EXPORT int cuptiProfilerHostGetConfigImageSize(CuptiHostImage* p) {
  p->image_bytes = kImageBytes;
  return COMPLETE(p, CuptiHostImage, image_bytes) ? 0 : kInvalidParameter;
}
KINDRED_EXPORT int cuptiProfilerHostGetConfigImage(CuptiHostImage* p) {
  const bool good = COMPLETE(p, CuptiHostImage, image) && p->image_bytes == kImageBytes &&
                    !static_cast<Host*>(p->host)->metrics.empty();
  return good ? 0 : kInvalidParameter;
}
KINDRED_EXPORT int cuptiProfilerHostEvaluateToGpuValues(CuptiHostEvaluate* p) {
  if (!COMPLETE(p, CuptiHostEvaluate, values) || p->range != 0) return kInvalidParameter;
  if (g_profiler.stage != Stage::kDecoded) return kInvalidOperation;
  for (std::size_t i = 0; i < p->count; ++i)
    p->values[i] = 100 * static_cast<double>(i + 1) + g_profiler.kernels_in_pass;
  return 0;
}

KINDRED_EXPORT int cuptiRangeProfilerEnable(CuptiRangeEnable* p) {
  const std::string refused = cuda_emulation::Planted("profiler");
  if (!refused.empty()) return std::atoi(refused.c_str());
  if (!COMPLETE(p, CuptiRangeEnable, profiler) || p->context == nullptr) return kInvalidParameter;
  p->profiler = &g_profiler;
  return Step(p->profiler, Stage::kInitialised, Stage::kEnabled);
}
KINDRED_EXPORT int cuptiRangeProfilerDisable(CuptiRange* p) {
  g_profiler.stage = Stage::kInitialised;
  return COMPLETE(p, CuptiRange, profiler) ? 0 : kInvalidParameter;
}
KINDRED_EXPORT int cuptiRangeProfilerGetCounterDataSize(CuptiRangeDataSize* p) {
  p->data_bytes = kImageBytes;
  return COMPLETE(p, CuptiRangeDataSize, data_bytes) && p->count > 0 ? 0 : kInvalidParameter;
}
KINDRED_EXPORT int cuptiRangeProfilerCounterDataImageInitialize(CuptiRangeData* p) {
  const bool good = COMPLETE(p, CuptiRangeData, data) && p->data_bytes == kImageBytes;
  return good ? 0 : kInvalidParameter;
}
KINDRED_EXPORT int cuptiRangeProfilerSetConfig(CuptiRangeConfig* p) {
  if (!COMPLETE(p, CuptiRangeConfig, target_level) || p->config_bytes != kImageBytes ||
      p->data_bytes != kImageBytes || p->range != kCuptiUserRange ||
      p->replay != kCuptiUserReplay || p->most_ranges != 1 || p->levels != 1 || p->least_level != 1)
    return kInvalidParameter;
  g_profiler.passes = 0;
  return Step(p->profiler, Stage::kEnabled, Stage::kConfigured);
}
KINDRED_EXPORT int cuptiRangeProfilerStart(CuptiRange* p) {
  return Step(p->profiler, Stage::kConfigured, Stage::kStarted);
}
KINDRED_EXPORT int cuptiRangeProfilerPushRange(CuptiRangePush* p) {
  TakeKernels();
  return Step(p->profiler, Stage::kStarted, Stage::kInRange);
}
KINDRED_EXPORT int cuptiRangeProfilerPopRange(CuptiRange* p) {
  g_profiler.kernels_in_pass = TakeKernels();
  return Step(p->profiler, Stage::kInRange, Stage::kStarted);
}
KINDRED_EXPORT int cuptiRangeProfilerStop(CuptiRangeStop* p) {
  if (!COMPLETE(p, CuptiRangeStop, all_passes_are)) return kInvalidParameter;
  p->all_passes_are = ++g_profiler.passes >= kPasses ? 1 : 0;
  return Step(p->profiler, Stage::kStarted, Stage::kConfigured);
}
KINDRED_EXPORT int cuptiRangeProfilerDecodeData(CuptiRangeDecode* p) {
  if (g_profiler.passes < kPasses) return kInvalidOperation;
  p->dropped = 0;
  return Step(p->profiler, Stage::kConfigured, Stage::kDecoded);
}
