#include "measure/cuda/range_profiler_api.h"

namespace kindred {

Result<std::unique_ptr<RangeProfilerApi>> RangeProfilerApi::Load() {
  const std::string names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  auto api = std::make_unique<RangeProfilerApi>();
  RangeProfilerApi& f = *api;
  KINDRED_TRY(f.library, DynamicLibrary::Open(names, "CUPTI", "nvidia-cuda-cupti"));
  const char* absent = nullptr;
  const auto find = [&]<typename R, typename... A>(R (*&function)(A...), const char* name) {
    function = f.library->Find<R(A...)>(name);
    if (function == nullptr && absent == nullptr) absent = name;
  };
  find(f.initialize, "cuptiProfilerInitialize");
  find(f.chip_name, "cuptiDeviceGetChipName");
  find(f.availability, "cuptiProfilerGetCounterAvailability");
  find(f.host_initialize, "cuptiProfilerHostInitialize");
  find(f.host_deinitialize, "cuptiProfilerHostDeinitialize");
  find(f.host_add_metrics, "cuptiProfilerHostConfigAddMetrics");
  find(f.host_image_bytes, "cuptiProfilerHostGetConfigImageSize");
  find(f.host_image, "cuptiProfilerHostGetConfigImage");
  find(f.host_evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  find(f.enable, "cuptiRangeProfilerEnable");
  find(f.disable, "cuptiRangeProfilerDisable");
  find(f.data_bytes, "cuptiRangeProfilerGetCounterDataSize");
  find(f.data_initialize, "cuptiRangeProfilerCounterDataImageInitialize");
  find(f.configure, "cuptiRangeProfilerSetConfig");
  find(f.start, "cuptiRangeProfilerStart");
  find(f.push, "cuptiRangeProfilerPushRange");
  find(f.pop, "cuptiRangeProfilerPopRange");
  find(f.stop, "cuptiRangeProfilerStop");
  find(f.decode, "cuptiRangeProfilerDecodeData");
  find(f.text, "cuptiGetResultString");
  if (absent != nullptr)
    return Environment(f.library->path() + " has no " + absent +
                       ": CUPTI of CUDA 12.6 or newer is needed");
  return api;
}

std::string RangeProfilerApi::Text(int code) const {
  const char* name = nullptr;
  if (text(code, &name) != 0 || name == nullptr) name = "an unknown error of CUPTI";
  return std::string(name) + " (" + std::to_string(code) + ")";
}

}  // namespace kindred
