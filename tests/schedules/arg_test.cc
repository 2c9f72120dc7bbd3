// argmax and argmin: which index is found among equals, infinities and NaNs, by every way of
// computing them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/base/seed.h"
#include "schedules/canonical.h"
#include "schedules/lower_naive.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"

namespace kindred {
namespace {

using test::Bytes;

Workload Parse(const std::string& text) {
  auto workload = ParseWorkload(text, "test");
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().message);
  return workload ? Canonicalize(*workload).workload : Workload{};
}

// Every complete path of a space.
std::vector<Path> AllPaths(const Space& space) {
  std::vector<Path> complete;
  const std::function<void(Path)> extend = [&](const Path& path) {
    const auto decision = space.Next(path);
    if (!decision) return complete.push_back(path);
    for (std::size_t i = 0; i < decision->options.size(); ++i) {
      Path longer = path;
      longer.push_back({decision->name, decision->options[i],
                        decision->labels.empty() ? "" : decision->labels[i]});
      extend(longer);
    }
  };
  extend({});
  return complete;
}

// Rows on which it is easy to find the wrong one: few values, equal bests far apart, bests in the
// last column, nothing but infinities or NaNs.
template <typename T>
std::vector<T> Rows(int rows, int columns, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> x(static_cast<std::size_t>(rows * columns));
  for (T& v : x) v = static_cast<T>(random.Below(4));
  if constexpr (std::is_floating_point_v<T>) {
    const T infinity = std::numeric_limits<T>::infinity(),
            nan = std::numeric_limits<T>::quiet_NaN();
    const auto row = [&](int r) { return x.begin() + r * columns; };
    std::fill(row(0), row(1), -infinity);
    std::fill(row(1), row(2), nan);
    *row(2) = nan;
    *(row(3) - 1) = infinity;
    *row(3) = -infinity;
    *(row(4) - 1) = nan;
    for (auto v = row(4); v != row(5); ++v) *v = random.Below(2) ? nan : infinity;
  }
  return x;
}

// The first of the best; 0 where nothing beats the worst of all values.
template <typename T>
std::int64_t Expected(const T* x, std::int64_t count, std::int64_t stride, bool max) {
  using Limits = std::numeric_limits<T>;
  const T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  std::int64_t best = 0;
  T value = max ? lowest : highest;
  for (std::int64_t i = 0; i < count; ++i) {
    const T v = x[i * stride];
    if (!(max ? v > value : v < value)) continue;
    best = i;
    value = v;
  }
  return best;
}

template <typename T>
void CheckAll(const std::string& type, int columns, bool leading) {
  constexpr int kRows = 6;
  const std::string shape = leading ? std::to_string(columns) + "," + std::to_string(kRows)
                                    : std::to_string(kRows) + "," + std::to_string(columns);
  const std::string read = leading ? "(X[k,i])\n" : "(X[i,k])\n";
  const Workload w = Parse("input X: " + type + "[" + shape + "]\noutput A[i] = argmax[k]" + read +
                           "output B: i32[i] = argmin[k]" + read);
  std::vector<T> x = Rows<T>(kRows, columns, static_cast<std::uint64_t>(columns));
  if (leading) {  // transposed
    std::vector<T> t(x.size());
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < columns; ++c)
        t[static_cast<std::size_t>(c * kRows + r)] = x[static_cast<std::size_t>(r * columns + c)];
    x = t;
  }
  Bytes bytes(x.size() * sizeof(T));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  test::KernelBatch batch(test::TestTarget());
  const auto space = MakeSpace(w, test::TestTarget());
  for (const Path& path : AllPaths(*space)) {
    const auto candidate = space->Lower(path);
    ASSERT_TRUE(candidate) << candidate.error().message;
    ASSERT_TRUE(batch.Add(w, *candidate->program, PathToJson(path)));
  }
  ASSERT_TRUE(batch.Add(w, LowerNaive(w), "plain"));
  const auto built = batch.Build();
  ASSERT_TRUE(built) << built.error().message;
  for (int k = 0; k < batch.size(); ++k) {
    const auto outputs = batch.Run(k, {bytes});
    ASSERT_TRUE(outputs) << batch.Label(k) << ": " << outputs.error().message;
    for (int r = 0; r < kRows; ++r) {
      const T* first = x.data() + (leading ? r : r * columns);
      const std::int64_t stride = leading ? kRows : 1;
      EXPECT_EQ(LoadInteger(DataType::kI64, outputs->at(0).data() + 8 * r),
                Expected(first, columns, stride, true))
          << type << " argmax of row " << r << " of " << columns << " by " << batch.Label(k);
      EXPECT_EQ(LoadInteger(DataType::kI32, outputs->at(1).data() + 4 * r),
                Expected(first, columns, stride, false))
          << type << " argmin of row " << r << " of " << columns << " by " << batch.Label(k);
    }
  }
}

TEST(Arg, FirstOfEqualsAndNeverANaN) {
  for (const int columns : {5, 64, 203}) {
    CheckAll<float>("f32", columns, false);
    CheckAll<std::int32_t>("i32", columns, false);
  }
  CheckAll<double>("f64", 71, false);
  CheckAll<std::int64_t>("i64", 71, false);
  CheckAll<float>("f32", 21, true);
}

TEST(Arg, AgreesWithTheInterpreterWhateverIsCompared) {
  const std::vector<Workload> workloads = {
      Parse("input X: f16[3,70]\noutput I[i] = argmax[k](X[i,k] * 2)\n"),
      Parse("input X: bf16[2,3,50]\noutput I[n,i] = argmin[k](abs(X[n,i,k]))\n"),
      Parse("input X: i8[3,4,33]\noutput I: i32[i,j] = argmax[k](X[i,j,k])\n"),
      Parse("input A: f32[7,20]\nweight B: f32[20,40]\n"
            "output I[m] = argmax[n](sum[k](A[m,k] * B[k,n]))\n"),
      Parse("input X: f32[3,41]\nweight E: f32[41,5]\nI[i] = argmax[k](X[i,k])\n"
            "output Y[i,f] = E[I[i],f]\n"),
      Parse("symbol n in 1..90, likely 37\ninput X: f32[4,n]\noutput I[i] = argmax[k](X[i,k])\n"),
      Parse("input X: f32[3,9,18]\noutput I[n,x] = argmax[c](X[n,c,x])\n"),
  };
  EXPECT_THAT(test::DifferentialTest(workloads, test::TestTarget(), {.paths_per_sketch = 4}),
              testing::IsEmpty());
}

TEST(Arg, VectorsHoldWhatTheyHaveFound) {
  const Workload w = Parse("input X: f32[8,640]\noutput I[i] = argmax[k](X[i,k])\n");
  const auto space = MakeSpace(w, test::TestTarget());
  const auto path = PathFromJson(*space, R"({"sketch": "rows", "rows": 1, "vectors": 2})");
  ASSERT_TRUE(path) << path.error().message;
  const KernelSource source = EmitC(*space->Lower(*path)->program, w, test::TestTarget());
  EXPECT_THAT(source.code, testing::HasSubstr("kd_reduce_max_f32x16(best"));
  EXPECT_THAT(source.code, testing::HasSubstr("kd_reduce_min_i32x16(columns_0)"));
}

}  // namespace
}  // namespace kindred
