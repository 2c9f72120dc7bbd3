#include "measure/timing.h"

#include <functional>

#include <gtest/gtest.h>

namespace kindred {
namespace {

// A machine whose time stands still but for what kernels are scripted to take.
class FakeMachine {
 public:
  // Time of run number `run` of the kernel, and of run number `run` of the control kernel.
  std::function<double(int run)> kernel_ns = [](int) { return 1e6; };
  std::function<double(int run)> control_ns = [](int) { return 2e4; };
  // How long the thread is off its processor during a run, beside what the kernel takes.
  std::function<double(int run)> off_ns = [](int) { return 0.0; };
  int fails_at = -1;

  Timing Take(const TimingRequest& request) {
    ControlKernel control([this] {
      const double ns = control_ns(controls_++);
      now_ += ns;
      return ns;
    });
    return TakeSamples(
        request, {[this] { return now_; }, [this] { return now_ - off_; }},
        [this] {
          now_ += kernel_ns(runs_);
          now_ += off_ns(runs_);
          off_ += off_ns(runs_);
          return runs_++ == fails_at ? 7 : 0;
        },
        control);
  }
  int runs() const { return runs_; }
  double now() const { return now_; }

 private:
  double now_ = 0, off_ = 0;
  int runs_ = 0, controls_ = 0;
};

TEST(Timing, MedianAndItsError) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(RelativeErrorOfMedian({5, 5, 5, 5}), 0);
  EXPECT_GT(RelativeErrorOfMedian({5}), 1e9);
  // One wild sample of ten does not count.
  EXPECT_EQ(RelativeErrorOfMedian({5, 5, 5, 5, 5, 5, 5, 5, 5, 500}), 0);
  EXPECT_NEAR(RelativeErrorOfMedian({9, 10, 11, 10}), 1.2533 * 1.4826 * 0.5 / 10 / 2, 1e-12);
}

TEST(Timing, AQuietKernelTakesTheFewestSamples) {
  FakeMachine machine;
  const Timing timing = machine.Take({});
  EXPECT_EQ(timing.samples, std::vector<double>(10, 1e6));
  EXPECT_EQ(timing.median_ns, 1e6);
  EXPECT_EQ(timing.control_ns, 2e4);
  EXPECT_EQ(timing.inner_repeats, 1);
  EXPECT_FALSE(timing.abandoned);
  EXPECT_EQ(machine.runs(), 11);  // one to warm up
}

TEST(Timing, ShortKernelsAreRepeatedWithinASample) {
  FakeMachine machine;
  machine.kernel_ns = [](int run) { return run == 0 ? 5000.0 : 100.0; };  // the first is cold
  const Timing timing = machine.Take({});
  EXPECT_GE(timing.inner_repeats * 100.0, 20e3);
  EXPECT_LE(timing.inner_repeats * 100.0, 25e3);
  EXPECT_EQ(timing.samples.size(), 10u);
  EXPECT_NEAR(timing.median_ns, 100, 1e-9);
}

TEST(Timing, ANoisyKernelIsSampledUntilTheBudgetIsSpent) {
  FakeMachine machine;
  machine.kernel_ns = [](int run) { return run % 2 == 0 ? 1e6 : 1.5e6; };
  TimingRequest request;
  request.limits.time_budget_s = 0.05;
  const Timing timing = machine.Take(request);
  EXPECT_GT(timing.samples.size(), 10u);
  EXPECT_GE(machine.now(), 0.05e9);
  EXPECT_LE(machine.now(), 0.08e9);
}

TEST(Timing, ANoisyShortKernelEndsAtTheMostSamples) {
  FakeMachine machine;
  machine.kernel_ns = [](int run) { return run % 2 == 0 ? 1e5 : 3e5; };
  EXPECT_EQ(machine.Take({}).samples.size(), 100u);
}

TEST(Timing, ALongKernelEndsAtTheHardBudget) {
  FakeMachine machine;
  machine.kernel_ns = [](int) { return 0.3e9; };
  const Timing timing = machine.Take({});
  EXPECT_GE(timing.samples.size(), 2u);
  EXPECT_LE(machine.now(), 1.5e9);
}

TEST(Timing, AVeryLongFirstRunIsTheOnlySample) {
  FakeMachine machine;
  TimingRequest request;
  request.first_run_ns = 40e9;
  const Timing timing = machine.Take(request);
  EXPECT_EQ(timing.samples, std::vector<double>{40e9});
  EXPECT_EQ(timing.median_ns, 40e9);
  EXPECT_FALSE(timing.abandoned);
  EXPECT_EQ(machine.runs(), 0);
}

TEST(Timing, AbandonsAfterOneSampleFarAboveTheIncumbent) {
  FakeMachine machine;
  TimingRequest request;
  request.incumbent_ns = 0.4e6;
  const Timing timing = machine.Take(request);
  EXPECT_TRUE(timing.abandoned);
  EXPECT_EQ(timing.samples.size(), 1u);
  EXPECT_EQ(timing.median_ns, 1e6);

  FakeMachine closer;
  request.incumbent_ns = 0.6e6;
  EXPECT_FALSE(closer.Take(request).abandoned);

  FakeMachine reference;
  request.incumbent_ns = 1e3;
  request.never_abandon = true;
  EXPECT_FALSE(reference.Take(request).abandoned);
}

TEST(Timing, AHopelessFirstRunIsNotRepeated) {
  FakeMachine machine;
  TimingRequest request;
  request.incumbent_ns = 1e6;
  request.first_run_ns = 30e6;
  const Timing timing = machine.Take(request);
  EXPECT_TRUE(timing.abandoned);
  EXPECT_EQ(machine.runs(), 0);
  // A short one may only have been cold.
  FakeMachine cold;
  request.first_run_ns = 15e6;
  EXPECT_FALSE(cold.Take(request).abandoned);
}

TEST(Timing, ADisturbedChunkIsTakenAgain) {
  FakeMachine machine;
  // Controls 1 and 2 are disturbed: chunk 0 (between 0 and 1) and chunk 1 (between 1 and 2), chunk
  // 2 (2, 3).
  machine.control_ns = [](int run) { return run == 1 || run == 2 ? 3e4 : 2e4; };
  machine.kernel_ns = [](int run) { return run <= 15 ? 2e6 : 1e6; };
  const Timing timing = machine.Take({});
  EXPECT_EQ(timing.chunks_thrown_away, 3);
  EXPECT_EQ(timing.median_ns, 1e6);
  EXPECT_EQ(timing.control_ns, 2e4);
}

TEST(Timing, AChunkWithoutTheProcessorIsTakenAgain) {
  FakeMachine machine;
  machine.off_ns = [](int run) { return run > 3 && run < 8 ? 4e6 : 0.0; };
  const Timing timing = machine.Take({});
  EXPECT_EQ(timing.chunks_thrown_away, 2);
  EXPECT_EQ(timing.samples, std::vector<double>(10, 1e6));
}

TEST(Timing, AMachineThatStaysDisturbedIsBelieved) {
  FakeMachine machine;
  machine.control_ns = [](int run) { return run == 0 ? 2e4 : 3e4; };
  const Timing timing = machine.Take({});
  EXPECT_EQ(timing.chunks_thrown_away, kRetries);
  EXPECT_EQ(timing.samples.size(), 10u);
  EXPECT_EQ(timing.control_ns, 3e4);
}

TEST(Timing, TheControlsMinimumIsForgotten) {
  double ns = 1e4;
  ControlKernel control([&ns] { return ns; });
  control.Run();
  ns = 2e4;
  EXPECT_TRUE(control.Disturbed(control.Run()));
  for (int i = 0; i < 100; ++i) control.Run();
  EXPECT_FALSE(control.Disturbed(control.Run()));
}

TEST(Timing, AnErrorEndsIt) {
  for (const int at : {0, 5}) {
    FakeMachine machine;
    machine.fails_at = at;
    EXPECT_EQ(machine.Take({}).run_error, 7);
    EXPECT_EQ(machine.runs(), at + 1);
  }
}

}  // namespace
}  // namespace kindred
