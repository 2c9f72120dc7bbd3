// The CUDA contraction sketch: matrix products, batched products, convolutions, any einsum of two
// operands, with pointwise stages before and after, on CUDA cores.
//
// Decisions: the tile of a block and of a thread, the step of the reduction, how many of these are
// under way, the order of blocks, parts of the reduction, and whether stages before the product are
// computed while loading. What is offered is legal: 32 to 1024 threads, within shared memory and
// registers; the shape of warps, widths of accesses and the layout of shared memory follow.
#include "schedules/sketches/cuda_contraction.h"

#include <algorithm>
#include <utility>

#include "schedules/internal/path.h"
#include "schedules/sketch.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

constexpr std::int64_t kMostAccesses = 16;
constexpr std::int64_t kMostUnrolled = 2048;  // multiply-adds of a step: 32 KiB of instructions

struct Setting {
  const char* name;
  std::int64_t CudaContractionPlan::*value;
  std::vector<std::int64_t> options;
};

// What decides the tile: legal together or not.
const std::vector<Setting>& Settings() {
  using Plan = CudaContractionPlan;
  static const std::vector<Setting> settings = {
      {"block_rows", &Plan::block_rows, {64, 128, 32, 16, 256}},
      {"block_columns", &Plan::block_columns, {64, 128, 32, 16, 256}},
      {"register_rows", &Plan::register_rows, {4, 8, 2, 16}},
      {"register_columns", &Plan::register_columns, {4, 8, 2, 16}},
      {"k_step", &Plan::k_step, {16, 8, 32}},
      {"stages", &Plan::stages, {2, 1, 3, 4}},
  };
  return settings;
}

class CudaContractionSketch : public Sketch {
 public:
  CudaContractionSketch(const Workload& workload, const Target& target, ContractionPattern pattern)
      : target_(target), contraction_(workload, std::move(pattern)) {}

  std::string_view name() const override { return "contraction"; }

  std::optional<Decision> Next(const Path& path) const override {
    CudaContractionPlan plan;
    if (contraction_.apart[1].size() < contraction_.apart[0].size()) {
      const auto fused = Find(path, "prologue");
      if (!fused) return Decision{"prologue", {1, 0}, {"fused", "apart"}};
      plan.fused = *fused == 1;
    }
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
    for (auto decision : {Splits(plan), Raster(plan)})
      if (decision.options.size() > 1 && !Find(path, decision.name.c_str())) return decision;
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    CudaContractionPlan plan;
    plan.fused = Value(path, "prologue", 1) == 1;
    for (const Setting& setting : Settings())
      plan.*setting.value = Value(path, setting.name, plan.*setting.value);
    plan.splits = Value(path, "splits", 1);
    plan.raster = Value(path, "raster", 1);
    return LowerCudaContraction(contraction_, plan);
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
    if (plan.block_rows < plan.register_rows || plan.block_columns < plan.register_columns)
      return false;
    const std::int64_t threads = plan.Threads();
    if (threads < target_.gpu.warp || threads > target_.gpu.threads_per_block) return false;
    if (plan.register_rows * plan.register_columns * plan.k_step > kMostUnrolled) return false;
    const CudaOperand &a = contraction_.A(plan), &b = contraction_.B(plan);
    // A tile twice as long as its side is never needed.
    if (!Needed(plan.block_rows, a.all) || !Needed(plan.block_columns, b.all)) return false;
    if (plan.Async() && !(a.copies && b.copies)) return false;
    // Each access keeps an address in registers.
    if (contraction_.Accesses(plan, a, plan.block_rows) > kMostAccesses ||
        contraction_.Accesses(plan, b, plan.block_columns) > kMostAccesses)
      return false;
    // More stages than tiles are never filled.
    if (plan.stages > std::max<std::int64_t>(contraction_.Steps(plan), 1)) return false;
    const std::int64_t of_block = target_.gpu.registers_per_sm / threads / 8 * 8;
    return contraction_.Registers(plan) <=
               std::min<std::int64_t>(of_block, target_.gpu.registers_per_thread) &&
           contraction_.SharedBytes(plan) <= target_.gpu.shared_bytes_per_block;
  }

  static bool Needed(std::int64_t tile, std::int64_t side) { return tile <= 16 || tile < 2 * side; }

  // Where blocks are too few for the device, as many parts as fill it about twice.
  Decision Splits(const CudaContractionPlan& plan) const {
    constexpr std::int64_t kLeastSteps = 4;
    Decision decision{"splits", {1}, {}};
    const std::int64_t blocks = contraction_.Blocks(plan), steps = contraction_.Steps(plan);
    for (const std::int64_t parts : {2, 4, 8, 16, 32}) {
      const std::int64_t own = (steps + parts - 1) / parts;
      if (blocks < target_.gpu.sms && blocks * parts <= 2 * target_.gpu.sms && own >= kLeastSteps &&
          own * (parts - 1) < steps)
        decision.options.push_back(parts);
    }
    return decision;
  }

  // Of use where not all blocks run at once: those that do then share more of what they read.
  Decision Raster(const CudaContractionPlan& plan) const {
    Decision decision{"raster", {1}, {}};
    const std::int64_t down = (contraction_.A(plan).all + plan.block_rows - 1) / plan.block_rows;
    if (contraction_.Blocks(plan) <= target_.gpu.sms) return decision;
    for (const std::int64_t rows : {4, 8, 16})
      if (down > rows) decision.options.push_back(rows);
    return decision;
  }

  const Target& target_;
  CudaContraction contraction_;
};

}  // namespace

std::unique_ptr<Sketch> MakeCudaContractionSketch(const Workload& workload, const Target& target) {
  auto pattern = MatchContraction(workload);
  if (!pattern || pattern->accumulator == DataType::kC64) return nullptr;
  return std::make_unique<CudaContractionSketch>(workload, target, std::move(*pattern));
}

}  // namespace kindred
