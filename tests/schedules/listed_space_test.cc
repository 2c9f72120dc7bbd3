// Listed spaces: what is offered is what was listed, no more and no less.
#include "schedules/listed_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "schedules/canonical.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"
#include "tests/schedules/sample_workloads.h"

namespace kindred {
namespace {

void Enumerate(const Space& space, Path& prefix, std::set<std::string>& found) {
  const auto decision = space.Next(prefix);
  if (!decision) {
    found.insert(PathToJson(prefix));
    return;
  }
  for (std::size_t i = 0; i < decision->options.size(); ++i) {
    prefix.push_back({decision->name, decision->options[i],
                      decision->labels.empty() ? "" : decision->labels[i]});
    Enumerate(space, prefix, found);
    prefix.pop_back();
  }
}

TEST(ListedSpace, OffersTheListedPathsAndNoOthers) {
  for (const SampleWorkload& sample : SmallWorkloads()) {
    const auto parsed = ParseWorkload(sample.text, "test");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Workload workload = Canonicalize(*parsed).workload;
    auto whole = MakeSpace(workload, test::TestTarget());
    const std::vector<Path> paths = test::RandomPaths(*whole, 9, 3);
    std::set<std::string> listed;
    for (const Path& path : paths) listed.insert(PathToJson(path));
    const auto space = MakeListedSpace(std::move(whole), paths);
    std::set<std::string> found;
    Path prefix;
    Enumerate(*space, prefix, found);
    EXPECT_EQ(found, listed) << sample.name;
    for (const Path& path : paths) {
      EXPECT_EQ(space->Adapt(path), path);
      const auto back = PathFromJson(*space, PathToJson(path));
      ASSERT_TRUE(back) << back.error().message;
      const auto whole_again = MakeSpace(workload, test::TestTarget());
      EXPECT_EQ(space->Lower(*back)->key, whole_again->Lower(path)->key);
    }
  }
}

}  // namespace
}  // namespace kindred
