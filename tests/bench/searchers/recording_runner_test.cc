#include "tests/bench/searchers/recording_runner.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "measure/fake_runner.h"
#include "schedules/text_form.h"

namespace kindred::bench {
namespace {

class RecordingRunnerTest : public testing::Test {
 protected:
  RecordingRunnerTest()
      : path_(testing::TempDir() + "record_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl") {
    std::filesystem::remove(path_);
    for (int i = 0; i < 6; ++i) {
      KernelSource kernel;
      kernel.code = "int entry" + std::to_string(i);
      kernel.entry = "entry";
      kernels_.push_back(kernel);
    }
    // 100, 200, ... by the last digit of the code.
    options_.time_ns = [](const KernelSource& kernel) {
      return 100.0 * (kernel.code.back() - '0' + 1);
    };
  }
  ~RecordingRunnerTest() override { std::filesystem::remove(path_); }

  Result<std::vector<Outcome>> Measure(RecordingRunner& runner, std::size_t first,
                                       std::size_t count, double incumbent_ns = 0,
                                       std::uint64_t seed = 0) {
    MeasureJob job;
    job.workload = &workload_;
    job.candidates = std::span(kernels_).subspan(first, count);
    job.incumbent_ns = incumbent_ns;
    job.seed = seed;
    return runner.Measure(job, [] { return false; });
  }

  std::string path_;
  Workload workload_ = *ParseWorkload("input X: f32[8]\noutput Y[i] = X[i] + 1\n");
  std::vector<KernelSource> kernels_;
  FakeRunnerOptions options_;
};

TEST_F(RecordingRunnerTest, MeasuresEachKernelOnce) {
  auto record = MeasurementRecord::OpenOrBegin(path_, Target{});
  ASSERT_TRUE(record) << record.error().message;
  FakeRunner device(options_);
  RecordingRunner runner(&device, *record);
  ASSERT_EQ(Measure(runner, 0, 4)->size(), 4u);
  const auto again = Measure(runner, 2, 4, 0, 7);
  ASSERT_EQ(again->size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ((*again)[i].median_ns, 300 + 100 * static_cast<double>(i));
  EXPECT_EQ(device.measured(), 6);
  EXPECT_EQ(runner.measured(), 6u);
  EXPECT_EQ(record->BestNs(WorkloadHash(workload_)), 100);
}

TEST_F(RecordingRunnerTest, TheAskersIncumbentAloneDecidesWhoIsAbandoned) {
  auto record = MeasurementRecord::OpenOrBegin(path_, Target{});
  FakeRunner device(options_);
  RecordingRunner runner(&device, *record);
  const auto unknown = Measure(runner, 0, 6);
  for (const Outcome& outcome : *unknown) EXPECT_EQ(outcome.status, Status::kOk);
  const auto known = Measure(runner, 0, 6, 150);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ((*known)[i].status, i < 3 ? Status::kOk : Status::kAbandoned);
}

TEST_F(RecordingRunnerTest, ReplaysWithoutADeviceAndNamesWhatIsMissing) {
  {
    auto record = MeasurementRecord::OpenOrBegin(path_, Target{});
    options_.scripted[1].status = Status::kCrash;
    options_.scripted[1].message = "signal 11";
    FakeRunner device(options_);
    RecordingRunner runner(&device, *record);
    ASSERT_TRUE(Measure(runner, 0, 3));
  }
  auto record = MeasurementRecord::Open(path_);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->Measured(WorkloadHash(workload_)), 3u);
  RecordingRunner runner(nullptr, *record);
  const auto replayed = Measure(runner, 0, 3);
  ASSERT_TRUE(replayed);
  EXPECT_EQ((*replayed)[0].median_ns, 100);
  EXPECT_EQ((*replayed)[1].status, Status::kCrash);
  EXPECT_EQ((*replayed)[1].message, "signal 11");
  const auto missing = Measure(runner, 0, 5);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("lacks 2"), std::string::npos);
}

TEST_F(RecordingRunnerTest, ALineThatWasCutOffIsMeasuredAgain) {
  FakeRunner device(options_);
  {
    auto record = MeasurementRecord::OpenOrBegin(path_, Target{});
    RecordingRunner runner(&device, *record);
    ASSERT_TRUE(Measure(runner, 0, 3));
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 10);
  {
    auto record = MeasurementRecord::OpenOrBegin(path_, Target{});
    ASSERT_TRUE(record) << record.error().message;
    RecordingRunner runner(&device, *record);
    ASSERT_TRUE(Measure(runner, 0, 3));
    EXPECT_EQ(runner.measured(), 1u);
  }
  const auto record = MeasurementRecord::Open(path_);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->Measured(WorkloadHash(workload_)), 3u);
}

TEST_F(RecordingRunnerTest, RefusesOtherFilesAndOtherDevices) {
  EXPECT_FALSE(MeasurementRecord::Open(path_));
  { std::ofstream(path_) << "{\"target\": 1}\n"; }
  EXPECT_FALSE(MeasurementRecord::Open(path_));
  std::filesystem::remove(path_);
  ASSERT_TRUE(MeasurementRecord::OpenOrBegin(path_, Target{}));
  Target other;
  other.model = "another processor";
  const auto refused = MeasurementRecord::OpenOrBegin(path_, other);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another processor"), std::string::npos);
}

}  // namespace
}  // namespace kindred::bench
