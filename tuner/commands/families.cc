// kindred families: the families of a log, how well their models serve, and people's corrections.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "schedules/text_form.h"
#include "tuner/commands/commands.h"
#include "tuner/family_evidence.h"
#include "tuner/known_trials.h"
#include "tuner/progress.h"
#include "tuner/record_mapping.h"
#include "tuner/report/table.h"

namespace kindred {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Align = Table::Align;

struct Member {
  WorkloadRecord workload;
  std::int64_t cohort = 0;
  std::int64_t trials = 0;
  double best_ns = 0;
  TaskSamples samples;
  std::optional<MemberQuality> quality;
};

struct FamilyView {
  FamilyRecord record;
  std::vector<Member> members;

  std::int64_t Trials() const {
    std::int64_t sum = 0;
    for (const Member& member : members) sum += member.trials;
    return sum;
  }
  bool Pinned() const {
    return std::any_of(members.begin(), members.end(),
                       [](const Member& member) { return member.cohort != 0; });
  }
  // Mean over the members that can be judged.
  std::optional<MemberQuality> Quality() const {
    MemberQuality mean;
    double judged = 0;
    for (const Member& member : members) {
      if (!member.quality) continue;
      mean.taught += member.quality->taught;
      mean.prior += member.quality->prior;
      ++judged;
    }
    if (judged == 0) return std::nullopt;
    return MemberQuality{mean.taught / judged, mean.prior / judged};
  }
};

Result<FamilyRecord> Find(const TuningLog& log, const std::string& id) {
  KINDRED_TRY(auto families, log.Families());
  for (FamilyRecord& family : families)
    if (family.id == id && !family.members.empty()) return std::move(family);
  return NotFound(
      fmt::format("the log has no family '{}'; `kindred families ls LOG` lists them", id));
}

// The log's target that is meant: named, or the one with most trials.
Result<std::optional<TargetRecord>> TargetOf(const TuningLog& log, const std::string& name) {
  KINDRED_TRY(const auto targets, log.Targets());
  std::optional<TargetRecord> found;
  std::size_t most = 0;
  std::string known;
  for (const TargetRecord& target : targets) {
    known += (known.empty() ? "" : ", ") + target.id;
    if (!name.empty() && target.id != name && target.name != name) continue;
    TrialFilter filter;
    filter.target = target.id;
    KINDRED_TRY(const auto trials, log.Trials(filter));
    if (found && trials.size() <= most) continue;
    found = target;
    most = trials.size();
  }
  if (!found && !name.empty())
    return NotFound(fmt::format("the log has no target '{}'; it has: {}", name, known));
  return found;
}

// Without a target there are no trials.
Result<FamilyView> View(const TuningLog& log, const FamilyRecord& record,
                        const std::optional<TargetRecord>& target) {
  FamilyView view{record, {}};
  std::map<std::string, std::int64_t> cohorts;
  KINDRED_TRY(const auto pins, log.FamilyPins());
  for (const FamilyPinRecord& pin : pins) cohorts[pin.workload] = pin.cohort;
  for (const std::string& key : record.members) {
    KINDRED_TRY(const auto workload, log.FindWorkload(key));
    if (!workload) continue;
    Member& member = view.members.emplace_back();
    member.workload = *workload;
    member.cohort = cohorts[key];
    if (!target) continue;
    TrialFilter filter;
    filter.workload = key;
    filter.target = target->id;
    KINDRED_TRY(const auto trials, log.Trials(filter));
    member.trials = std::count_if(trials.begin(), trials.end(),
                                  [](const TrialRecord& trial) { return !IsRemeasurement(trial); });
    KINDRED_TRY(const auto best, log.BestSchedule(key, target->id));
    if (best) member.best_ns = best->median_ns;
    const auto canonical = ParseWorkload(workload->text, "log");
    if (!canonical || trials.empty()) continue;  // a user's kernel has no text
    KINDRED_TRY(const Target device, ToTarget(*target));
    KnownTrialsQuery query;
    query.workload = key;
    query.target = target->id;
    KINDRED_TRY(const KnownTrials known, ReadKnownTrials(log, *canonical, device, query));
    member.samples = known.Samples();
  }
  std::vector<const TaskSamples*> samples;
  for (const Member& member : view.members) samples.push_back(&member.samples);
  KINDRED_TRY(const auto qualities, LeaveOneShapeOut(samples));
  for (std::size_t i = 0; i < qualities.size(); ++i) view.members[i].quality = qualities[i];
  return view;
}

json Description(const FamilyRecord& record) {
  const json description = json::parse(record.description, nullptr, false);
  return description.is_object() ? description : json::object();
}

ordered_json ToJson(const std::optional<MemberQuality>& quality) {
  if (!quality) return nullptr;
  return {{"rank", quality->taught}, {"prior_rank", quality->prior}};
}

std::string InWords(const std::optional<MemberQuality>& quality) {
  return quality ? fmt::format("{:.2f} ({:.2f})", quality->taught, quality->prior) : "-";
}

ordered_json ToJson(const FamilyView& view) {
  const json description = Description(view.record);
  ordered_json members = ordered_json::array();
  for (const Member& member : view.members)
    members.push_back({{"key", member.workload.key},
                       {"name", member.workload.name},
                       {"trials", member.trials},
                       {"best_ns", member.best_ns},
                       {"samples", member.samples.size()},
                       {"pinned", member.cohort != 0},
                       {"quality", ToJson(member.quality)}});
  return {{"id", view.record.id},
          {"structure", view.record.structure},
          {"structure_text", description.value("structure", "")},
          {"pinned", view.Pinned()},
          {"trials", view.Trials()},
          {"quality", ToJson(view.Quality())},
          {"corrections", description.value("corrections", json::array())},
          {"members", std::move(members)}};
}

constexpr const char* kLegend =
    "rank: how an ensemble that has seen the other members only orders a member's candidates\n"
    "(correlation with what was measured; in brackets by the prior alone); -: too few trials\n";

Result<void> List(const TuningLog& log, const FamiliesCommand& command) {
  KINDRED_TRY(const auto target, TargetOf(log, command.target));
  KINDRED_TRY(const auto families, log.Families());
  ordered_json list = ordered_json::array();
  Table table({{"family", Align::kLeft},
               {"structure", Align::kLeft, 48},
               {"members"},
               {"trials"},
               {"rank"},
               {"pinned", Align::kLeft}});
  for (const FamilyRecord& record : families) {
    if (record.members.empty()) continue;
    KINDRED_TRY(const FamilyView view, View(log, record, target));
    list.push_back(ToJson(view));
    table.Row({record.id, Description(record).value("structure", ""),
               fmt::format("{}", view.members.size()), fmt::format("{}", view.Trials()),
               InWords(view.Quality()), view.Pinned() ? "yes" : ""});
  }
  const std::string id = target ? target->id : "";
  if (command.json) {
    fmt::print("{}\n", ordered_json{{"target", id}, {"families", std::move(list)}}.dump(2));
    return {};
  }
  fmt::print("{} families{}\n\n{}\n{}", list.size(), id.empty() ? "" : " on " + id, table.Print(),
             kLegend);
  return {};
}

Result<void> Show(const TuningLog& log, const FamiliesCommand& command) {
  KINDRED_TRY(const FamilyRecord record, Find(log, command.family));
  KINDRED_TRY(const auto target, TargetOf(log, command.target));
  KINDRED_TRY(const FamilyView view, View(log, record, target));
  const std::string id = target ? target->id : "";
  ordered_json out = ToJson(view);
  if (command.json) {
    out["target"] = id;
    fmt::print("{}\n", out.dump(2));
    return {};
  }
  fmt::print("family {}: {}\n", record.id, Description(record).value("structure", ""));
  for (const auto& correction : out["corrections"])
    fmt::print("{}\n", correction.get<std::string>());
  Table table({{"key", Align::kLeft},
               {"workload", Align::kLeft, 40},
               {"trials"},
               {"best"},
               {"rank"},
               {"pinned", Align::kLeft}});
  for (const Member& member : view.members)
    table.Row({member.workload.key, member.workload.name, fmt::format("{}", member.trials),
               member.best_ns > 0 ? FormatNs(member.best_ns) : "-", InWords(member.quality),
               member.cohort != 0 ? fmt::format("{}", member.cohort) : ""});
  fmt::print("\n{}\n{}", table.Print(), kLegend);
  return {};
}

// What a command does to the log, and says.
struct Correction {
  LogBatch batch;
  std::string said;
  ordered_json out;
};

class Corrector {
 public:
  static Result<Corrector> Make(const TuningLog& log) {
    Corrector corrector;
    KINDRED_TRY(const auto pins, log.FamilyPins());
    for (const FamilyPinRecord& pin : pins)
      corrector.next_ = std::max(corrector.next_, pin.cohort + 1);
    KINDRED_TRY(const auto families, log.Families());
    for (const FamilyRecord& family : families) corrector.ids_.insert(family.id);
    return corrector;
  }

  // Workloads of one new cohort.
  void Gather(const std::vector<std::string>& workloads, LogBatch& batch) {
    for (const std::string& workload : workloads) batch.pins.push_back({workload, next_, NowMs()});
    ++next_;
  }

  // "<structure>.<ordinal>" that the log does not use.
  std::string FreeId(const FamilyRecord& like) const {
    const std::string stem = like.id.substr(0, like.id.rfind('.'));
    for (int ordinal = 0;; ++ordinal)
      if (std::string id = fmt::format("{}.{}", stem, ordinal); !ids_.contains(id)) return id;
  }

 private:
  std::int64_t next_ = 1;
  std::set<std::string> ids_;
};

Result<Correction> Merge(const TuningLog& log, const FamiliesCommand& command) {
  if (std::set<std::string>(command.others.begin(), command.others.end()).contains(command.family))
    return BadInput(fmt::format("the family '{}' is named twice", command.family));
  KINDRED_TRY(FamilyRecord into, Find(log, command.family));
  Correction correction;
  std::vector<FamilyRecord> emptied;
  for (const std::string& id : command.others) {
    KINDRED_TRY(FamilyRecord other, Find(log, id));
    if (other.structure != into.structure)
      return BadInput(fmt::format(
          "the families {} and {} are of different structures, and families never cross these: {} "
          "| {}",
          into.id, id, Description(into).value("structure", into.structure),
          Description(other).value("structure", other.structure)));
    for (const std::string& member : other.members)
      if (std::find(into.members.begin(), into.members.end(), member) == into.members.end())
        into.members.push_back(member);
    other.members.clear();
    emptied.push_back(std::move(other));
  }
  KINDRED_TRY(Corrector corrector, Corrector::Make(log));
  corrector.Gather(into.members, correction.batch);
  correction.said = fmt::format("family {} has {} members now", into.id, into.members.size());
  correction.out = {{"family", into.id}, {"members", into.members}};
  correction.batch.families = std::move(emptied);
  correction.batch.families.push_back(std::move(into));
  return correction;
}

Result<Correction> Split(const TuningLog& log, const FamiliesCommand& command) {
  KINDRED_TRY(FamilyRecord family, Find(log, command.family));
  std::set<std::string> moved;
  for (const std::string& asked : command.others) {
    std::vector<std::string> found;
    for (const std::string& member : family.members)
      if (member.starts_with(asked)) found.push_back(member);
    if (found.empty())
      return NotFound(fmt::format(
          "no member of family {} has the key '{}'; `kindred families show LOG {}` lists them",
          family.id, asked, family.id));
    if (found.size() > 1)
      return BadInput(fmt::format("'{}' begins {} keys of family {}; give more digits", asked,
                                  found.size(), family.id));
    moved.insert(found[0]);
  }
  if (moved.size() == family.members.size())
    return BadInput(
        fmt::format("that is the whole family {}: name the members that are to stand apart, and "
                    "leave some",
                    family.id));
  KINDRED_TRY(Corrector corrector, Corrector::Make(log));
  FamilyRecord apart = family;
  apart.id = corrector.FreeId(family);
  apart.members.assign(moved.begin(), moved.end());
  std::erase_if(family.members, [&](const std::string& key) { return moved.contains(key); });
  Correction correction;
  corrector.Gather(family.members, correction.batch);
  corrector.Gather(apart.members, correction.batch);
  correction.said =
      fmt::format("{} of family {} are family {} now", apart.members.size(), family.id, apart.id);
  correction.out = {{"family", family.id},
                    {"members", family.members},
                    {"apart", {{"family", apart.id}, {"members", apart.members}}}};
  correction.batch.families = {std::move(family), std::move(apart)};
  return correction;
}

Result<Correction> Pin(const TuningLog& log, const FamiliesCommand& command) {
  KINDRED_TRY(const FamilyRecord family, Find(log, command.family));
  Correction correction;
  const bool pin = command.action == "pin";
  if (pin) {
    KINDRED_TRY(Corrector corrector, Corrector::Make(log));
    corrector.Gather(family.members, correction.batch);
  } else {
    for (const std::string& member : family.members)
      correction.batch.pins.push_back({member, 0, NowMs()});
  }
  correction.said = fmt::format("the {} members of family {} {}", family.members.size(), family.id,
                                pin ? "stay together" : "are free again");
  correction.out = {{"family", family.id}, {"members", family.members}, {"pinned", pin}};
  return correction;
}

Result<void> Act(const FamiliesCommand& command) {
  {
    // A log that is not there must not come about.
    KINDRED_TRY(const auto log, OpenSqliteLog(command.log, OpenMode::kReadOnly));
    if (command.action == "ls") return List(*log, command);
    if (command.action == "show") return Show(*log, command);
  }
  KINDRED_TRY(const auto log, OpenSqliteLog(command.log, OpenMode::kReadWrite));
  KINDRED_TRY(const Correction correction, command.action == "merge"   ? Merge(*log, command)
                                           : command.action == "split" ? Split(*log, command)
                                                                       : Pin(*log, command));
  KINDRED_CHECK(log->Append(correction.batch));
  if (command.json)
    fmt::print("{}\n", correction.out.dump(2));
  else
    fmt::print("{}; sessions that begin from now on follow\n", correction.said);
  return {};
}

}  // namespace

int RunFamilies(const FamiliesCommand& command) {
  const auto done = Act(command);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
