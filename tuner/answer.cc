#include "tuner/answer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/family_models.h"
#include "cost_model/prior.h"
#include "schedules/emit_kernel.h"
#include "schedules/text_form.h"
#include "search/searcher.h"
#include "tuner/families.h"
#include "tuner/plain_program.h"
#include "tuner/record_mapping.h"
#include "tuner/version.h"

namespace kindred {
namespace {

using nlohmann::json;

constexpr int kSiblingsTried = 4;
constexpr int kPredictionsTried = 8;  // costs half of 16, whose best is predicted 0.5% faster
constexpr int kProposedPerRank = 4;   // by a search for each schedule that is ranked
constexpr int kPredictionRounds = 8;  // where constraints leave nothing of a batch

// What an answer is made of, common to all match levels.
struct Asked {
  const TuningLog* log;
  const KernelQuery& query;
  CanonicalWorkload canonical;
  std::string target_id;
  std::int64_t epoch = 0;
};

KernelPackage Begin(const Asked& asked, MatchLevel match) {
  KernelPackage package;
  package.key = asked.canonical.key.Hex();
  package.target = asked.query.target.id;
  package.match = match;
  package.epoch = asked.epoch;
  return package;
}

json Device(const Target& target) {
  if (target.kind == DeviceKind::kCuda)
    return {{"model", target.model}, {"arch", target.gpu.arch}, {"sms", target.gpu.sms}};
  return {
      {"model", target.model}, {"vector_bytes", target.vector_bytes}, {"threads", target.threads}};
}

// Whether a kernel of one is as good on the other, as far as its description tells. GPUs of a kind
// are alike whatever they are called: "cuda:1" was measured where "h200" is asked for.
bool Alike(const TargetRecord& record, const Target& other, const Target& asked) {
  if (other.kind != asked.kind) return false;
  if (asked.kind == DeviceKind::kCuda)
    return other.gpu.arch == asked.gpu.arch && other.gpu.sms == asked.gpu.sms;
  return record.name == asked.id && other.vector_bytes == asked.vector_bytes;
}

Result<KernelPackage> FromTrial(const Asked& asked, const TrialRecord& trial, MatchLevel match,
                                const Target& device) {
  KernelPackage package = Begin(asked, match);
  KINDRED_TRY(const auto kernel, asked.log->FindKernel(trial.kernel));
  if (!kernel)
    return Environment("the log lacks the kernel of trial " + std::to_string(trial.id) +
                       "; `kindred log verify` shows what else is damaged");
  KINDRED_TRY(package.kernel, ToKernel(*kernel));
  package.validated = trial.validated;
  package.schedule = nlohmann::ordered_json::parse(trial.schedule, nullptr, false);
  package.arguments = AskersArguments(package.kernel, asked.query.workload, asked.canonical);
  package.statistics = {
      {"median_ns", trial.median_ns},
      {"samples_ns", trial.samples},
      {"control_ns", trial.control_ns},
      {"predicted_ns", trial.predicted_ns},
      {"cache_state", trial.cache_state},
      {"gflops", static_cast<double>(Flop(asked.canonical.workload)) / trial.median_ns}};
  package.provenance = {{"device", Device(device)},
                        {"compiler", package.kernel.compiler},
                        {"compiler_version", trial.compiler},
                        {"flags", trial.flags},
                        {"driver", trial.driver},
                        {"version", trial.version},
                        {"worker", trial.worker},
                        {"session", trial.session},
                        {"trial", trial.id},
                        {"time_ms", trial.time_ms},
                        {"searcher", trial.searcher}};
  return package;
}

Result<KernelPackage> FromCandidate(const Asked& asked, const Candidate& candidate,
                                    const Prediction& prediction, MatchLevel match,
                                    json provenance) {
  KernelPackage package = Begin(asked, match);
  package.kernel = EmitKernel(*candidate.program, asked.canonical.workload, asked.query.target);
  package.validated = false;
  package.schedule = nlohmann::ordered_json::parse(PathToJson(candidate.path), nullptr, false);
  package.arguments = AskersArguments(package.kernel, asked.query.workload, asked.canonical);
  package.statistics = {{"predicted_ns", prediction.ns}, {"sigma_log2", prediction.sigma}};
  std::string flags;
  for (const std::string& flag : package.kernel.flags) flags += (flags.empty() ? "" : " ") + flag;
  provenance["device"] = Device(asked.query.target);
  provenance["compiler"] = package.kernel.compiler;
  provenance["flags"] = flags;
  provenance["version"] = Version();
  package.provenance = std::move(provenance);
  return package;
}

bool Admits(const Asked& asked, const Candidate& candidate) {
  const Constraints& constraints = asked.query.constraints;
  return constraints.empty() ||
         constraints.Admit(
             EmitKernel(*candidate.program, asked.canonical.workload, asked.query.target));
}

// The fastest schedule of the log on a target whose kernel the constraints admit.
Result<std::optional<TrialRecord>> BestAdmitted(const Asked& asked, const std::string& target) {
  const std::string key = asked.canonical.key.Hex();
  KINDRED_TRY(const auto best, asked.log->BestSchedule(key, target, asked.query.epoch));
  if (!best || asked.query.constraints.empty()) return best;
  // The rule of best_schedule: of each schedule the last measurement, none that was ever wrong.
  TrialFilter filter;
  filter.workload = key;
  filter.target = target;
  KINDRED_TRY(const auto trials, asked.log->Trials(filter));
  std::map<std::string, const TrialRecord*> last;
  std::set<std::string> wrong;
  for (const TrialRecord& trial : trials) {
    if (asked.query.epoch && trial.id > *asked.query.epoch) break;
    if (trial.status == "wrong_answer" || trial.status == "out_of_bounds")
      wrong.insert(trial.schedule_key);
    if (trial.status == "ok" && trial.validated && trial.cache_state == best->cache_state)
      last[trial.schedule_key] = &trial;
  }
  std::vector<const TrialRecord*> usable;
  for (const auto& [schedule, trial] : last)
    if (!wrong.contains(schedule)) usable.push_back(trial);
  std::sort(usable.begin(), usable.end(), [](const TrialRecord* a, const TrialRecord* b) {
    return a->median_ns != b->median_ns ? a->median_ns < b->median_ns : a->id < b->id;
  });
  for (const TrialRecord* trial : usable) {
    KINDRED_TRY(const auto kernel, asked.log->FindKernel(trial->kernel));
    if (!kernel) continue;
    KINDRED_TRY(const KernelSource source, ToKernel(*kernel));
    if (asked.query.constraints.Admit(source)) return std::optional<TrialRecord>(*trial);
  }
  return std::optional<TrialRecord>();
}

// The candidate that the model likes best, with its prediction.
std::pair<std::size_t, Prediction> Best(const CostModel& model,
                                        const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> pointers;
  for (const Candidate& candidate : candidates) pointers.push_back(&candidate);
  const std::vector<Prediction> predictions = model.Predict(pointers);
  const auto best =
      std::min_element(predictions.begin(), predictions.end(),
                       [](const Prediction& a, const Prediction& b) { return a.ns < b.ns; });
  return {static_cast<std::size_t>(best - predictions.begin()), *best};
}

// Winners of the nearest measured workloads of the same structure, adapted to this shape.
Result<std::vector<Candidate>> SiblingCandidates(const Asked& asked, const Space& space,
                                                 json& provenance) {
  const FamilyDescriptor own = DescribeFamily(asked.canonical.workload);
  KINDRED_TRY(const auto workloads, asked.log->Workloads());
  struct Sibling {
    double distance;
    const WorkloadRecord* record;
  };
  std::vector<Sibling> siblings;
  for (const WorkloadRecord& record : workloads) {
    if (record.structure != own.structure.Hex() || record.key == asked.canonical.key.Hex())
      continue;
    KINDRED_TRY(const auto workload, ParseWorkload(record.text, "log"));
    const FamilyDescriptor other = DescribeFamily(workload);
    siblings.push_back({SquaredDistance(own.descriptors, other.descriptors), &record});
  }
  std::sort(siblings.begin(), siblings.end(), [](const Sibling& a, const Sibling& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.record->key < b.record->key;
  });
  std::vector<Candidate> candidates;
  provenance["siblings"] = json::array();
  for (const Sibling& sibling : siblings) {
    if (candidates.size() == kSiblingsTried) break;
    KINDRED_TRY(const auto trial,
                asked.log->BestSchedule(sibling.record->key, asked.target_id, asked.query.epoch));
    if (!trial) continue;
    KINDRED_TRY(const auto workload, ParseWorkload(sibling.record->text, "log"));
    const auto theirs = MakeSpace(workload, asked.query.target);
    const auto path = PathFromJson(*theirs, trial->schedule);
    if (!path) continue;  // a schedule of another version's space
    KINDRED_TRY(Candidate candidate, space.Lower(space.Adapt(*path)));
    if (!Admits(asked, candidate)) continue;
    provenance["siblings"].push_back(
        {{"key", sibling.record->key}, {"trial", trial->id}, {"name", sibling.record->name}});
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// Candidates of a search without measurements that the constraints admit; where it finds none, the
// plain loop nest. Error (kUnsupported): they do not admit that either.
Result<std::vector<Candidate>> SearchedCandidates(const Asked& asked, const Space& space,
                                                  const CostModel& model) {
  const auto searcher = MakeMctsSearcher(space, model, 0);
  for (int round = 0; round < kPredictionRounds; ++round) {
    std::vector<Candidate> candidates = searcher->Propose(kPredictionsTried);
    if (candidates.empty()) break;
    std::erase_if(candidates, [&](const Candidate& c) { return !Admits(asked, c); });
    if (!candidates.empty()) return candidates;
  }
  KINDRED_TRY(Program program, PlainProgram(asked.canonical.workload, asked.query.target));
  Candidate plain;
  plain.program = std::make_shared<const Program>(std::move(program));
  if (!Admits(asked, plain)) {
    const KernelSource kernel =
        EmitKernel(*plain.program, asked.canonical.workload, asked.query.target);
    return Unsupported(fmt::format(
        "no kernel meets the constraints: none of those tried does, and {} needs {} bytes "
        "of workspace; allow more of it, or packed weights",
        PlainProgramName(asked.query.target), kernel.workspace_bytes));
  }
  return std::vector<Candidate>{std::move(plain)};
}

// Which of the families that the saved models know would take the workload in: the nearest of its
// structure, if near enough. Its number and id; -1: none, the pooled model alone predicts.
std::pair<int, std::string> FamilyAmong(const json& families, const Workload& canonical) {
  const FamilyDescriptor own = DescribeFamily(canonical);
  std::pair<int, std::string> nearest = {-1, ""};
  double least = FamilyOptions().radius * FamilyOptions().radius;
  for (std::size_t f = 0; f < families.size(); ++f) {
    if (families[f].value("structure", "") != own.structure.Hex()) continue;
    const auto centre = families[f].value("centre", std::vector<double>());
    if (centre.size() != own.descriptors.size()) continue;
    const double distance = SquaredDistance(own.descriptors, centre);
    if (distance > least) continue;
    least = distance;
    nearest = {static_cast<int>(f), families[f].value("id", "")};
  }
  return nearest;
}

// Measured here, or on a like device.
Result<std::optional<KernelPackage>> MeasuredAnswer(const Asked& asked) {
  const Target& target = asked.query.target;
  KINDRED_TRY(const auto exact, BestAdmitted(asked, asked.target_id));
  if (exact) return FromTrial(asked, *exact, MatchLevel::kExact, target);
  KINDRED_TRY(const auto targets, asked.log->Targets());
  for (const TargetRecord& other : targets) {
    if (other.id == asked.target_id) continue;
    KINDRED_TRY(const Target device, ToTarget(other));
    if (!Alike(other, device, target)) continue;
    KINDRED_TRY(const auto trial, BestAdmitted(asked, other.id));
    if (trial) return FromTrial(asked, *trial, MatchLevel::kDevice, device);
  }
  return std::optional<KernelPackage>();
}

// The saved models of the log, and which of their families the workload belongs to.
struct Predictor {
  explicit Predictor(const Asked& asked)
      : models(asked.query.target, {}), task(models.AddTask(asked.canonical.workload, -1)) {}

  FamilyModels models;
  int task;
  bool trained = false;
  json provenance = json::object();
};

Result<void> LoadModels(const Asked& asked, Predictor& predictor) {
  if (asked.log == nullptr) return {};
  KINDRED_TRY(const auto model, asked.log->FindModel(asked.target_id, "families"));
  if (!model) return {};
  const auto loaded = predictor.models.Load(model->blob);
  predictor.trained = loaded.has_value() && predictor.models.trained();
  if (!loaded) {
    predictor.provenance["models"] =
        loaded.error().message;  // another version's: the prior answers
    return {};
  }
  const json metrics = json::parse(model->metrics, nullptr, false);
  if (metrics.is_object() && metrics.contains("families")) {
    const auto [family, id] = FamilyAmong(metrics["families"], asked.canonical.workload);
    predictor.models.SetFamily(predictor.task, family);
    if (family >= 0) predictor.provenance["family"] = id;
  }
  return {};
}

Asked BeginAsking(const TuningLog* log, const KernelQuery& query) {
  return {log, query, Canonicalize(query.workload), ToRecord(query.target).id, 0};
}

}  // namespace

Result<KernelPackage> AnswerQuery(const TuningLog* log, const KernelQuery& given) {
  KernelQuery query = given;
  KINDRED_TRY(query.workload, query.constraints.Narrow(std::move(query.workload), query.target));
  Asked asked = BeginAsking(log, query);
  if (log != nullptr) {
    KINDRED_TRY(asked.epoch, log->Epoch());
    if (query.epoch) asked.epoch = *query.epoch;
    KINDRED_TRY(auto measured, MeasuredAnswer(asked));
    if (measured) return std::move(*measured);
  }
  Predictor predictor(asked);
  KINDRED_CHECK(LoadModels(asked, predictor));
  const auto space = MakeSpace(asked.canonical.workload, query.target);
  const auto model = predictor.models.ForTask(predictor.task);
  std::vector<Candidate> candidates;
  if (log != nullptr) {
    KINDRED_TRY(candidates, SiblingCandidates(asked, *space, predictor.provenance));
  }
  MatchLevel match = MatchLevel::kSibling;
  if (candidates.empty()) {
    match = predictor.trained ? MatchLevel::kPredicted : MatchLevel::kDefault;
    KINDRED_TRY(candidates, SearchedCandidates(asked, *space, *model));
  }
  const auto [index, prediction] = Best(*model, candidates);
  return FromCandidate(asked, candidates[index], prediction, match,
                       std::move(predictor.provenance));
}

Result<std::vector<RankedSchedule>> RankSchedules(const TuningLog* log, const KernelQuery& query,
                                                  int count) {
  const Asked asked = BeginAsking(log, query);
  Predictor predictor(asked);
  KINDRED_CHECK(LoadModels(asked, predictor));
  const auto space = MakeSpace(asked.canonical.workload, query.target);
  const auto model = predictor.models.ForTask(predictor.task);
  std::vector<Candidate> candidates;
  if (log != nullptr) {
    KINDRED_TRY(candidates, SiblingCandidates(asked, *space, predictor.provenance));
  }
  std::vector<Path> seeds;
  for (const Candidate& candidate : candidates) seeds.push_back(candidate.path);
  const auto searcher = MakeMctsSearcher(*space, *model, 0);
  searcher->Seed(seeds);
  for (Candidate& candidate : searcher->Propose(kProposedPerRank * count))
    candidates.push_back(std::move(candidate));
  std::vector<const Candidate*> pointers;
  for (const Candidate& candidate : candidates) pointers.push_back(&candidate);
  const std::vector<Prediction> predictions = model->Predict(pointers);
  std::vector<RankedSchedule> ranked;
  std::set<std::string> known;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (known.insert(candidates[i].key.Hex()).second)
      ranked.push_back({std::move(candidates[i]), predictions[i]});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedSchedule& a, const RankedSchedule& b) {
                     return a.prediction.ns < b.prediction.ns;
                   });
  ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(count)));
  return ranked;
}

}  // namespace kindred
