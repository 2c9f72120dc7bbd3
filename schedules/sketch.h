// Sketch: one kind of kernel, as a subtree of decisions and the lowering of its leaves. One file
// per sketch in schedules/sketches/; the order there is the order of the first decision's options.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "schedules/space.h"

namespace kindred {

class Sketch {
 public:
  virtual ~Sketch() = default;
  virtual std::string_view name() const = 0;
  // As Space::Next and Space::Lower; `path` is without the leading "sketch" choice.
  virtual std::optional<Decision> Next(const Path& path) const = 0;
  virtual Result<Program> Lower(const Path& path) const = 0;
};

// Each returns nullptr where it does not apply to the workload (canonical form) on the target.
std::unique_ptr<Sketch> MakeGenericSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeElementwiseSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeRowSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeContractionSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeWindowSketch(const Workload& workload, const Target& target);

// For CUDA targets.
std::unique_ptr<Sketch> MakeCudaGenericSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeCudaElementwiseSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeCudaRowSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeCudaWindowSketch(const Workload& workload, const Target& target);
std::unique_ptr<Sketch> MakeCudaContractionSketch(const Workload& workload, const Target& target);

}  // namespace kindred
