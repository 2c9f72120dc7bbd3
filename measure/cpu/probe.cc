// ProbeCpuTarget: what the system says about the processor, and its peaks as measured.
//
// A peak is the best of several short runs on all of the target's threads together (one per
// processor, started at once): work of all over the time of the slowest. Bandwidths are of reads:
// from half the first level cache, half the second, and from a buffer far larger than the second
// level (so that it tells what lies behind, third level or memory). The answer is kept in a file by
// model, processors and boot, because a machine in a cloud may differ after each.

#include <algorithm>
#include <barrier>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/builder.h"
#include "measure/cpu/control_kernel.h"
#include "measure/cpu/peak_kernels.h"
#include "measure/internal/cache_directory.h"
#include "measure/internal/cpu_info.h"
#include "measure/runner.h"
#include "schedules/base/hash.h"
#include "schedules/target_json.h"

namespace kindred {
namespace {

constexpr int kFormat = 2;
constexpr int kRuns = 25;
constexpr double kRunNs = 2e6;
constexpr std::size_t kMemoryBytes = 256 << 20;
constexpr const char* kOptionalCompilers[] = {"clang"};
constexpr std::string_view kThreadsPrefix = "cpu:threads=";

// Number of threads that `id` names.
Result<int> ThreadsOf(const std::string& id, int cores) {
  if (id == "cpu") return 1;
  const std::string_view text = id;
  if (!text.starts_with(kThreadsPrefix))
    return BadInput("unknown target '" + id + "'; known here are cpu and cpu:threads=N");
  int threads = 0;
  const auto [end, error] =
      std::from_chars(text.data() + kThreadsPrefix.size(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1)
    return BadInput("target '" + id + "': the number of threads must be a whole number from 1");
  if (threads > cores)
    return BadInput("target '" + id + "': this process may run on " + std::to_string(cores) +
                    " processors only; name at most so many threads");
  return threads;
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// Best rate (work per ns) of several runs of `work` on `cpus` at once. `work(thread, repeats)`
// returns the work it did; repeats are chosen so that a run takes about kRunNs.
double PeakRate(const std::vector<int>& cpus,
                const std::function<double(int, std::int64_t)>& work) {
  std::int64_t repeats = 1;
  for (double took = 0; took < kRunNs / 2 && repeats < (1ll << 40);) {
    const double start = NowNs();
    work(0, repeats);
    took = NowNs() - start;
    if (took < kRunNs / 2)
      repeats = std::max(repeats * 2,
                         static_cast<std::int64_t>(static_cast<double>(repeats) *
                                                   std::min(kRunNs / std::max(took, 1.0), 1000.0)));
  }
  const int count = static_cast<int>(cpus.size());
  std::barrier start_line(count);
  std::vector<std::vector<double>> begin(kRuns, std::vector<double>(cpus.size()));
  auto end = begin;
  std::vector<double> done(cpus.size());
  const auto on_thread = [&](int thread) {
    PinTo({cpus[static_cast<std::size_t>(thread)]});
    for (int run = 0; run < kRuns; ++run) {
      start_line.arrive_and_wait();
      begin[run][thread] = NowNs();
      done[thread] = work(thread, repeats);
      end[run][thread] = NowNs();
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread) threads.emplace_back(on_thread, thread);
  for (std::thread& thread : threads) thread.join();
  double total = 0, best = 0;
  for (const double work_of_one : done) total += work_of_one;
  for (int run = 0; run < kRuns; ++run) {
    const double took = *std::max_element(end[run].begin(), end[run].end()) -
                        *std::min_element(begin[run].begin(), begin[run].end());
    best = std::max(best, total / took);
  }
  return best;
}

// GB/s of reading `bytes` per thread, over and over.
double ReadRate(const std::vector<int>& cpus, VectorLevel level, std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes / 1024 * 1024, 4096);
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> buffers;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    auto* const memory =
        static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
    if (memory == nullptr) return 0;
    std::memset(memory, 1, bytes);
    buffers.emplace_back(memory);
  }
  return PeakRate(cpus, [&](int thread, std::int64_t repeats) {
    double total = 0;
    for (std::int64_t i = 0; i < repeats; ++i)
      total += RunReads(level, buffers[static_cast<std::size_t>(thread)].get(), bytes);
    return total;
  });
}

Target Measured(const std::string& id, int threads, const CpuInfo& info,
                const std::vector<int>& allowed) {
  Target t;
  t.id = id;
  t.threads = threads;
  t.model = info.model;
  t.cores = static_cast<int>(allowed.size());
  const VectorLevel level = VectorLevelOf(info.flags);
  t.vector_bytes = level == VectorLevel::kAvx512 ? 64 : level == VectorLevel::kAvx2 ? 32 : 16;
  t.vector_registers = level == VectorLevel::kAvx512 ? 32 : 16;
  t.fused_multiply_add = level != VectorLevel::kGeneric;
#if defined(__aarch64__)
  t.vector_registers = 32;
  t.fused_multiply_add = true;
#endif
  t.f16_arithmetic = info.flags.contains("avx512_fp16") || info.flags.contains("fphp");
  if (info.l1_bytes > 0) t.l1_bytes = info.l1_bytes;
  if (info.l2_bytes > 0) t.l2_bytes = info.l2_bytes;
  if (info.l3_bytes > 0) t.l3_bytes = info.l3_bytes;

  const std::vector<int> cpus(allowed.end() - threads, allowed.end());
  const bool dot = level == VectorLevel::kAvx512 ? info.flags.contains("avx512_vnni")
                                                 : info.flags.contains("avx_vnni");
  const auto rate = [&](PeakKind kind) {
    return PeakRate(
        cpus, [&](int, std::int64_t steps) { return RunMultiplyAdds(level, kind, dot, steps); });
  };
  t.peak_f32_gflops = rate(PeakKind::kF32);
  t.peak_f64_gflops = rate(PeakKind::kF64);
  t.peak_i8_gops = rate(PeakKind::kI8);
  t.l1_gbps = ReadRate(cpus, level, static_cast<std::size_t>(t.l1_bytes / 2));
  t.l2_gbps = ReadRate(cpus, level, static_cast<std::size_t>(t.l2_bytes / 2));
  t.memory_gbps = ReadRate(cpus, level, kMemoryBytes / cpus.size());
  return t;
}

// What may change without a boot, and is quick to ask: never kept.
Target WithCompilers(Target target) {
  target.compilers = {"gcc"};
  for (const char* compiler : kOptionalCompilers)
    if (FindCompiler(compiler)) target.compilers.emplace_back(compiler);
  return target;
}

}  // namespace

Result<Target> ProbeCpuTarget(const std::string& asked, const std::string& cache_directory,
                              bool anew) {
  const std::vector<int> allowed = AllowedCpus();
  KINDRED_TRY(const int threads, ThreadsOf(asked, static_cast<int>(allowed.size())));
  const std::string id =
      threads == 1 ? "cpu" : std::string(kThreadsPrefix) + std::to_string(threads);
  const CpuInfo info = ReadCpuInfo();
  if (cache_directory.empty()) return WithCompilers(Measured(id, threads, info, allowed));

  KINDRED_TRY(const CacheDirectory cache, CacheDirectory::Open(cache_directory));
  std::string identity = std::to_string(kFormat) + "\n" + id + "\n" + info.model + "\n" + BootId();
  for (const int cpu : allowed) identity += "\n" + std::to_string(cpu);
  const std::string name = "target-" + HashOf(identity).Hex() + ".json";
  if (const auto text = anew ? std::nullopt : cache.Read(name)) {
    // One that cannot be read is damaged: measure again.
    if (auto kept = TargetFromJson(nlohmann::json::parse(*text, nullptr, false)))
      return WithCompilers(std::move(*kept));
  }
  Target target = Measured(id, threads, info, allowed);
  KINDRED_CHECK(cache.Write(name, TargetToJson(target).dump(2) + "\n"));
  return WithCompilers(std::move(target));
}

}  // namespace kindred
