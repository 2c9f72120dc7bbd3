#include "tuner/families.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "schedules/text_form.h"

namespace kindred {
namespace {

FamilyDescriptor Describe(const std::string& text) {
  const auto workload = ParseWorkload(text);
  EXPECT_TRUE(workload) << workload.error().message;
  return DescribeFamily(Canonicalize(*workload).workload);
}

std::string Matmul(int m, int n, int k, const std::string& epilogue = "T[m,n]") {
  return "input A: f32[" + std::to_string(m) + "," + std::to_string(k) + "]\nweight B: f32[" +
         std::to_string(k) + "," + std::to_string(n) +
         "]\nT[m,n] = sum[k](A[m,k] * B[k,n])\noutput Y[m,n] = " + epilogue + "\n";
}

std::string Softmax(int rows, int columns) {
  return "input X: f32[" + std::to_string(rows) + "," + std::to_string(columns) +
         "]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n";
}

TEST(Families, NeverCrossStructures) {
  const std::vector<FamilyDescriptor> tasks = {Describe(Matmul(64, 64, 64)),
                                               Describe(Softmax(64, 64))};
  EXPECT_EQ(FormFamilies(tasks).size(), 2u);
}

TEST(Families, NearShapesShareOneAndAnEpilogueDoesNotPartThem) {
  const std::vector<FamilyDescriptor> tasks = {Describe(Matmul(128, 768, 768)),
                                               Describe(Matmul(128, 3072, 768)),
                                               Describe(Matmul(128, 768, 3072, "relu(T[m,n])"))};
  const auto families = FormFamilies(tasks);
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].members.size(), 3u);
}

TEST(Families, FarShapesOpenTheirOwn) {
  const std::vector<FamilyDescriptor> tasks = {Describe(Matmul(2, 2, 2)),
                                               Describe(Matmul(4096, 4096, 4096))};
  EXPECT_EQ(FormFamilies(tasks).size(), 2u);
}

TEST(Families, LinkedTasksShareOneHoweverFarApart) {
  const std::vector<FamilyDescriptor> tasks = {
      Describe(Matmul(2, 2, 2)), Describe(Matmul(4096, 4096, 4096)), Describe(Softmax(64, 64)),
      Describe(Matmul(2, 2, 4))};
  const std::vector<std::pair<int, int>> links = {{0, 1}, {0, 2}};
  const auto families = FormFamilies(tasks, links);
  std::vector<int> family_of(tasks.size(), -1);
  for (std::size_t f = 0; f < families.size(); ++f)
    for (const int member : families[f].members)
      family_of[static_cast<std::size_t>(member)] = static_cast<int>(f);
  EXPECT_EQ(family_of[0], family_of[1]);
  EXPECT_NE(family_of[0], family_of[2]) << "families never cross structures";
  EXPECT_NE(family_of[0], family_of[3]) << "linked tasks move as their mean";
}

TEST(Families, EveryTaskInExactlyOneWhateverTheOrder) {
  std::vector<FamilyDescriptor> tasks;
  for (int size : {8, 16, 700, 1024, 4096, 31}) tasks.push_back(Describe(Matmul(size, size, 64)));
  const auto sets = [&](std::vector<int> order) {
    std::vector<FamilyDescriptor> shuffled;
    for (int i : order) shuffled.push_back(tasks[static_cast<std::size_t>(i)]);
    std::set<std::set<int>> result;
    std::size_t members = 0;
    for (const Family& family : FormFamilies(shuffled)) {
      std::set<int> ids;
      for (int member : family.members) ids.insert(order[static_cast<std::size_t>(member)]);
      members += ids.size();
      result.insert(ids);
    }
    EXPECT_EQ(members, tasks.size());
    return result;
  };
  EXPECT_EQ(sets({0, 1, 2, 3, 4, 5}), sets({5, 3, 1, 0, 4, 2}));
}

std::vector<int> FamilyOfEach(const std::vector<FamilyDescriptor>& tasks,
                              std::span<const std::pair<int, int>> links,
                              std::span<const int> cohorts) {
  std::vector<int> family_of(tasks.size(), -1);
  const auto families = FormFamilies(tasks, links, cohorts);
  for (std::size_t f = 0; f < families.size(); ++f)
    for (const int member : families[f].members)
      family_of[static_cast<std::size_t>(member)] = static_cast<int>(f);
  return family_of;
}

TEST(Families, CohortsStayTogetherAndApart) {
  const std::vector<FamilyDescriptor> tasks = {
      Describe(Matmul(2, 2, 2)),       Describe(Matmul(4096, 4096, 4096)),
      Describe(Matmul(128, 768, 768)), Describe(Matmul(128, 768, 1024)),
      Describe(Matmul(128, 768, 512)), Describe(Softmax(64, 64))};
  const int together[] = {1, 1, 0, 0, 0, 1};
  auto of = FamilyOfEach(tasks, {}, together);
  EXPECT_EQ(of[0], of[1]) << "however far apart";
  EXPECT_NE(of[0], of[5]) << "families never cross structures";
  const int apart[] = {0, 0, 1, 2, 0, 0};
  of = FamilyOfEach(tasks, {}, apart);
  EXPECT_NE(of[2], of[3]) << "however near";
  EXPECT_TRUE(of[4] == of[2] || of[4] == of[3]) << "a free one joins the nearer";
  const std::vector<std::pair<int, int>> links = {{2, 3}};
  of = FamilyOfEach(tasks, links, apart);
  EXPECT_NE(of[2], of[3]) << "cohorts go before links";
}

}  // namespace
}  // namespace kindred
