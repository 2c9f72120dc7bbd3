// The analysis says what the log says: best schedules, failures, curves; and the page holds it
// unchanged and asks nobody else.
#include "tuner/report/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/sqlite_log.h"
#include "schedules/emit_c.h"
#include "schedules/text_form.h"
#include "search/searcher.h"
#include "tuner/record_mapping.h"
#include "tuner/report/explain.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMatmul =
    "input A: f32[64,96]\nweight B: f32[96,80]\noutput Y[m,n] = relu(sum[k](A[m,k] * B[k,n]))\n";

class Analysed : public testing::Test {
 protected:
  // A session with trials of the matrix product: `times` in ns, 0 for a wrong answer.
  void SetUp() override { Write(*log_, {9000, 0, 5000, 7000, 5500, 0}); }

  void Write(TuningLog& log, const std::vector<double>& times) {
    const Target target;
    const CanonicalWorkload canonical = Canonicalize(*ParseWorkload(kMatmul));
    key_ = canonical.key.Hex();
    const auto space = MakeSpace(canonical.workload, target);
    const auto candidates = MakeRandomSearcher(*space, 3)->Propose(static_cast<int>(times.size()));
    ASSERT_EQ(candidates.size(), times.size());
    LogBatch batch;
    batch.targets.push_back(ToRecord(target));
    target_ = batch.targets[0].id;
    batch.workloads.push_back(ToRecord(canonical, "matmul"));
    SessionRecord session;
    session.id = "s";
    session.target = target_;
    session.inputs = "[{\"model\":\"m\",\"tasks\":[[\"" + key_ + "\",3]]}]";
    batch.sessions.push_back(session);
    TaskRecord task;
    task.session = "s";
    task.workload = key_;
    task.name = "matmul <64x80x96>";
    task.untuned_ns = 40000;
    batch.tasks.push_back(task);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const KernelSource kernel = EmitC(*candidates[i].program, canonical.workload, target);
      const KernelRecord record = ToRecord(kernel, canonical.workload);
      Outcome outcome;
      if (times[i] > 0) {
        outcome.median_ns = times[i];
        for (int s = -4; s <= 4; ++s) outcome.samples.push_back(times[i] * (1 + 0.001 * s));
        outcome.validated = true;
      } else {
        outcome.status = Status::kWrongAnswer;
        outcome.message = "element 3 is wrong";
      }
      batch.kernels.push_back(record);
      batch.trials.push_back(ToRecord(
          {"s", 0, static_cast<std::int64_t>(i), key_, target_, "random", 6000, record.hash},
          candidates[i], kernel, outcome));
    }
    const auto written = log.Append(batch);
    ASSERT_TRUE(written) << written.error().message;
  }

  json Analyse(const TuningLog& log) {
    auto analysis = AnalyzeLog(log, "a.db");
    EXPECT_TRUE(analysis) << analysis.error().message;
    return analysis ? std::move(*analysis) : json();
  }

  std::unique_ptr<TuningLog> log_ = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  std::string key_, target_;
};

TEST_F(Analysed, NumbersAreTheLogs) {
  const json analysis = Analyse(*log_);
  EXPECT_EQ(analysis["epoch"], log_->Epoch().value());
  EXPECT_EQ(analysis["counts"]["trials"], 6);
  EXPECT_EQ(analysis["counts"]["failed"], 2);
  const json& subgraph = analysis["targets"][0]["subgraphs"][0];
  const TrialRecord best = **log_->BestSchedule(key_, target_);
  EXPECT_EQ(subgraph["best_ns"], best.median_ns);
  EXPECT_EQ(subgraph["winner"]["trial"], best.id);
  EXPECT_EQ(subgraph["winner"]["schedule"], json::parse(best.schedule));
  EXPECT_EQ(subgraph["runner_up"]["median_ns"], 5500);
  EXPECT_EQ(subgraph["curve"], json::parse("[[1, 9000.0], [3, 5000.0]]"));
  EXPECT_EQ(subgraph["trials"], 6);
  EXPECT_EQ(subgraph["failed"], 2);
  EXPECT_EQ(subgraph["untuned_ns"], 40000);
  EXPECT_NEAR(subgraph["winner"]["spread"].get<double>(), 0.004, 1e-9);
  const json& model = analysis["targets"][0]["models"][0];
  EXPECT_EQ(model["best_ns"], 3 * 5000);
  EXPECT_EQ(model["untuned_ns"], 3 * 40000);
  EXPECT_EQ(analysis["failures"][0]["status"], "wrong_answer");
  EXPECT_EQ(analysis["failures"][0]["trials"], 2);
  EXPECT_EQ(analysis["sessions"][0]["trials"], 6);
  std::int64_t counted = 0;
  for (const json& bin : analysis["noise"]["spread"]) counted += bin["trials"].get<std::int64_t>();
  EXPECT_EQ(counted, 4);
  EXPECT_EQ(analysis["models"]["trials"], 4);
}

TEST_F(Analysed, ThePageHoldsTheAnalysisAndNothingForeign) {
  const json analysis = Analyse(*log_);
  const std::string page = AnalysisHtml(analysis);
  const std::string open = "<script id=\"analysis\" type=\"application/json\">";
  const std::size_t begin = page.find(open) + open.size();
  const std::size_t end = page.find("</script>", begin);
  EXPECT_EQ(json::parse(page.substr(begin, end - begin)), analysis);
  EXPECT_THAT(page.substr(begin, end - begin), Not(HasSubstr("<")));  // a name holds one
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("fetch(")));
}

TEST_F(Analysed, ComparisonsPutTheBiggestChangeFirst) {
  const auto other = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  Write(*other, {10000, 8000});
  const json changes = CompareAnalyses(Analyse(*other), Analyse(*log_));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0]["before_ns"], 8000);
  EXPECT_EQ(changes[0]["after_ns"], 5000);
}

TEST_F(Analysed, AnEmptyLogHasAPageToo) {
  const auto empty = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  const json analysis = Analyse(*empty);
  EXPECT_TRUE(analysis["targets"].empty());
  EXPECT_THAT(AnalysisHtml(analysis), HasSubstr("The log is empty."));
  EXPECT_THAT(AnalysisText(analysis), HasSubstr("0 trials"));
}

TEST_F(Analysed, ExplanationsNameTheWinnerAndWhatItDecided) {
  const auto explanation = ExplainSchedule(*log_, key_, "cpu");
  ASSERT_TRUE(explanation) << explanation.error().message;
  const json& e = *explanation;
  const TrialRecord best = **log_->BestSchedule(key_, target_);
  EXPECT_EQ(e["ranking"][0]["trial"], best.id);
  EXPECT_EQ(e["ranking"].size(), 4u);
  EXPECT_TRUE(e["separated"].get<bool>());  // 5000 and 5500, each within half a percent
  const json schedule = json::parse(best.schedule);
  EXPECT_EQ(e["decisions"].size(), schedule.size());
  for (const json& decision : e["decisions"]) {
    const json& chosen = schedule.at(decision["name"].get<std::string>());
    EXPECT_EQ(decision["chosen"], chosen.is_string() ? chosen.get<std::string>() : chosen.dump());
    EXPECT_EQ(decision["values"][0]["value"], decision["chosen"]);
    EXPECT_EQ(decision["values"][0]["best_ns"], best.median_ns);
  }
  EXPECT_THAT(ExplanationText(e), HasSubstr("the two are separated"));
  EXPECT_EQ(ExplainSchedule(*log_, key_, "cuda:0").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(ExplainSchedule(*log_, std::string(32, '0'), "cpu").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace kindred
