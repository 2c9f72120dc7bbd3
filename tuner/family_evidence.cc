#include "tuner/family_evidence.h"

#include <algorithm>
#include <set>

namespace kindred {
namespace {

constexpr double kClearly = 0.1;  // of a rank correlation
constexpr std::uint64_t kSeed = 0;

std::size_t Total(std::span<const TaskSamples* const> tasks) {
  std::size_t total = 0;
  for (const TaskSamples* task : tasks) total += task->size();
  return total;
}

std::vector<const TaskSamples*> Without(std::span<const TaskSamples* const> members,
                                        const TaskSamples* left_out) {
  std::vector<const TaskSamples*> others;
  for (const TaskSamples* member : members)
    if (member != left_out) others.push_back(member);
  return others;
}

class Judge {
 public:
  Judge(std::span<const TaskSamples> samples, std::vector<int> cohorts) : samples_(samples) {
    verdict_.cohorts = std::move(cohorts);
    for (const int cohort : verdict_.cohorts) next_cohort_ = std::max(next_cohort_, cohort + 1);
  }

  Result<void> Split(const Family& family) {
    const auto members = SamplesOf(family);
    KINDRED_TRY(const auto qualities, LeaveOneShapeOut(members));
    int misled = -1;
    double worst = -kClearly;
    for (std::size_t i = 0; i < qualities.size(); ++i) {
      if (!qualities[i] || CohortOf(family.members[i]) != 0) continue;
      const double gain = qualities[i]->taught - qualities[i]->prior;
      if (gain >= worst) continue;
      worst = gain;
      misled = static_cast<int>(i);
    }
    if (misled < 0) return {};
    const TaskSamples* const own = members[static_cast<std::size_t>(misled)];
    const auto rest = Without(members, own);
    FamilyChange change{true, {family.id}, {}, *qualities[static_cast<std::size_t>(misled)]};
    KINDRED_TRY(const Teacher by_misled, Teacher::Train(std::span(&own, 1), kSeed));
    for (std::size_t i = 0; i < members.size(); ++i) {
      bool apart = members[i] == own;
      const auto others = Without(rest, members[i]);
      if (!apart && CohortOf(family.members[i]) == 0 && members[i]->size() >= kEvidenceSamples &&
          Total(others) >= kEvidenceSamples) {
        KINDRED_TRY(const Teacher by_others, Teacher::Train(others, kSeed));
        KINDRED_TRY(const double with_misled, by_misled.Rank(*members[i]));
        KINDRED_TRY(const double with_others, by_others.Rank(*members[i]));
        apart = with_misled > with_others + kClearly;
      }
      if (apart) change.moved.push_back(family.members[i]);
    }
    Assign(Except(family.members, change.moved));
    Assign(change.moved);
    changed_.insert(family.id);
    verdict_.changes.push_back(std::move(change));
    return {};
  }

  Result<void> Merge(const Family& a, const Family& b) {
    if (a.structure != b.structure || changed_.contains(a.id) || changed_.contains(b.id)) return {};
    if (Cohort(a) != 0 && Cohort(b) != 0) return {};  // a person put them apart
    KINDRED_TRY(const auto forth, Serves(a, b));
    KINDRED_TRY(const auto back, Serves(b, a));
    if (!forth || !back) return {};
    if (forth->taught < forth->prior + kClearly || back->taught < back->prior + kClearly) return {};
    std::vector<int> all = a.members;
    all.insert(all.end(), b.members.begin(), b.members.end());
    Assign(all);
    changed_.insert(a.id);
    changed_.insert(b.id);
    verdict_.changes.push_back(
        {false,
         {a.id, b.id},
         {},
         {(forth->taught + back->taught) / 2, (forth->prior + back->prior) / 2}});
    return {};
  }

  FamilyVerdict Take() { return std::move(verdict_); }

 private:
  std::vector<const TaskSamples*> SamplesOf(const Family& family) const {
    std::vector<const TaskSamples*> samples;
    for (const int member : family.members)
      samples.push_back(&samples_[static_cast<std::size_t>(member)]);
    return samples;
  }
  int CohortOf(int task) const { return verdict_.cohorts[static_cast<std::size_t>(task)]; }
  int Cohort(const Family& family) const {
    int cohort = 0;
    for (const int member : family.members) cohort = std::max(cohort, CohortOf(member));
    return cohort;
  }
  static std::vector<int> Except(const std::vector<int>& from, const std::vector<int>& taken) {
    std::vector<int> left;
    for (const int task : from)
      if (std::find(taken.begin(), taken.end(), task) == taken.end()) left.push_back(task);
    return left;
  }
  // Makes one cohort of tasks, that of a person if some have one.
  void Assign(const std::vector<int>& tasks) {
    int cohort = 0;
    for (const int task : tasks) cohort = std::max(cohort, CohortOf(task));
    if (cohort == 0) cohort = next_cohort_++;
    for (const int task : tasks) verdict_.cohorts[static_cast<std::size_t>(task)] = cohort;
  }
  // Means over the pupils that can be judged, of the teacher's ensemble and of the prior.
  Result<std::optional<MemberQuality>> Serves(const Family& teacher, const Family& pupils) const {
    const auto teachers = SamplesOf(teacher);
    if (Total(teachers) < kEvidenceSamples) return std::optional<MemberQuality>();
    KINDRED_TRY(const Teacher ensemble, Teacher::Train(teachers, kSeed));
    MemberQuality mean;
    int judged = 0;
    for (const TaskSamples* pupil : SamplesOf(pupils)) {
      if (pupil->size() < kEvidenceSamples) continue;
      KINDRED_TRY(const double rank, ensemble.Rank(*pupil));
      mean.taught += rank;
      mean.prior += PriorRank(*pupil);
      ++judged;
    }
    if (judged == 0) return std::optional<MemberQuality>();
    mean.taught /= judged;
    mean.prior /= judged;
    return std::optional<MemberQuality>(mean);
  }

  std::span<const TaskSamples> samples_;
  FamilyVerdict verdict_;
  std::set<std::string> changed_;
  int next_cohort_ = 1;
};

}  // namespace

Result<std::vector<std::optional<MemberQuality>>> LeaveOneShapeOut(
    std::span<const TaskSamples* const> members) {
  std::vector<std::optional<MemberQuality>> qualities(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto others = Without(members, members[i]);
    if (members[i]->size() < kEvidenceSamples || Total(others) < kEvidenceSamples) continue;
    KINDRED_TRY(const Teacher teacher, Teacher::Train(others, kSeed));
    KINDRED_TRY(const double taught, teacher.Rank(*members[i]));
    qualities[i] = MemberQuality{taught, PriorRank(*members[i])};
  }
  return qualities;
}

Result<FamilyVerdict> JudgeFamilies(std::span<const Family> families,
                                    std::span<const TaskSamples> samples,
                                    std::vector<int> cohorts) {
  Judge judge(samples, std::move(cohorts));
  for (const Family& family : families) KINDRED_CHECK(judge.Split(family));
  for (std::size_t a = 0; a < families.size(); ++a)
    for (std::size_t b = a + 1; b < families.size(); ++b)
      KINDRED_CHECK(judge.Merge(families[a], families[b]));
  return judge.Take();
}

}  // namespace kindred
