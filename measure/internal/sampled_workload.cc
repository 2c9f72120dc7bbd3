#include "measure/internal/sampled_workload.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "schedules/base/seed.h"

namespace kindred {
namespace {

constexpr std::int64_t kFewest = 40;  // positions left of a restricted dimension
constexpr std::int64_t kEdge = 4;     // positions kept at both ends
constexpr std::int64_t kTile = 64;

// Dimensions of tensors in classes that must be restricted alike, because a reader walks them with
// one axis.
class DimensionClasses {
 public:
  explicit DimensionClasses(const Workload& workload) : workload_(workload) {
    for (const Tensor& tensor : workload.tensors) {
      first_.push_back(static_cast<int>(parent_.size()));
      for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
        parent_.push_back(static_cast<int>(parent_.size()));
        extents_.push_back(tensor.shape[d].value);
      }
    }
    pinned_.assign(parent_.size(), false);
    for (const Stage& stage : workload.stages) {
      Visit(*stage.body, [&](const Expr& e) {
        if (e.op == Op::kLoad && workload_.ProducerOf(e.index) != nullptr) AddRead(stage, e);
      });
    }
    // An input has no producer that could be restricted.
    for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
      if (workload.ProducerOf(static_cast<int>(t)) != nullptr) continue;
      for (std::size_t d = 0; d < workload.tensors[t].shape.size(); ++d)
        Pin(Id(static_cast<int>(t), d));
    }
  }

  int Id(int tensor, std::size_t dimension) const {
    return first_[tensor] + static_cast<int>(dimension);
  }
  int ClassOf(int id) const {
    while (parent_[id] != id) id = parent_[id];
    return id;
  }
  // Classes that may be restricted, with their extents.
  std::map<int, std::int64_t> Free() const {
    std::set<int> pinned;
    for (std::size_t id = 0; id < parent_.size(); ++id) {
      if (pinned_[id]) pinned.insert(ClassOf(static_cast<int>(id)));
    }
    std::map<int, std::int64_t> free;
    for (std::size_t id = 0; id < parent_.size(); ++id) {
      const int root = ClassOf(static_cast<int>(id));
      if (!pinned.contains(root)) free[root] = extents_[id];
    }
    return free;
  }

 private:
  void Pin(int id) { pinned_[static_cast<std::size_t>(id)] = true; }
  void AddRead(const Stage& stage, const Expr& load) {
    for (std::size_t d = 0; d < load.args.size(); ++d) {
      const Expr& index = *load.args[d];
      const int id = Id(load.index, d);
      if (index.op == Op::kVar && index.index < stage.spatial &&
          stage.axes[index.index].extent.value == extents_[id]) {
        parent_[ClassOf(id)] = ClassOf(Id(stage.tensor, static_cast<std::size_t>(index.index)));
      } else {
        Pin(id);
      }
    }
  }

  const Workload& workload_;
  std::vector<int> first_;  // id of a tensor's first dimension
  std::vector<int> parent_;
  std::vector<std::int64_t> extents_;
  std::vector<bool> pinned_;
};

// The workload with each class of `counts` restricted to that many positions.
SampledWorkload Restrict(const Workload& original, const DimensionClasses& classes,
                         const std::map<int, std::int64_t>& counts) {
  SampledWorkload sampled{original, {}, {}};
  Workload& w = sampled.workload;
  std::map<int, const SampledWorkload::IndexInput*> input_of;
  sampled.index_inputs.reserve(counts.size());
  const std::map<int, std::int64_t> extents = classes.Free();
  for (const auto& [id, count] : counts) {
    if (count >= extents.at(id)) continue;
    Tensor tensor;
    tensor.name = "sample" + std::to_string(sampled.index_inputs.size());
    tensor.type = DataType::kI64;
    tensor.shape = {Extent{count, -1}};
    tensor.role = Role::kInput;
    // Indices of the whole axis, whatever the test data of other inputs are.
    tensor.data.kind = "index";
    tensor.data.high = static_cast<double>(extents.at(id));
    sampled.index_inputs.push_back(
        {static_cast<int>(w.tensors.size()), SamplePositions(extents.at(id), count)});
    w.tensors.push_back(std::move(tensor));
    input_of[id] = &sampled.index_inputs.back();
  }
  const auto input = [&](int tensor, std::size_t d) -> const SampledWorkload::IndexInput* {
    const auto found = input_of.find(classes.ClassOf(classes.Id(tensor, d)));
    return found == input_of.end() ? nullptr : found->second;
  };

  for (Stage& stage : w.stages) {
    std::vector<ExprPtr> chosen(stage.axes.size());  // what stands for each axis
    for (int axis = 0; axis < stage.spatial; ++axis) {
      const auto* index = input(stage.tensor, static_cast<std::size_t>(axis));
      if (index == nullptr) continue;
      stage.axes[axis].extent.value = static_cast<std::int64_t>(index->positions.size());
      w.tensors[stage.tensor].shape[axis].value = stage.axes[axis].extent.value;
      chosen[axis] = LoadExpr(index->tensor, {VarExpr(axis)}, DataType::kI64);
    }
    stage.body = SubstituteVars(stage.body, chosen);
    // Restricted temporaries are walked by the restricted axis itself.
    stage.body = Rewrite(stage.body, [&](const ExprPtr& e) -> ExprPtr {
      if (e->op != Op::kLoad || e->index >= static_cast<int>(original.tensors.size()) ||
          original.ProducerOf(e->index) == nullptr)
        return nullptr;
      std::vector<ExprPtr> indices = e->args;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        if (input(e->index, d) != nullptr) indices[d] = indices[d]->args.front();
      }
      return LoadExpr(e->index, std::move(indices), e->type);
    });
  }
  for (const int tensor : ArgumentTensors(original)) {
    if (original.ProducerOf(tensor) == nullptr) continue;
    auto& dimensions = sampled.positions.emplace_back();
    for (std::size_t d = 0; d < original.tensors[tensor].shape.size(); ++d) {
      const auto* index = input(tensor, d);
      dimensions.push_back(index == nullptr ? std::vector<std::int64_t>{} : index->positions);
    }
  }
  return sampled;
}

}  // namespace

std::vector<std::int64_t> SamplePositions(std::int64_t extent, std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(extent));
  std::iota(all.begin(), all.end(), 0);
  if (count >= extent) return all;
  std::set<std::int64_t> chosen;
  for (std::int64_t i = 0; i < std::min(kEdge, count / 2); ++i) {
    chosen.insert(i);
    chosen.insert(extent - 1 - i);
  }
  Random random(
      DeriveSeed(static_cast<std::uint64_t>(extent), "sample", static_cast<std::uint64_t>(count)));
  const std::int64_t strata = count - static_cast<std::int64_t>(chosen.size());
  for (std::int64_t i = 0; i < strata; ++i) {
    const std::int64_t begin = extent * i / strata;
    const std::int64_t length = std::max<std::int64_t>(1, extent * (i + 1) / strata - begin);
    std::int64_t index =
        begin + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(length)));
    const std::int64_t residue = (i * 37) % kTile;  // 37 and 64 have no common divisor: all are met
    const std::int64_t shifted = index - index % kTile + residue;
    if (shifted >= begin && shifted < begin + length) index = shifted;
    chosen.insert(index);
  }
  for (std::int64_t i = 0; static_cast<std::int64_t>(chosen.size()) < count; ++i) chosen.insert(i);
  return {chosen.begin(), chosen.end()};
}

SampledWorkload SampleOutputs(const Workload& workload, std::int64_t flop_limit,
                              std::int64_t element_limit) {
  const DimensionClasses classes(workload);
  std::map<int, std::int64_t> counts = classes.Free();
  if (!workload.symbols.empty()) counts.clear();
  SampledWorkload sampled = Restrict(workload, classes, counts);
  // How many times too much the reference would do.
  const auto excess = [&] {
    std::int64_t elements = 0;
    for (const Stage& stage : sampled.workload.stages)
      elements += Elements(sampled.workload.tensors[stage.tensor]);
    return std::max(static_cast<double>(Flop(sampled.workload)) / static_cast<double>(flop_limit),
                    static_cast<double>(elements) / static_cast<double>(element_limit));
  };
  while (excess() > 1) {
    const auto longest =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (longest == counts.end() || longest->second <= kFewest) break;
    const auto shrunk =
        static_cast<std::int64_t>(static_cast<double>(longest->second) / std::min(excess(), 2.0));
    longest->second = std::clamp(shrunk, kFewest, longest->second - 1);
    sampled = Restrict(workload, classes, counts);
  }
  return sampled;
}

}  // namespace kindred
