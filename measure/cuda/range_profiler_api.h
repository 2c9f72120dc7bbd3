// CUPTI's range profiler and the part of its host interface that evaluates metrics: the functions
// and parameter blocks that are used, declared here; libcupti (of CUDA 12.6 or newer) is opened at
// run time.
//
// Blocks are laid out as those of cupti_range_profiler.h, cupti_profiler_host.h,
// cupti_profiler_target.h and cupti_target.h. `bytes` is the block's own size up to and with its
// last field; `reserved` stays nullptr. Every function returns 0 for success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "measure/cuda/dynamic_library.h"
#include "schedules/base/result.h"

namespace kindred {

// Size of a block up to and with `field`.
#define KINDRED_CUPTI_SIZE(Block, field) (offsetof(Block, field) + sizeof(Block::field))

struct CuptiBlock {
  std::size_t bytes;
  void* reserved;
};
struct CuptiChipName {
  std::size_t bytes;
  void* reserved;
  std::size_t device;
  const char* chip;  // out
};
struct CuptiAvailability {
  std::size_t bytes;
  void *reserved, *context;
  std::size_t image_bytes;  // out where there is no image
  std::uint8_t* image;
};

struct CuptiHostInitialize {
  std::size_t bytes;
  void* reserved;
  int profiler;  // kCuptiRangeProfiler
  const char* chip;
  const std::uint8_t* availability;
  void* host;  // out
};
struct CuptiHost {
  std::size_t bytes;
  void *reserved, *host;
};
struct CuptiHostMetrics {
  std::size_t bytes;
  void *reserved, *host;
  const char** names;
  std::size_t count;
};
struct CuptiHostImage {
  std::size_t bytes;
  void *reserved, *host;
  std::size_t image_bytes;  // out of cuptiProfilerHostGetConfigImageSize, which ends here
  std::uint8_t* image;
};
struct CuptiHostEvaluate {
  std::size_t bytes;
  void *reserved, *host;
  const std::uint8_t* data;
  std::size_t data_bytes, range;
  const char** names;
  std::size_t count;
  double* values;  // out
};

struct CuptiRangeEnable {
  std::size_t bytes;
  void *reserved, *context;
  void* profiler;  // out
};
struct CuptiRange {
  std::size_t bytes;
  void *reserved, *profiler;
};
struct CuptiRangeDataSize {
  std::size_t bytes;
  void *reserved, *profiler;
  const char** names;
  std::size_t count, most_ranges;
  std::uint32_t most_nodes;
  std::size_t data_bytes;  // out
};
struct CuptiRangeData {
  std::size_t bytes;
  void *reserved, *profiler;
  std::size_t data_bytes;
  std::uint8_t* data;
};
struct CuptiRangeConfig {
  std::size_t bytes;
  void *reserved, *profiler;
  std::size_t config_bytes;
  const std::uint8_t* config;
  std::size_t data_bytes;
  std::uint8_t* data;
  int range, replay;  // kCuptiUserRange, kCuptiUserReplay
  std::size_t most_ranges;
  std::uint16_t levels, least_level;
  std::size_t pass;
  std::uint16_t target_level;
};
struct CuptiRangePush {
  std::size_t bytes;
  void *reserved, *profiler;
  const char* name;
};
struct CuptiRangeStop {
  std::size_t bytes;
  void *reserved, *profiler;
  std::size_t pass, level;      // out
  std::uint8_t all_passes_are;  // out: submitted
};
struct CuptiRangeDecode {
  std::size_t bytes;
  void *reserved, *profiler;
  std::size_t dropped;  // out: ranges
};

inline constexpr int kCuptiRangeProfiler = 0;  // CUPTI_PROFILER_TYPE_RANGE_PROFILER
inline constexpr int kCuptiUserRange = 2;      // CUPTI_UserRange
inline constexpr int kCuptiUserReplay = 3;     // CUPTI_UserReplay

struct RangeProfilerApi {
  int (*initialize)(CuptiBlock*);
  int (*chip_name)(CuptiChipName*);
  int (*availability)(CuptiAvailability*);
  int (*host_initialize)(CuptiHostInitialize*);
  int (*host_deinitialize)(CuptiHost*);
  int (*host_add_metrics)(CuptiHostMetrics*);
  int (*host_image_bytes)(CuptiHostImage*);
  int (*host_image)(CuptiHostImage*);
  int (*host_evaluate)(CuptiHostEvaluate*);
  int (*enable)(CuptiRangeEnable*);
  int (*disable)(CuptiRange*);
  int (*data_bytes)(CuptiRangeDataSize*);
  int (*data_initialize)(CuptiRangeData*);
  int (*configure)(CuptiRangeConfig*);
  int (*start)(CuptiRange*);
  int (*push)(CuptiRangePush*);
  int (*pop)(CuptiRange*);
  int (*stop)(CuptiRangeStop*);
  int (*decode)(CuptiRangeDecode*);
  int (*text)(int code, const char** text);

  std::unique_ptr<DynamicLibrary> library;

  // "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"
  std::string Text(int code) const;

  // Error (kEnvironment): CUPTI is not installed, or older than CUDA 12.6; one line.
  static Result<std::unique_ptr<RangeProfilerApi>> Load();
};

}  // namespace kindred
