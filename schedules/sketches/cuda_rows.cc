// The row CUDA sketch: reductions, softmax, layer and RMS normalisation, argmax. Stages share their
// rows; every reduction gives one value per row. Pointwise temporaries with columns are computed
// where they are read. Where neighbouring elements belong to neighbouring rows, so do neighbouring
// threads.
//
// Decisions: blocks that share the reduction of a row, where rows are few (1: none do); elements
// that a thread moves at once; threads that own a row; threads per block; where the row's data stay
// between passes; whether the maximum and the sum of a softmax take one pass.
#include <algorithm>
#include <utility>

#include "schedules/internal/path.h"
#include "schedules/sketch.h"
#include "schedules/sketches/cuda_common.h"
#include "schedules/sketches/cuda_rows_lower.h"

namespace kindred {
namespace {

using namespace internal;  // NOLINT: the folder's own helpers

constexpr std::int64_t kWarp = 32, kPackBytes = 16;
// Registers a thread needs beside what it fetches; and the most that it may fetch.
constexpr std::int64_t kOtherRegisters = 28, kFetchedRegisters = 64;

class CudaRowSketch : public Sketch {
 public:
  CudaRowSketch(RowPattern pattern, const Target& target)
      : pattern_(std::move(pattern)), gpu_(target.gpu) {
    narrowest_ = NarrowestBytes(pattern_.workload, pattern_.workload.stages);
    for (const RowLoad& load : pattern_.fetched)
      for (const Extent& e : load.columns) symbolic_ |= e.symbol >= 0;
  }

  std::string_view name() const override { return "rows"; }

  std::optional<Decision> Next(const Path& path) const override {
    const bool strided = pattern_.strided;
    if (FewRows() && !Find(path, "split"))
      return Offer(
          "split", {1, 8, 32, 128, 512},
          [&](std::int64_t n) { return n * kWarp <= pattern_.columns; }, 1);
    if (!Find(path, "vector"))
      return Offer(
          "vector", {4, 2, 8, 1, 16},
          [&](std::int64_t n) { return n * narrowest_ <= kPackBytes && pattern_.WholeVectors(n); },
          1);
    RowSchedule s = Schedule(path);
    if (strided && !Find(path, "owners"))
      return Offer(
          "owners", {8, 1, 4, 16, 2, 32},
          [&](std::int64_t n) { return n == 1 || (!pattern_.arg && n <= pattern_.columns); }, 1);
    if (!strided && !Find(path, "owners"))
      return Offer(
          "owners", {32, 128, 256, 512, 1024, 16, 8, 4, 2, 1},
          [&](std::int64_t n) {
            return n <= kWarp || (!pattern_.arg && n * s.lanes < 2 * pattern_.columns);
          },
          kWarp);
    if ((strided || s.owners <= kWarp) && !Find(path, "threads"))
      return Offer(
          "threads", {128, 256, 64, 512},
          [&](std::int64_t n) {
            s.threads = n;
            return n >= 4 * s.owners && SharedBytes(s) <= gpu_.shared_bytes_per_block;
          },
          128);
    if (s.splits == 1 && !symbolic_ && !pattern_.fetched.empty() && !Find(path, "keep")) {
      Decision d{"keep", {}, {}};
      const auto offer = [&](Residency r, const char* label) {
        s.residency = r;
        const bool legal = r == Residency::kRegisters
                               ? FetchedRegisters(s) <= RegisterBudget(s)
                               : SharedBytes(s) <= gpu_.shared_bytes_per_block;
        if (!legal) return;
        d.options.push_back(static_cast<std::int64_t>(r));
        d.labels.emplace_back(label);
      };
      offer(Residency::kRegisters, "registers");
      offer(Residency::kNone, "nowhere");
      offer(Residency::kShared, "shared");
      return d;
    }
    if (s.splits == 1 && !strided && s.residency == Residency::kNone && pattern_.online_max >= 0 &&
        !Find(path, "online"))
      return YesNo("online", true);
    return std::nullopt;
  }

  Result<Program> Lower(const Path& path) const override {
    return LowerCudaRows(pattern_, Schedule(path));
  }

 private:
  RowSchedule Schedule(const Path& path) const {
    RowSchedule s;
    s.splits = Value(path, "split", 1);
    s.lanes = Value(path, "vector", 1);
    s.owners = Value(path, "owners", 1);
    s.threads = Value(path, "threads", std::max<std::int64_t>(s.owners, kWarp));
    s.residency = static_cast<Residency>(Value(path, "keep"));
    s.online = Value(path, "online") != 0;
    return s;
  }

  // Blocks of whole rows leave the device idle.
  bool FewRows() const {
    const std::int64_t rows_per_block = pattern_.strided ? kWarp * kPackBytes / narrowest_ : 1;
    return !pattern_.arg && !symbolic_ && pattern_.columns >= 1024 &&
           pattern_.row_count < 4 * gpu_.sms * rows_per_block;
  }

  std::int64_t FetchedRegisters(const RowSchedule& s) const {
    // Narrow types are widened on the way, and then stay so.
    std::int64_t registers = 0;
    for (const RowLoad& load : pattern_.fetched)
      registers += FetchedElements(pattern_, load, s) * std::max(ByteSize(load.load->type) / 4, 1);
    return registers;
  }

  std::int64_t RegisterBudget(const RowSchedule& s) const {
    return std::min(kFetchedRegisters, gpu_.registers_per_sm / s.threads - kOtherRegisters);
  }

  std::int64_t SharedBytes(const RowSchedule& s) const {
    constexpr std::int64_t kAlignment = 128;
    std::int64_t bytes = 0;
    const auto add = [&](std::int64_t n) {
      bytes += (n + kAlignment - 1) / kAlignment * kAlignment;
    };
    if (s.residency == Residency::kShared)
      for (const RowLoad& load : pattern_.fetched)
        add(FetchedElements(pattern_, load, s) * s.threads * ByteSize(load.load->type));
    if (pattern_.strided ? s.owners > 1 : s.owners > kWarp)
      for (const Stage& stage : pattern_.workload.stages)
        if (stage.combiner != Combiner::kNone)
          add(s.threads * (pattern_.strided ? s.lanes : 1) * ByteSize(stage.accumulator));
    return bytes;
  }

  RowPattern pattern_;
  GpuLimits gpu_;
  int narrowest_ = 4;
  bool symbolic_ = false;
};

}  // namespace

std::unique_ptr<Sketch> MakeCudaRowSketch(const Workload& workload, const Target& target) {
  auto pattern = MatchCudaRows(workload);
  if (!pattern) return nullptr;
  return std::make_unique<CudaRowSketch>(std::move(*pattern), target);
}

}  // namespace kindred
