// The sampling rule of devices, on a device that is a function.
#include "measure/cuda/device_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

struct FakeDevice {
  double now = 0;
  std::vector<int> groups;  // runs of each
  std::function<double(int run)> run_ns = [](int) { return 50e3; };
  int runs = 0;
  int hot_readings = 0;  // so many readings say that it is too hot
  int fails_at_group = -1;
  double slept = 0;
  std::vector<double> clocks = {1500};  // of the readings; the last one stays

  TimedDevice Timed() {
    TimedDevice device;
    device.now = [this] { return now; };
    device.run_group = [this](int count) -> std::optional<std::vector<double>> {
      if (static_cast<int>(groups.size()) == fails_at_group) return std::nullopt;
      groups.push_back(count);
      std::vector<double> times;
      for (int i = 0; i < count; ++i) {
        times.push_back(run_ns(runs++));
        now += times.back();
      }
      return times;
    };
    device.state = [this] {
      DeviceState state;
      state.sm_clock_mhz = clocks.front();
      if (clocks.size() > 1) clocks.erase(clocks.begin());
      state.temperature_c = 90;
      state.too_hot = hot_readings-- > 0;
      return state;
    };
    device.sleep = [this](double seconds) {
      slept += seconds;
      now += seconds * 1e9;
    };
    return device;
  }
};

TEST(DeviceTiming, TakesAtLeastTheSamplesAskedFor) {
  FakeDevice fake;
  const DeviceTiming timing = TakeDeviceSamples({}, fake.Timed());
  EXPECT_FALSE(timing.failed);
  EXPECT_EQ(timing.median_ns, 50e3);
  EXPECT_EQ(timing.samples.size(), 10u);
  EXPECT_EQ(timing.inner_repeats, 1);
  EXPECT_EQ(timing.sm_clock_mhz, 1500);
  EXPECT_EQ(timing.throttled, "");
  EXPECT_EQ(fake.groups, (std::vector<int>{2, 10}));
}

TEST(DeviceTiming, ShortRunsAreMeans) {
  FakeDevice fake;
  fake.run_ns = [](int run) { return run % 2 == 0 ? 4e3 : 6e3; };
  const DeviceTiming timing = TakeDeviceSamples({}, fake.Timed());
  EXPECT_EQ(timing.inner_repeats, 4);
  EXPECT_EQ(timing.median_ns, 5e3);
  EXPECT_EQ(fake.groups[1], 40);
  fake = {};
  fake.run_ns = [](int) { return 100; };
  EXPECT_EQ(TakeDeviceSamples({}, fake.Timed()).inner_repeats, kMostInner);
}

TEST(DeviceTiming, NoiseIsSampledUntilTheBudgetIsSpent) {
  FakeDevice fake;
  fake.run_ns = [](int run) { return 1e6 + 2e5 * (run * 7 % 10); };
  const DeviceTiming timing = TakeDeviceSamples({}, fake.Timed());
  EXPECT_GT(timing.samples.size(), 50u);
  EXPECT_LE(timing.samples.size(), 100u);
  EXPECT_LT(fake.now, 0.3e9);
}

TEST(DeviceTiming, ALongRunIsTheOnlySample) {
  FakeDevice fake;
  TimingRequest request;
  request.first_run_ns = 2e9;
  const DeviceTiming timing = TakeDeviceSamples(request, fake.Timed());
  EXPECT_EQ(timing.samples, (std::vector<double>{2e9}));
  EXPECT_FALSE(timing.abandoned);
  EXPECT_TRUE(fake.groups.empty());
}

TEST(DeviceTiming, AbandonsByTheFirstSample) {
  FakeDevice fake;
  TimingRequest request;
  request.incumbent_ns = 20e3;
  const DeviceTiming far = TakeDeviceSamples(request, fake.Timed());
  EXPECT_TRUE(far.abandoned);
  EXPECT_EQ(far.samples.size(), 1u);
  EXPECT_EQ(fake.groups, (std::vector<int>{2}));
  request.never_abandon = true;
  EXPECT_FALSE(TakeDeviceSamples(request, fake.Timed()).abandoned);
  request.never_abandon = false;
  request.incumbent_ns = 26e3;
  EXPECT_FALSE(TakeDeviceSamples(request, fake.Timed()).abandoned);
}

TEST(DeviceTiming, SamplesOfAHotDeviceAreTakenAgain) {
  FakeDevice fake;
  fake.hot_readings = 5;
  const DeviceTiming timing = TakeDeviceSamples({}, fake.Timed());
  EXPECT_EQ(timing.groups_thrown_away, 1);
  EXPECT_GT(timing.waited_s, 0);
  EXPECT_EQ(timing.throttled, "");
  EXPECT_EQ(timing.samples.size(), 10u);
}

TEST(DeviceTiming, SamplesWhileTheClockChangesAreTakenAgain) {
  FakeDevice fake;
  fake.clocks = {345, 1200, 1950, 1980};
  const DeviceTiming timing = TakeDeviceSamples({}, fake.Timed());
  EXPECT_EQ(timing.groups_thrown_away, 2);
  EXPECT_EQ(timing.sm_clock_mhz, (1950 + 1980) / 2.0);
  EXPECT_EQ(timing.samples.size(), 10u);
  EXPECT_EQ(fake.slept, 0);
}

TEST(DeviceTiming, AHotDeviceIsNotWaitedForForEver) {
  FakeDevice fake;
  fake.hot_readings = 1 << 20;
  const DeviceTiming timing = TakeDeviceSamples({}, fake.Timed());
  EXPECT_EQ(timing.groups_thrown_away, kRetries);
  EXPECT_LT(fake.slept, kRetries * kCoolDown_s + 0.5);
  EXPECT_EQ(timing.throttled, "thermal (90 C)");
  EXPECT_EQ(timing.samples.size(), 10u);
}

TEST(DeviceTiming, AFailedGroupLeavesNothing) {
  for (const int group : {0, 1}) {
    FakeDevice fake;
    fake.fails_at_group = group;
    const DeviceTiming timing = TakeDeviceSamples({}, fake.Timed());
    EXPECT_TRUE(timing.failed);
    EXPECT_TRUE(timing.samples.empty());
  }
}

}  // namespace
}  // namespace kindred
