// Match levels: whatever the log holds, a workload gets an answer, marked with what it rests on.
#include "tuner/answer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cost_model/family_models.h"
#include "cost_model/features.h"
#include "cost_model/prior.h"
#include "database/sqlite_log.h"
#include "schedules/cuda_targets.h"
#include "schedules/emit_kernel.h"
#include "schedules/text_form.h"
#include "search/searcher.h"
#include "tuner/families.h"
#include "tuner/record_mapping.h"

namespace kindred {
namespace {

std::string Matmul(int m) {
  return "input A: f32[" + std::to_string(m) +
         ",96]\nweight B: f32[96,80]\noutput Y[m,n] = relu(sum[k](A[m,k] * B[k,n]))\n";
}

class Answer : public testing::Test {
 protected:
  // Writes one measured trial of `text` on `target`.
  void Measured(const std::string& text, const Target& target, double ns) {
    const CanonicalWorkload canonical = Canonicalize(*ParseWorkload(text));
    const auto space = MakeSpace(canonical.workload, target);
    const auto searcher = MakeRandomSearcher(*space, 3);
    const Candidate candidate = searcher->Propose(1).at(0);
    const KernelSource kernel = EmitKernel(*candidate.program, canonical.workload, target);
    Outcome outcome;
    outcome.median_ns = ns;
    outcome.samples = {ns};
    outcome.validated = true;
    LogBatch batch;
    batch.targets.push_back(ToRecord(target));
    batch.workloads.push_back(ToRecord(canonical, "matmul"));
    batch.kernels.push_back(ToRecord(kernel, canonical.workload));
    SessionRecord session;
    session.id = "s" + std::to_string(++sessions_);
    session.target = batch.targets[0].id;
    batch.sessions.push_back(session);
    TaskRecord task;
    task.session = session.id;
    task.workload = canonical.key.Hex();
    batch.tasks.push_back(task);
    const TrialOrigin origin{session.id,          0,        0, canonical.key.Hex(),
                             batch.targets[0].id, "random", 0, batch.kernels[0].hash};
    batch.trials.push_back(ToRecord(origin, candidate, kernel, outcome));
    const auto written = log_->Append(batch);
    ASSERT_TRUE(written) << written.error().message;
    code_ = kernel.code;
  }
  KernelPackage Ask(const std::string& text, const TuningLog* log,
                    std::optional<std::int64_t> epoch = {}) {
    auto package = AnswerQuery(log, {*ParseWorkload(text), Target{}, epoch});
    EXPECT_TRUE(package) << package.error().message;
    return std::move(*package);
  }
  std::unique_ptr<TuningLog> log_ = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  int sessions_ = 0;
  std::string code_;
};

TEST_F(Answer, WithoutALogItIsTheDefault) {
  const KernelPackage package = Ask(Matmul(64), nullptr);
  EXPECT_EQ(package.match, MatchLevel::kDefault);
  EXPECT_FALSE(package.validated);
  EXPECT_NE(package.kernel.code.find(package.kernel.entry), std::string::npos);
  EXPECT_GT(package.statistics["predicted_ns"].get<double>(), 0);
}

TEST_F(Answer, MeasuredHereIsExactInTheAskersNames) {
  Measured(Matmul(64), Target{}, 5000);
  std::string renamed = Matmul(64);
  for (char& c : renamed)
    if (c == 'A') c = 'Q';
  const KernelPackage package = Ask(renamed, log_.get());
  EXPECT_EQ(package.match, MatchLevel::kExact);
  EXPECT_TRUE(package.validated);
  EXPECT_EQ(package.kernel.code, code_);
  EXPECT_EQ(package.statistics["median_ns"], 5000);
  std::vector<std::string> names;
  for (const auto& argument : package.arguments)
    if (argument.contains("tensor")) names.push_back(argument["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"Q", "B", "Y"}));
}

TEST_F(Answer, AnEpochPinsTheAnswer) {
  Measured(Matmul(64), Target{}, 5000);
  const std::int64_t epoch = *log_->Epoch();
  EXPECT_EQ(Ask(Matmul(64), log_.get(), epoch).match, MatchLevel::kExact);
  EXPECT_NE(Ask(Matmul(64), log_.get(), epoch - 1).match, MatchLevel::kExact);
}

TEST_F(Answer, MeasuredOnALikeDevice) {
  Target other;
  other.model = "another processor";
  Measured(Matmul(64), other, 5000);
  EXPECT_EQ(Ask(Matmul(64), log_.get()).match, MatchLevel::kDevice);
}

TEST_F(Answer, ASiblingsWinnerIsCarriedOver) {
  Measured(Matmul(64), Target{}, 5000);
  const KernelPackage package = Ask(Matmul(96), log_.get());
  EXPECT_EQ(package.match, MatchLevel::kSibling);
  EXPECT_FALSE(package.validated);
  EXPECT_EQ(package.provenance["siblings"].size(), 1u);
}

TEST_F(Answer, ForAGpuItIsACudaPackage) {
  const Target target = *NamedCudaTarget("h200");
  const auto package = AnswerQuery(nullptr, {*ParseWorkload(Matmul(64)), target, {}});
  ASSERT_TRUE(package) << package.error().message;
  EXPECT_EQ(package->match, MatchLevel::kDefault);
  const auto json = ToJson(*package);
  EXPECT_EQ(json["language"], "cuda");
  EXPECT_EQ(json["provenance"]["device"]["arch"], "sm_90a");
  ASSERT_FALSE(json["steps"].empty());
  for (const auto& step : json["steps"]) {
    EXPECT_EQ(step["kind"], "launch");
    EXPECT_GT(step["grid"][0], 0);
    EXPECT_GE(step["block"][0], 1);
    EXPECT_FALSE(step["parameters"].empty());
  }
  KernelQuery c = {*ParseWorkload(Matmul(64)), target, {}};
  c.constraints.dialects = {"c"};
  EXPECT_EQ(AnswerQuery(nullptr, c).error().kind, ErrorKind::kUnsupported);
}

TEST_F(Answer, ModelsOfAnotherVersionAreNamedAndNotUsed) {
  LogBatch batch;
  batch.targets.push_back(ToRecord(Target{}));
  ModelRecord model;
  model.target = batch.targets[0].id;
  model.name = "families";
  model.blob = "no models";
  batch.models.push_back(model);
  ASSERT_TRUE(log_->Append(batch));
  const KernelPackage package = Ask(Matmul(64), log_.get());
  EXPECT_EQ(package.match, MatchLevel::kDefault);
  EXPECT_TRUE(package.provenance.contains("models"));
}

TEST_F(Answer, PredictionsComeFromTheFamilyThatWouldTakeTheWorkloadIn) {
  const Target target;
  const auto canonical = [](const std::string& text) { return Canonicalize(*ParseWorkload(text)); };
  const std::vector<CanonicalWorkload> known = {canonical(Matmul(64)), canonical(Matmul(1 << 22))};
  FamilyModels::Options options;
  options.pooled_rounds = 1;  // leaves something to learn to the families
  FamilyModels models(target, options);
  nlohmann::json families = nlohmann::json::array();
  for (int family = 0; family < 2; ++family) {
    const Workload& workload = known[static_cast<std::size_t>(family)].workload;
    const int task = models.AddTask(workload, family);
    const auto space = MakeSpace(workload, target);
    const auto searcher = MakeRandomSearcher(*space, 3);
    for (const Candidate& candidate : searcher->Propose(64)) {
      auto features = ExtractFeatures(*candidate.program, workload, target);
      const double prior = PriorNs(features, workload, target);
      models.Observe({task, std::move(features), prior * (family == 0 ? 8 : 64)});
    }
    const FamilyDescriptor own = DescribeFamily(workload);
    families.push_back({{"id", "f" + std::to_string(family)},
                        {"structure", own.structure.Hex()},
                        {"centre", own.descriptors}});
  }
  ASSERT_TRUE(models.Train());
  LogBatch batch;
  batch.targets.push_back(ToRecord(target));
  ModelRecord record;
  record.target = batch.targets[0].id;
  record.name = "families";
  record.blob = models.Save();
  batch.models.push_back(record);
  ASSERT_TRUE(log_->Append(batch));
  const KernelPackage pooled = Ask(Matmul(96), log_.get());
  EXPECT_EQ(pooled.match, MatchLevel::kPredicted);
  EXPECT_FALSE(pooled.provenance.contains("family"));
  batch.models[0].metrics = nlohmann::json{{"families", families}}.dump();
  ASSERT_TRUE(log_->Append(batch));
  const KernelPackage near = Ask(Matmul(96), log_.get());
  EXPECT_EQ(near.match, MatchLevel::kPredicted);
  EXPECT_EQ(near.provenance["family"], "f0");
  EXPECT_NE(near.statistics["predicted_ns"], pooled.statistics["predicted_ns"]);
  EXPECT_EQ(Ask(Matmul(1 << 21), log_.get()).provenance["family"], "f1");
  EXPECT_FALSE(Ask("input X: f32[8,8]\noutput Y[i,j] = relu(X[i,j])\n", log_.get())
                   .provenance.contains("family"));
}

}  // namespace
}  // namespace kindred
