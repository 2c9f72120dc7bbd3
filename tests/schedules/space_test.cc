// Spaces: complete paths lower and check, paths survive their JSON form, siblings' paths adapt.
#include "schedules/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "schedules/canonical.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred {
namespace {

Workload Parse(const std::string& text) {
  auto workload = ParseWorkload(text, "test");
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().message);
  return workload ? Canonicalize(*workload).workload : Workload{};
}

TEST(Space, EveryPathLowersToACheckedProgramAndSurvivesJson) {
  for (const SampleWorkload& sample : SmallWorkloads()) {
    const auto space = MakeSpace(Parse(sample.text), test::TestTarget());
    for (const Path& path : test::RandomPaths(*space, 12, 17)) {
      const std::string json = PathToJson(path);
      const auto candidate = space->Lower(path);
      ASSERT_TRUE(candidate) << sample.name << json << candidate.error().message;
      const auto checked = CheckProgram(*candidate->program);
      EXPECT_TRUE(checked) << sample.name << json << checked.error().message;
      const auto back = PathFromJson(*space, json);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, path);
      EXPECT_EQ(space->Adapt(path), path) << "a path adapts to itself";
    }
  }
}

TEST(Space, OptionsAreDistinct) {
  for (const SampleWorkload& sample : SmallWorkloads()) {
    const auto space = MakeSpace(Parse(sample.text), test::TestTarget());
    for (const Path& path : test::RandomPaths(*space, 6, 5)) {
      Path prefix;
      std::set<std::string> names;
      for (const Choice& c : path) {
        const auto d = space->Next(prefix);
        ASSERT_TRUE(d);
        EXPECT_TRUE(names.insert(d->name).second)
            << sample.name << ": decision " << d->name << " comes twice";
        EXPECT_FALSE(d->options.empty());
        EXPECT_EQ(std::set<std::int64_t>(d->options.begin(), d->options.end()).size(),
                  d->options.size());
        EXPECT_TRUE(d->labels.empty() || d->labels.size() == d->options.size());
        prefix.push_back(c);
      }
    }
  }
}

TEST(Space, BadJsonIsNamed) {
  const auto space =
      MakeSpace(Parse("input X: f32[4,64]\noutput Y[i] = sum[k](X[i,k])\n"), test::TestTarget());
  const auto message = [&](const char* json) {
    const auto path = PathFromJson(*space, json);
    EXPECT_FALSE(path) << json;
    return path ? "" : path.error().message;
  };
  EXPECT_THAT(message("[1]"), testing::HasSubstr("JSON object"));
  EXPECT_THAT(message("{}"), testing::HasSubstr("'sketch' is missing"));
  EXPECT_THAT(message(R"({"sketch": "cuda"})"), testing::HasSubstr("no option of 'sketch'"));
  EXPECT_THAT(message(R"({"sketch": "generic", "vectors": 0, "colour": 3})"),
              testing::HasSubstr("'colour'"));
  EXPECT_THAT(message(R"({"sketch": "generic", "vectors": 3})"), testing::HasSubstr("'vectors'"));
}

TEST(Space, ASiblingsPathTakesTheNearestOptions) {
  const auto big =
      MakeSpace(Parse("input X: f32[64,512]\noutput Y[i] = sum[k](X[i,k])\n"), test::TestTarget());
  const auto small =
      MakeSpace(Parse("input X: f32[3,40]\noutput Y[i] = sum[k](X[i,k])\n"), test::TestTarget());
  const auto path = PathFromJson(*big, R"({"sketch": "rows", "rows": 4, "vectors": 8})");
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(PathToJson(small->Adapt(*path)), R"({"sketch":"rows","rows":2,"vectors":2})");
}

TEST(Space, DifferentDecisionsWithEqualProgramsHaveEqualKeys) {
  // One row of 16 columns: more rows or vectors side by side change nothing.
  const auto space =
      MakeSpace(Parse("input X: f32[1,16]\noutput Y[i,k] = X[i,k] * 2\n"), test::TestTarget());
  const auto one = PathFromJson(*space, R"({"sketch": "generic", "vectors": 1})");
  const auto four = PathFromJson(*space, R"({"sketch": "generic", "vectors": 4})");
  ASSERT_TRUE(one && four);
  EXPECT_EQ(space->Lower(*one)->key, space->Lower(*four)->key);
}

}  // namespace
}  // namespace kindred
