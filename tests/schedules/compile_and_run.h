// Compiles emitted kernels, many per translation unit, and runs them between pages that must not be
// touched.
//
//   KernelBatch batch(target);
//   const int k = batch.Add(workload, program, "what it is");
//   ASSERT_TRUE(batch.Build());
//   const auto outputs = batch.Run(k, InputBytes(workload, seed));
//
// Buffers have exactly their size: one run puts a forbidden page right behind every buffer, a
// second one right before it, so reading or writing outside is found to the byte; both runs must
// agree. For a CUDA target the kernels are compiled and run by tests/cuda_emulation, which finds
// more than that. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/emit_c.h"
#include "schedules/program.h"
#include "schedules/space.h"
#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred::test {

using Bytes = std::vector<std::byte>;

class KernelBatch {
 public:
  // `options`: of gcc, for all kernels; empty: each one's own compiler and flags.
  explicit KernelBatch(Target target, std::string options = "-O1")
      : target_(std::move(target)), options_(std::move(options)) {}
  ~KernelBatch();
  KernelBatch(const KernelBatch&) = delete;
  KernelBatch& operator=(const KernelBatch&) = delete;

  // Takes copies. Error: CheckProgram's.
  Result<int> Add(const Workload& workload, const Program& program, std::string label);

  // Compiles and loads all that was added. Error: the compiler's messages, or the loader's.
  Result<void> Build();

  // Outputs in the order of ArgumentTensors(workload). `inputs`: one per input and weight, in that
  // order. `extents`: of the symbols. Errors: a kernel that returned non-zero, touched a forbidden
  // page, wrote to an input, or gave different results in the two runs; in CUDA, any finding of the
  // emulation.
  Result<std::vector<Bytes>> Run(int kernel, const std::vector<Bytes>& inputs,
                                 const std::vector<std::int64_t>& extents = {});

  const KernelSource& Source(int kernel) const {
    return kernels_[static_cast<std::size_t>(kernel)].source;
  }
  const std::string& Label(int kernel) const {
    return kernels_[static_cast<std::size_t>(kernel)].label;
  }
  int size() const { return static_cast<int>(kernels_.size()); }

 private:
  struct Kernel {
    Workload workload;
    KernelSource source;
    std::string label;
    void* library = nullptr;
  };
  // Compiles these kernels as one translation unit.
  Result<void> BuildUnit(const std::string& command, std::span<const std::size_t> kernels);
  Result<std::vector<Bytes>> RunOnce(const Kernel& kernel, const std::vector<Bytes>& inputs,
                                     const std::vector<std::int64_t>& extents, bool guard_behind);

  Result<std::vector<Bytes>> Emulate(const Kernel& kernel, const std::vector<Bytes>& inputs,
                                     const std::vector<std::int64_t>& extents);

  Target target_;
  std::string options_;
  std::vector<Kernel> kernels_;
  std::vector<void*> libraries_;
  std::string directory_;
};

// One buffer per input and weight, filled by FillInput.
std::vector<Bytes> InputBytes(const Workload& workload, std::uint64_t seed);

// `count` complete paths, each choice random; the first path takes the first option everywhere.
std::vector<Path> RandomPaths(const Space& space, int count, std::uint64_t seed);

// Runs the kernel on random inputs and compares it with the interpreter in f64, within the error
// bounds of schedules/tolerance.h: "" or the complaint.
std::string CompareWithInterpreter(KernelBatch& batch, int kernel, const Workload& workload,
                                   std::uint64_t seed);

// Lowers random paths of the workload's space (all sketches, or those named), and runs each against
// the interpreter. Returns complaints.
struct DifferentialOptions {
  int paths_per_sketch = 4;
  std::string sketch = {};  // empty: all
  std::uint64_t seed = 1;
  std::string options = "-O1";  // as KernelBatch's
};
std::vector<std::string> DifferentialTest(const std::vector<Workload>& workloads,
                                          const Target& target, const DifferentialOptions& options);

// The machine's own vectors as far as the compiler that built this test knows them.
Target TestTarget(int vector_bytes = 64);

}  // namespace kindred::test
