#include "measure/fake_runner.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace kindred {
namespace {

std::vector<KernelSource> Sources(int count) {
  std::vector<KernelSource> sources(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) sources[i].code = "kernel " + std::to_string(i);
  return sources;
}

MeasureJob JobOf(const std::vector<KernelSource>& sources) {
  MeasureJob job;
  job.candidates = sources;
  return job;
}

TEST(FakeRunner, TheSameSourceTakesTheSameTimeInAnyOrder) {
  std::vector<KernelSource> sources = Sources(20);
  FakeRunner first({.failure_share = 0.3});
  const auto a = first.Measure(JobOf(sources), {});
  std::reverse(sources.begin(), sources.end());
  FakeRunner second({.failure_share = 0.3});
  const auto b = second.Measure(JobOf(sources), {});
  ASSERT_TRUE(a && b);
  int failed = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ((*a)[i].median_ns, (*b)[19 - i].median_ns);
    EXPECT_EQ((*a)[i].status, (*b)[19 - i].status);
    failed += (*a)[i].Timed() ? 0 : 1;
  }
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 20);
  EXPECT_EQ(first.measured(), 20);
}

TEST(FakeRunner, ScriptsAbandonsAndStops) {
  const std::vector<KernelSource> sources = Sources(5);
  Outcome crash;
  crash.status = Status::kCrash;
  FakeRunner runner(
      {.time_ns = [](const KernelSource&) { return 1000.0; }, .scripted = {{1, crash}}});
  MeasureJob job = JobOf(sources);
  job.incumbent_ns = 100;
  int polls = 0;
  const auto outcomes = runner.Measure(job, [&polls] { return ++polls > 3; });
  ASSERT_TRUE(outcomes);
  ASSERT_EQ(outcomes->size(), 3u);
  EXPECT_EQ((*outcomes)[0].status, Status::kAbandoned);
  EXPECT_EQ((*outcomes)[1].status, Status::kCrash);
  FakeRunner broken({.error_at_call = 0});
  EXPECT_FALSE(broken.Measure(job, {}));
  EXPECT_TRUE(broken.Measure(job, {}));
}

}  // namespace
}  // namespace kindred
