#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include "measure/runner.h"
#include "tests/measure/scratch.h"

namespace kindred {
namespace {

TEST(Probe, FindsAPlausibleMachineAndRemembersIt) {
  const Scratch scratch;
  const auto target = ProbeCpuTarget("cpu", scratch.path());
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->id, "cpu");
  EXPECT_EQ(target->threads, 1);
  EXPECT_GE(target->cores, 1);
  EXPECT_FALSE(target->model.empty());
  EXPECT_GE(target->vector_bytes, 16);
  EXPECT_GE(target->l1_bytes, 4 << 10);
  EXPECT_GT(target->l2_bytes, target->l1_bytes);
  EXPECT_GT(target->peak_f32_gflops, 0.1);
  EXPECT_GT(target->peak_f64_gflops, 0.1);
  EXPECT_GT(target->peak_i8_gops, 0.1);
  EXPECT_GT(target->l1_gbps, 0.1);
  EXPECT_GT(target->l2_gbps, 0.1);
  EXPECT_GT(target->memory_gbps, 0.1);

  const auto again = ProbeCpuTarget("cpu", scratch.path());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->peak_f32_gflops, target->peak_f32_gflops);
  EXPECT_EQ(again->memory_gbps, target->memory_gbps);
  EXPECT_EQ(again->vector_registers, target->vector_registers);

  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    std::ofstream(entry.path()) << "{\"id\": ";
  const auto repaired = ProbeCpuTarget("cpu", scratch.path());
  ASSERT_TRUE(repaired);
  EXPECT_GT(repaired->peak_f32_gflops, 0.1);
}

TEST(Probe, TellsTheCompilersOnPathEvenWhereTheRestIsRemembered) {
  const Scratch cache, tools;
  ASSERT_TRUE(ProbeCpuTarget("cpu", cache.path()));
  const auto compilers = [&] {
    const auto target = ProbeCpuTarget("cpu", cache.path());
    return target ? target->compilers : std::vector<std::string>{};
  };
  const PathGuard guard(tools.path());
  EXPECT_EQ(compilers(), std::vector<std::string>{"gcc"});
  const std::string clang = tools.path() + "/clang";
  std::ofstream(clang) << "#!/bin/sh\nexit 1\n";
  std::filesystem::permissions(clang, std::filesystem::perms::owner_all);
  EXPECT_EQ(compilers(), std::vector<std::string>{"gcc"}) << "does not work";
  std::ofstream(clang) << "#!/bin/sh\necho clang version 14\n";
  EXPECT_EQ(compilers(), (std::vector<std::string>{"gcc", "clang"}));
}

TEST(Probe, RefusesOtherTargets) {
  for (const char* id : {"", "gpu", "cuda:0", "cpu:", "cpu:threads=", "cpu:threads=0",
                         "cpu:threads=x", "cpu:threads=2x", "cpu:threads=100000"}) {
    const auto target = ProbeCpuTarget(id, "");
    ASSERT_FALSE(target) << id;
    EXPECT_EQ(target.error().kind, ErrorKind::kBadInput);
    EXPECT_NE(target.error().message.find(id), std::string::npos);
  }
}

}  // namespace
}  // namespace kindred
