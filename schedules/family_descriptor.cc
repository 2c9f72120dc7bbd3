// Structure and descriptors of a workload's anchor (schedules/canonical.h).
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "schedules/canonical.h"
#include "schedules/internal/printer.h"

namespace kindred {
namespace {

// The stage that a schedule is built around: the reduction with the most operations; without
// reductions the stage with the most points.
int FindAnchor(const Workload& workload) {
  int anchor = 0;
  std::pair<bool, double> best(false, -1);  // whether it reduces, operations or points
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    const Stage& stage = workload.stages[s];
    const bool reduces = stage.combiner != Combiner::kNone;
    const auto points = static_cast<double>(Points(stage));
    const std::pair weight(
        reduces, reduces ? points * static_cast<double>(OperationsPerPoint(stage)) : points);
    if (weight <= best) continue;
    best = weight;
    anchor = static_cast<int>(s);
  }
  return anchor;
}

class Describer {
 public:
  explicit Describer(const Workload& workload) : workload_(workload) {}

  FamilyDescriptor Run() {
    result_.anchor_stage = FindAnchor(workload_);
    anchor_ = &workload_.stages[static_cast<std::size_t>(result_.anchor_stage)];
    const Stage& stage = *anchor_;
    std::string& text = result_.structure_text;
    text = stage.combiner == Combiner::kNone
               ? std::string("map")
               : fmt::format("{} {}", Name(stage.combiner), Name(stage.accumulator));
    text += fmt::format(" -> {} [", Name(Tensor(stage.tensor).type));
    for (std::size_t a = 0; a < stage.axes.size(); ++a) {
      text += fmt::format("{}{}", a == static_cast<std::size_t>(stage.spatial) ? "| " : "",
                          AxisText(a));
      if (a + 1 < stage.axes.size()) text += ' ';
      Add(fmt::format("log2 extent {}", AxisText(a)), Log2(stage.axes[a].extent.value));
    }
    text += "] " + Skeleton(*stage.body, false);
    result_.structure = HashOf(text);
    AddTotals();
    return std::move(result_);
  }

 private:
  static double Log2(std::int64_t value) {
    return std::log2(static_cast<double>(std::max<std::int64_t>(value, 1)));
  }

  const kindred::Tensor& Tensor(int id) const {
    return workload_.tensors[static_cast<std::size_t>(id)];
  }

  void Add(std::string name, double value) {
    result_.names.push_back(std::move(name));
    result_.descriptors.push_back(value);
  }

  std::string AxisText(std::size_t axis) const {
    const bool spatial = axis < static_cast<std::size_t>(anchor_->spatial);
    return spatial ? fmt::format("s{}", axis)
                   : fmt::format("r{}", axis - static_cast<std::size_t>(anchor_->spatial));
  }

  // Operators and access patterns; extents, strides, offsets, constants and padding are left out.
  std::string Skeleton(const Expr& e, bool padded) {
    switch (e.op) {
      case Op::kInt:
      case Op::kFloat: return "#";
      case Op::kVar: return AxisText(static_cast<std::size_t>(e.index));
      case Op::kExtent: return "extent";
      case Op::kPadded: return Skeleton(*e.args[0], true);
      case Op::kLoad: return Load(e, padded);
      case Op::kCast: return fmt::format("{}({})", Name(e.type), Skeleton(*e.args[0], false));
      default: break;
    }
    std::string text(Name(e.op));
    for (std::size_t i = 0; i < e.args.size(); ++i)
      text += (i == 0 ? "(" : ", ") + Skeleton(*e.args[i], false);
    return text + ")";
  }

  std::string Load(const Expr& e, bool padded) {
    const kindred::Tensor& tensor = Tensor(e.index);
    std::string text =
        fmt::format("{}{}[", tensor.role == Role::kWeight ? "w:" : "", Name(tensor.type));
    const std::string name = fmt::format("read {}", ++loads_);
    for (std::size_t d = 0; d < e.args.size(); ++d) {
      if (d > 0) text += ", ";
      const auto affine = AsAffine(*e.args[d], static_cast<int>(anchor_->axes.size()));
      if (!affine) {
        text += Skeleton(*e.args[d], false);
        continue;
      }
      std::string terms;
      for (std::size_t a = 0; a < affine->coefficients.size(); ++a) {
        if (affine->coefficients[a] == 0) continue;
        terms += (terms.empty() ? "" : "+") + AxisText(a);
        Add(fmt::format("{} dimension {} log2 stride {}", name, d, AxisText(a)),
            Log2(std::abs(affine->coefficients[a])));
      }
      text += terms.empty() ? "#" : terms;
    }
    Add(name + " padded", padded ? 1 : 0);
    return text + "]";
  }

  void AddTotals() {
    double epilogue = 0, stages = 0, outputs = 0;
    for (std::size_t s = 0; s < workload_.stages.size(); ++s) {
      const Stage& stage = workload_.stages[s];
      if (&stage != anchor_) {
        epilogue += static_cast<double>(OperationsPerPoint(stage));
        ++stages;
      }
      outputs += Tensor(stage.tensor).role == Role::kOutput ? 1 : 0;
    }
    const auto flop = static_cast<double>(std::max<std::int64_t>(Flop(workload_), 1));
    const auto bytes = static_cast<double>(std::max<std::int64_t>(CompulsoryBytes(workload_), 1));
    Add("operations beside the anchor", epilogue);
    Add("stages beside the anchor", stages);
    Add("further outputs", outputs - 1);
    Add("log2 flop", std::log2(flop));
    Add("log2 bytes", std::log2(bytes));
    Add("log2 flop per byte", std::log2(flop / bytes));
  }

  const Workload& workload_;
  const Stage* anchor_ = nullptr;
  FamilyDescriptor result_;
  int loads_ = 0;
};

}  // namespace

FamilyDescriptor DescribeFamily(const Workload& canonical) { return Describer(canonical).Run(); }

}  // namespace kindred
