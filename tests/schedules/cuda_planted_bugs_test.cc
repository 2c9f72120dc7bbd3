// Mistakes planted into the text of real kernels: the emulation finds each of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedules/canonical.h"
#include "schedules/cuda_targets.h"
#include "schedules/emit_cuda.h"
#include "schedules/text_form.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/schedules/compile_and_run.h"

namespace kindred::test {
namespace {

using cuda_emulation::Mistake;
using cuda_emulation::Name;

constexpr const char* kWrongResult = "wrong result";

// A kernel, and what the emulation says of edited versions of it.
class Planted {
 public:
  Planted(const std::string& text, const std::string& path) {
    auto parsed = ParseWorkload(text, "planted");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
    workload_ = Canonicalize(*parsed).workload;
    const auto space = MakeSpace(workload_, *NamedCudaTarget("h200"));
    const auto choices = PathFromJson(*space, path);
    EXPECT_TRUE(choices) << (choices ? "" : choices.error().message);
    source_ = EmitCuda(*space->Lower(*choices)->program, workload_);
    EXPECT_EQ(Run(source_, &right_), "") << source_.code;
  }

  // How often the kernel's own text has `what`.
  int Count(const std::string& what) const {
    int count = 0;
    for (std::size_t at = Begin(); (at = source_.code.find(what, at)) != std::string::npos;
         at += what.size())
      ++count;
    return count;
  }

  // What is found with the `which`-th `what` replaced: the name of a mistake, "wrong result", or
  // "" for nothing.
  std::string With(const std::string& what, const std::string& by, int which = 0) const {
    KernelSource edited = source_;
    std::size_t at = Begin();
    for (int i = 0; (at = edited.code.find(what, at)) != std::string::npos && i < which; ++i)
      at += what.size();
    EXPECT_NE(at, std::string::npos) << "no " << what << " in\n" << source_.code;
    if (at == std::string::npos) return "";
    edited.code.replace(at, what.size(), by);
    std::vector<Bytes> outputs;
    const std::string found = Run(edited, &outputs);
    return found.empty() && outputs != right_ ? kWrongResult : found;
  }

 private:
  std::size_t Begin() const { return source_.code.find("extern \"C\" __global__"); }

  std::string Run(const KernelSource& source, std::vector<Bytes>* outputs) const {
    std::vector<Bytes> buffers = InputBytes(workload_, 1);
    const std::size_t inputs = buffers.size();
    for (const KernelArgument& a : source.arguments)
      if (a.access == KernelArgument::Access::kWrite)
        buffers.emplace_back(static_cast<std::size_t>(a.elements * ByteSize(a.type)));
    const std::vector<std::span<std::byte>> spans(buffers.begin(), buffers.end());
    const auto report = cuda_emulation::RunSource(source, {}, spans);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    if (!report) return "";
    if (report->finding) return std::string(Name(report->finding->mistake));
    outputs->assign(buffers.begin() + static_cast<std::ptrdiff_t>(inputs), buffers.end());
    return "";
  }

  Workload workload_;
  KernelSource source_;
  std::vector<Bytes> right_;
};

Planted Product(int stages) {
  return Planted(
      "input A: f32[68,44]\ninput B: f32[44,72]\noutput C[i,j] = sum[k](A[i,k] * B[k,j])\n",
      R"({"sketch":"contraction","block_rows":64,"block_columns":64,"register_rows":8,)"
      R"("register_columns":8,"k_step":8,"stages":)" +
          std::to_string(stages) + "}");
}

TEST(CudaPlantedBugs, EveryBarrierOfAProductIsNeeded) {
  for (const int stages : {1, 2, 3, 4}) {
    const Planted product = Product(stages);
    const int barriers = product.Count("kd_syncthreads();");
    EXPECT_EQ(barriers, stages < 3 ? 2 : 1);
    for (int i = 0; i < barriers; ++i)
      EXPECT_NE(product.With("kd_syncthreads();", "", i), "") << stages << " stages, barrier " << i;
  }
}

TEST(CudaPlantedBugs, TailsOffByOneAreFound) {
  for (const int stages : {2, 3}) {
    const Planted product = Product(stages);
    for (const auto& [right, wrong] : {std::pair{"k < 44", "k < 45"},
                                       {"at < 72", "at < 73"},
                                       {"row_at < 68", "row_at < 69"},
                                       {"column_at < 72", "column_at <= 72"}})
      EXPECT_NE(product.With(right, wrong, product.Count(right) - 1), "") << stages << " " << right;
    EXPECT_NE(product.With("row_at < 68", "row_at < 67"), "");
  }
}

TEST(CudaPlantedBugs, AWrongPlaceInSharedMemoryIsFound) {
  // The transposed tile of A has lines of 64 elements and 4 of padding.
  const Planted product = Product(2);
  for (const auto& [right, wrong] :
       {std::pair{"* 68", "* 64"}, {"s * 32", "s * 28"}, {"k_in + e", "k_in + (e ^ 1)"}})
    EXPECT_NE(product.With(right, wrong, product.Count(right) - 1), "") << right;
}

TEST(CudaPlantedBugs, AMissingWaitForCopiesIsFound) {
  for (const int stages : {3, 4}) {
    const Planted product = Product(stages);
    const std::string wait = "kd_cp_async_wait<" + std::to_string(stages - 2) + ">();";
    EXPECT_EQ(product.With(wait, ""), Name(Mistake::kCopyInFlight));
    EXPECT_EQ(product.With(wait, "kd_cp_async_wait<" + std::to_string(stages - 1) + ">();"),
              Name(Mistake::kCopyInFlight));
    EXPECT_NE(product.With("kd_cp_async_commit();", "", product.Count("kd_cp_async_commit();") - 1),
              "");
  }
}

TEST(CudaPlantedBugs, WrongShufflesAreFound) {
  const std::string text = "input X: f32[5,77]\noutput Y[i] = sum[j](X[i,j])\n";
  auto parsed = ParseWorkload(text, "rows");
  ASSERT_TRUE(parsed);
  const Workload workload = Canonicalize(*parsed).workload;
  const auto space = MakeSpace(workload, *NamedCudaTarget("h200"));
  for (const Path& path : RandomPaths(*space, 200, 3)) {
    if (path[0].label != "rows") continue;
    const auto source = EmitCuda(*space->Lower(path)->program, workload);
    if (source.code.find("distance = 16;") == std::string::npos) continue;
    const Planted rows(text, PathToJson(path));
    EXPECT_EQ(rows.With("0xffffffffu", "0x0000ffffu"), Name(Mistake::kWarpMask));
    EXPECT_EQ(rows.With("distance = 16;", "distance = 8;"), kWrongResult);
    return;
  }
  FAIL() << "no schedule of rows has a shuffle over a warp";
}

}  // namespace
}  // namespace kindred::test
