#include "measure/cuda/range_profiler.h"

#include <cmath>
#include <vector>

namespace kindred {
namespace {

constexpr CounterMetric kMetrics[] = {
    {"dram_read_bytes", "dram__bytes_read.sum"},
    {"dram_written_bytes", "dram__bytes_write.sum"},
    {"l2_hit_percent", "lts__t_sector_hit_rate.pct"},
    {"sm_throughput_percent", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"occupancy_percent", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"issued_per_cycle", "sm__inst_issued.avg.per_cycle_active"},
    {"shared_bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
    {"tensor_pipe_percent", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
};
constexpr int kMostPasses = 64;

// The block with its size up to `field`, all else zero.
#define KINDRED_CUPTI_BLOCK(Block, name, field) \
  Block name = {};                              \
  name.bytes = KINDRED_CUPTI_SIZE(Block, field)

// From cuptiRangeProfilerEnable on.
struct Enabled {
  const RangeProfilerApi& api;
  void* profiler;
  ~Enabled() {
    KINDRED_CUPTI_BLOCK(CuptiRange, disable, profiler);
    disable.profiler = profiler;
    api.disable(&disable);
  }
};

}  // namespace

std::span<const CounterMetric> CounterMetrics() { return kMetrics; }

Error RangeProfiler::Refused(const std::string& what, int code) const {
  return Environment("no hardware counters: CUPTI " + what + ": " + api_->Text(code));
}

Result<std::unique_ptr<RangeProfiler>> RangeProfiler::Start(int device, void* context) {
  std::unique_ptr<RangeProfiler> made(new RangeProfiler);
  RangeProfiler& p = *made;
  auto loaded = RangeProfilerApi::Load();
  if (!loaded) return Environment("no hardware counters: " + loaded.error().message);
  p.api_ = std::move(*loaded);
  const RangeProfilerApi& f = *p.api_;
  KINDRED_CUPTI_BLOCK(CuptiBlock, begin, reserved);
  if (const int code = f.initialize(&begin); code != 0) return p.Refused("does not start", code);
  KINDRED_CUPTI_BLOCK(CuptiChipName, chip, chip);
  chip.device = static_cast<std::size_t>(device);
  if (const int code = f.chip_name(&chip); code != 0)
    return p.Refused("does not know the device", code);
  p.chip_ = chip.chip;
  // Which counters there are is asked for chips that CUPTI does not know by themselves; where it is
  // not told, enabling says why.
  KINDRED_CUPTI_BLOCK(CuptiAvailability, available, image);
  available.context = context;
  if (f.availability(&available) == 0) {
    p.availability_.resize(available.image_bytes);
    available.image = reinterpret_cast<std::uint8_t*>(p.availability_.data());
    if (f.availability(&available) != 0) p.availability_.clear();
  }
  KINDRED_CHECK(p.AddMetrics());
  p.context_ = context;
  return made;
}

// A metric that the device does not have is left out: each is tried by itself first.
Result<void> RangeProfiler::AddMetrics() {
  const auto host = [this](void** made) {
    KINDRED_CUPTI_BLOCK(CuptiHostInitialize, begin, host);
    begin.profiler = kCuptiRangeProfiler;
    begin.chip = chip_.c_str();
    if (!availability_.empty())
      begin.availability = reinterpret_cast<const std::uint8_t*>(availability_.data());
    const int code = api_->host_initialize(&begin);
    *made = begin.host;
    return code;
  };
  const auto add = [this](void* to, const char** names, std::size_t count) {
    KINDRED_CUPTI_BLOCK(CuptiHostMetrics, metrics, count);
    metrics.host = to;
    metrics.names = names;
    metrics.count = count;
    return api_->host_add_metrics(&metrics);
  };
  for (const CounterMetric& metric : kMetrics) {
    void* scratch = nullptr;
    if (const int code = host(&scratch); code != 0)
      return Refused("does not know the chip " + chip_, code);
    const char* name = metric.cupti;
    if (add(scratch, &name, 1) == 0) {
      names_.emplace_back(metric.name);
      metrics_.push_back(name);
    }
    KINDRED_CUPTI_BLOCK(CuptiHost, end, host);
    end.host = scratch;
    api_->host_deinitialize(&end);
  }
  int code = host(&host_);
  if (code == 0) code = add(host_, metrics_.data(), metrics_.size());
  if (code != 0) return Refused("does not take the metrics", code);
  return {};
}

RangeProfiler::~RangeProfiler() {
  if (host_ != nullptr) {
    KINDRED_CUPTI_BLOCK(CuptiHost, end, host);
    end.host = host_;
    api_->host_deinitialize(&end);
  }
}

Result<std::map<std::string, double>> RangeProfiler::Collect(
    const std::function<CudaResult()>& before, const std::function<CudaResult()>& run) {
  const RangeProfilerApi& f = *api_;
  KINDRED_CUPTI_BLOCK(CuptiRangeEnable, enable, profiler);
  enable.context = context_;
  int code = f.enable(&enable);
  if (code != 0) return Refused("gives none", code);
  const Enabled enabled{f, enable.profiler};

  KINDRED_CUPTI_BLOCK(CuptiHostImage, size, image_bytes);
  size.host = host_;
  code = f.host_image_bytes(&size);
  std::vector<std::uint8_t> config(size.image_bytes);
  KINDRED_CUPTI_BLOCK(CuptiHostImage, image, image);
  image.host = host_;
  image.image_bytes = config.size();
  image.image = config.data();
  if (code == 0) code = f.host_image(&image);

  KINDRED_CUPTI_BLOCK(CuptiRangeDataSize, needs, data_bytes);
  needs.profiler = enabled.profiler;
  needs.names = metrics_.data();
  needs.count = metrics_.size();
  needs.most_ranges = 1;
  needs.most_nodes = 1;
  if (code == 0) code = f.data_bytes(&needs);
  std::vector<std::uint8_t> counters(needs.data_bytes);
  KINDRED_CUPTI_BLOCK(CuptiRangeData, data, data);
  data.profiler = enabled.profiler;
  data.data_bytes = counters.size();
  data.data = counters.data();
  if (code == 0) code = f.data_initialize(&data);

  KINDRED_CUPTI_BLOCK(CuptiRangeConfig, configuration, target_level);
  configuration.profiler = enabled.profiler;
  configuration.config_bytes = config.size();
  configuration.config = config.data();
  configuration.data_bytes = counters.size();
  configuration.data = counters.data();
  configuration.range = kCuptiUserRange;
  configuration.replay = kCuptiUserReplay;
  configuration.most_ranges = 1;
  configuration.levels = 1;
  configuration.least_level = 1;
  configuration.target_level = 1;
  if (code == 0) code = f.configure(&configuration);
  if (code != 0) return Refused("cannot be set up", code);

  KINDRED_CUPTI_BLOCK(CuptiRange, range, profiler);
  range.profiler = enabled.profiler;
  KINDRED_CUPTI_BLOCK(CuptiRangePush, push, name);
  push.profiler = enabled.profiler;
  push.name = "run";
  KINDRED_CUPTI_BLOCK(CuptiRangeStop, stop, all_passes_are);
  stop.profiler = enabled.profiler;
  for (int pass = 0; stop.all_passes_are == 0; ++pass) {
    if (pass == kMostPasses)
      return Environment("no hardware counters: CUPTI wants more than " +
                         std::to_string(kMostPasses) + " passes");
    CudaResult failed = before();
    code = failed == 0 ? f.start(&range) : 0;
    if (failed == 0 && code == 0) code = f.push(&push);
    if (failed == 0 && code == 0) {
      failed = run();
      code = f.pop(&range);
      const int stopped = f.stop(&stop);
      if (code == 0) code = stopped;
    }
    if (failed != 0)
      return Environment("no hardware counters: a run failed with the driver's code " +
                         std::to_string(failed));
    if (code != 0) return Refused("fails in a pass", code);
  }
  KINDRED_CUPTI_BLOCK(CuptiRangeDecode, decode, dropped);
  decode.profiler = enabled.profiler;
  if (code = f.decode(&decode); code != 0) return Refused("does not decode what it counted", code);
  if (decode.dropped > 0) return Environment("no hardware counters: CUPTI has dropped the range");

  std::vector<double> values(metrics_.size());
  KINDRED_CUPTI_BLOCK(CuptiHostEvaluate, evaluate, values);
  evaluate.host = host_;
  evaluate.data = counters.data();
  evaluate.data_bytes = counters.size();
  evaluate.names = metrics_.data();
  evaluate.count = metrics_.size();
  evaluate.values = values.data();
  if (code = f.host_evaluate(&evaluate); code != 0) return Refused("does not evaluate", code);
  std::map<std::string, double> counted;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i])) counted[names_[i]] = values[i];
  return counted;
}

}  // namespace kindred
