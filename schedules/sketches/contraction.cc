// The contraction sketch: GEMM, batched products, convolution, any einsum of two operands, with
// pointwise stages fused. Recognition in contraction_pattern, decisions in contraction_plan, code
// in contraction_lower.
#include <memory>
#include <utility>

#include "schedules/sketch.h"
#include "schedules/sketches/contraction_lower.h"
#include "schedules/sketches/contraction_pattern.h"
#include "schedules/sketches/contraction_plan.h"

namespace kindred {
namespace {

class ContractionSketch : public Sketch {
 public:
  ContractionSketch(const Workload& workload, const Target& target, ContractionPattern pattern)
      : workload_(workload),
        target_(target),
        pattern_(std::move(pattern)),
        menu_(pattern_, target_) {}

  std::string_view name() const override { return "contraction"; }

  std::optional<Decision> Next(const Path& path) const override {
    Chooser chooser(path);
    Decide(pattern_, menu_, target_, chooser);
    return chooser.pending();
  }

  Result<Program> Lower(const Path& path) const override {
    Chooser chooser(path);
    const ContractionPlan plan = Decide(pattern_, menu_, target_, chooser);
    if (chooser.pending())
      return Internal("contraction schedule is incomplete: '" + chooser.pending()->name +
                      "' is not decided");
    return LowerContraction(workload_, pattern_, plan, target_);
  }

 private:
  const Workload workload_;
  const Target target_;
  const ContractionPattern pattern_;
  const ContractionMenu menu_;
};

}  // namespace

std::unique_ptr<Sketch> MakeContractionSketch(const Workload& workload, const Target& target) {
  if (target.kind != DeviceKind::kCpu) return nullptr;
  auto pattern = MatchContraction(workload);
  if (!pattern) return nullptr;
  return std::make_unique<ContractionSketch>(workload, target, std::move(*pattern));
}

}  // namespace kindred
