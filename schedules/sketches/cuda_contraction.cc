// The CUDA contraction sketch: matrix products, batched products, convolutions, any einsum of two
// operands, with pointwise stages before and after, on CUDA cores.
//
// Decisions: the tile of a block, the tile of a thread, the step of the reduction, double
// buffering. A tile is legal with 32 to 1024 threads, and within shared memory and registers.
#include "schedules/sketches/cuda_contraction.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/path.h"
#include "schedules/sketch.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

constexpr std::int64_t kRegistersOfThread = 200, kRegistersOfBlock = 65536;

struct Setting {
  const char* name;
  std::int64_t CudaContractionPlan::*value;
  std::vector<std::int64_t> options;
};

const std::vector<Setting>& Settings() {
  using Plan = CudaContractionPlan;
  static const std::vector<Setting> settings = {
      {"block_rows", &Plan::block_rows, {64, 128, 32, 16}},
      {"block_columns", &Plan::block_columns, {64, 128, 32, 16}},
      {"register_rows", &Plan::register_rows, {4, 8, 2}},
      {"register_columns", &Plan::register_columns, {4, 8, 2}},
      {"k_step", &Plan::k_step, {16, 8, 32}},
      {"stages", &Plan::stages, {1, 2}},
  };
  return settings;
}

class CudaContractionSketch : public Sketch {
 public:
  CudaContractionSketch(const Workload& workload, const Target& target, ContractionPattern pattern)
      : workload_(workload), target_(target), pattern_(std::move(pattern)) {
    const ProductAxes groups = GroupAxes(pattern_);
    for (const int axis : groups.rows) rows_ *= pattern_.Extent(axis);
    for (const int axis : groups.columns) columns_ *= pattern_.Extent(axis);
  }

  std::string_view name() const override { return "contraction"; }

  std::optional<Decision> Next(const Path& path) const override {
    CudaContractionPlan plan;
    for (std::size_t i = 0; i < Settings().size(); ++i) {
      const Setting& setting = Settings()[i];
      if (const auto value = Find(path, setting.name)) {
        plan.*setting.value = *value;
        continue;
      }
      Decision decision{setting.name, {}, {}};
      for (const std::int64_t option : setting.options) {
        plan.*setting.value = option;
        if (Completes(plan, i + 1)) decision.options.push_back(option);
      }
      return decision;
    }
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    CudaContractionPlan plan;
    for (const Setting& setting : Settings())
      plan.*setting.value = Value(path, setting.name, plan.*setting.value);
    return LowerCudaContraction(workload_, pattern_, plan);
  }

 private:
  // Some choice of the settings from `next` on makes the plan legal.
  bool Completes(CudaContractionPlan plan, std::size_t next) const {
    if (next == Settings().size()) return Legal(plan);
    const Setting& setting = Settings()[next];
    return std::any_of(setting.options.begin(), setting.options.end(), [&](std::int64_t option) {
      plan.*setting.value = option;
      return Completes(plan, next + 1);
    });
  }

  bool Legal(const CudaContractionPlan& plan) const {
    const std::int64_t bytes = ByteSize(pattern_.accumulator), threads = plan.Threads();
    const std::int64_t registers = plan.Registers(bytes);
    // A tile twice as long as its side is never needed.
    return threads >= 32 && threads <= 1024 && Needed(plan.block_rows, rows_) &&
           Needed(plan.block_columns, columns_) && registers <= kRegistersOfThread &&
           registers * threads <= kRegistersOfBlock &&
           plan.SharedBytes(bytes) <= target_.gpu.shared_bytes_per_block;
  }

  static bool Needed(std::int64_t tile, std::int64_t side) { return tile <= 16 || tile < 2 * side; }

  const Workload& workload_;
  const Target& target_;
  ContractionPattern pattern_;
  std::int64_t rows_ = 1, columns_ = 1;
};

}  // namespace

std::unique_ptr<Sketch> MakeCudaContractionSketch(const Workload& workload, const Target& target) {
  auto pattern = MatchContraction(workload);
  if (!pattern || pattern->accumulator == DataType::kC64) return nullptr;
  return std::make_unique<CudaContractionSketch>(workload, target, std::move(*pattern));
}

}  // namespace kindred
