#include "measure/builder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include "tests/measure/scratch.h"

namespace kindred {
namespace {

namespace fs = std::filesystem;

KernelSource Source(const std::string& body, const std::string& compiler = "gcc") {
  KernelSource source;
  source.code =
      "#include <stdint.h>\n#include <math.h>\nstatic int helper(int x) { return x; }\n"
      "int run(void *const *b, const int64_t *e, void *w) {\n  (void)b; (void)e; (void)w;\n" +
      body + "\n}\n";
  source.entry = "run";
  source.compiler = compiler;
  source.flags = {"-O2"};
  return source;
}

std::unique_ptr<Builder> MakeBuilder(const std::string& directory, double timeout_s = 30) {
  BuilderOptions options;
  options.cache_directory = directory;
  options.timeout_s = timeout_s;
  auto builder = Builder::Make(options);
  EXPECT_TRUE(builder) << builder.error().message;
  return std::move(*builder);
}

int Call(const BuiltKernel& built) {
  void* const library = dlopen(built.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  const auto entry = reinterpret_cast<int (*)(void* const*, const std::int64_t*, void*)>(
      dlsym(library, built.entry.c_str()));
  EXPECT_NE(entry, nullptr);
  const int result = entry(nullptr, nullptr, nullptr);
  dlclose(library);
  return result;
}

TEST(Builder, BuildsSeveralKernelsWithTheSameNames) {
  const Scratch scratch;
  const auto builder = MakeBuilder(scratch.path());
  std::vector<KernelSource> sources;
  for (int i = 0; i < 7; ++i)
    sources.push_back(Source("return helper(" + std::to_string(i) + ");"));
  const auto built = builder->Build(sources);
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_EQ(built->size(), 7u);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ((*built)[i].status, Status::kOk) << (*built)[i].message;
    EXPECT_EQ(Call((*built)[i]), i);
    EXPECT_GT((*built)[i].facts.code_bytes, 0);
    EXPECT_GT((*built)[i].build_s, 0);
  }
  EXPECT_LT(builder->counters().compiler_runs, 7);
  EXPECT_EQ(builder->counters().compiled, 7);
}

TEST(Builder, CompilesEqualSourcesOnce) {
  const Scratch scratch;
  const std::vector<KernelSource> sources = {Source("return 1;"), Source("return 2;"),
                                             Source("return 1;")};
  {
    const auto builder = MakeBuilder(scratch.path());
    const auto built = builder->Build(sources);
    ASSERT_TRUE(built);
    EXPECT_EQ((*built)[0].key, (*built)[2].key);
    EXPECT_NE((*built)[0].key, (*built)[1].key);
    EXPECT_EQ(Call((*built)[2]), 1);
    EXPECT_EQ(builder->counters().compiled, 2);
    EXPECT_EQ(builder->counters().cache_hits, 1);
    ASSERT_TRUE(builder->Build(sources));
    EXPECT_EQ(builder->counters().compiled, 2);
  }
  const auto later = MakeBuilder(scratch.path());
  const auto built = later->Build(sources);
  ASSERT_TRUE(built);
  EXPECT_EQ(later->counters().compiler_runs, 0);
  EXPECT_EQ((*built)[1].build_s, 0);
  EXPECT_GT((*built)[1].facts.code_bytes, 0);
  EXPECT_EQ(Call((*built)[1]), 2);

  KernelSource other_flags = sources[0];
  other_flags.flags.push_back("-funroll-loops");
  ASSERT_TRUE(later->Build(std::span(&other_flags, 1)));
  EXPECT_EQ(later->counters().compiled, 1);
}

TEST(Builder, OneBadSourceSpoilsNoOther) {
  const Scratch scratch;
  const auto builder = MakeBuilder(scratch.path());
  const std::vector<KernelSource> sources = {Source("return 1;"), Source("return 2"),
                                             Source("return unknown;"), Source("return 4;"),
                                             Source("return missing_function();")};
  const auto built = builder->Build(sources);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(Call((*built)[0]), 1);
  EXPECT_EQ(Call((*built)[3]), 4);
  EXPECT_EQ((*built)[1].status, Status::kBuildError);
  EXPECT_NE((*built)[1].message.find("expected"), std::string::npos) << (*built)[1].message;
  EXPECT_NE((*built)[1].message.find("kernel.c:6:"), std::string::npos) << (*built)[1].message;
  EXPECT_EQ((*built)[2].status, Status::kBuildError);
  EXPECT_NE((*built)[2].message.find("unknown"), std::string::npos) << (*built)[2].message;
}

TEST(Builder, PrepareEntriesAndFrames) {
  const Scratch scratch;
  const auto builder = MakeBuilder(scratch.path());
  KernelSource source = Source("volatile char big[5000]; big[1] = 3; return big[1];");
  source.code += "int pack(void *const *b, const int64_t *e, void *w) { return 9; }\n";
  source.prepare_entry = "pack";
  const auto built = builder->BuildOne(source, 30);
  ASSERT_TRUE(built);
  ASSERT_EQ(built->status, Status::kOk) << built->message;
  EXPECT_EQ(Call(*built), 3);
  EXPECT_GE(built->facts.spill_bytes, 4800);
  BuiltKernel prepare = *built;
  prepare.entry = built->prepare_entry;
  EXPECT_EQ(Call(prepare), 9);
}

TEST(Builder, KillsACompilerThatTakesTooLong) {
  const Scratch scratch;
  const auto builder = MakeBuilder(scratch.path(), 0.5);
  // The preprocessor is asked for 2^60 tokens.
  KernelSource source;
  source.code = "#define A0 x x\n";
  for (int i = 1; i < 60; ++i) {
    const std::string below = "A" + std::to_string(i - 1);
    source.code += "#define A" + std::to_string(i) + " " + below + " " + below + "\n";
  }
  source.code += "int run(void) { A59 }\n";
  source.entry = "run";
  const auto built = builder->Build(std::span(&source, 1));
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->front().status, Status::kBuildTimeout);
  const auto next = builder->BuildOne(Source("return 5;"), 30);
  ASSERT_TRUE(next);
  EXPECT_EQ(Call(*next), 5);
}

TEST(Builder, NamesAMissingCompiler) {
  const Scratch scratch;
  const auto builder = MakeBuilder(scratch.path());
  const std::vector<KernelSource> sources = {Source("return 1;", "no-such-compiler"),
                                             Source("return 2;")};
  const auto built = builder->Build(sources);
  ASSERT_TRUE(built);
  EXPECT_EQ((*built)[0].status, Status::kBuildError);
  EXPECT_NE((*built)[0].message.find("no-such-compiler"), std::string::npos);
  EXPECT_EQ(Call((*built)[1]), 2);

  const PathGuard guard(scratch.path());
  BuilderOptions options;
  options.cache_directory = scratch.path();
  const auto none = Builder::Make(options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(none.error().message.find("gcc"), std::string::npos);
  EXPECT_NE(none.error().message.find("install"), std::string::npos);
}

TEST(Builder, SaysThatItsDirectoryCannotBeMade) {
  const Scratch scratch;
  std::ofstream(scratch.path() + "/file") << "x";
  BuilderOptions options;
  options.cache_directory = scratch.path() + "/file/cache";
  const auto builder = Builder::Make(options);
  ASSERT_FALSE(builder);
  EXPECT_EQ(builder.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(builder.error().message.find(options.cache_directory), std::string::npos);
}

TEST(Builder, LeavesNothingUnfinishedAndNoDescriptors) {
  const Scratch scratch;
  const auto builder = MakeBuilder(scratch.path());
  ASSERT_TRUE(builder->BuildOne(Source("return 0;"), 30));
  const int before = OpenDescriptors();
  for (int i = 0; i < 3; ++i) {
    const std::vector<KernelSource> sources = {Source("return 1" + std::to_string(i) + ";"),
                                               Source("bad"),
                                               Source("return 2" + std::to_string(i) + ";")};
    ASSERT_TRUE(builder->Build(sources));
  }
  EXPECT_EQ(OpenDescriptors(), before);
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    const std::string extension = entry.path().extension().string();
    EXPECT_TRUE(extension == ".so" || extension == ".facts") << entry.path();
  }
}

TEST(Builder, StopsBetweenCompilerRuns) {
  const Scratch scratch;
  BuilderOptions options;
  options.cache_directory = scratch.path();
  options.jobs = 1;
  const auto builder = Builder::Make(options);
  ASSERT_TRUE(builder);
  std::vector<KernelSource> sources;
  for (int i = 0; i < 3 * kSourcesPerRun; ++i)
    sources.push_back(Source("return " + std::to_string(i) + ";"));
  int polls = 0;
  const auto built = (*builder)->Build(sources, [&polls] { return ++polls > 1; });
  ASSERT_TRUE(built);
  EXPECT_EQ(built->size(), static_cast<std::size_t>(kSourcesPerRun));
}

TEST(Builder, ForgetsTheOldest) {
  const Scratch scratch;
  {
    const auto builder = MakeBuilder(scratch.path());
    const std::vector<KernelSource> sources = {Source("return 1;"), Source("return 2;", "clang")};
    ASSERT_TRUE(builder->Build(sources));
  }
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(5);
  std::string oldest;
  std::uintmax_t total = 0;
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    total += entry.file_size();
    if (oldest.empty() && entry.path().extension() == ".so") {
      oldest = entry.path();
      fs::last_write_time(entry.path(), old);
    }
  }
  BuilderOptions options;
  options.cache_directory = scratch.path();
  options.cache_limit_bytes = static_cast<std::int64_t>(total) - 1;
  ASSERT_TRUE(Builder::Make(options));
  EXPECT_FALSE(fs::exists(oldest));
  EXPECT_FALSE(fs::is_empty(scratch.path()));
}

}  // namespace
}  // namespace kindred
