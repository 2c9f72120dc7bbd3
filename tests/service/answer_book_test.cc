// Kept answers: given again as the same bytes, dropped when the log overtakes them, counted.
#include "tuner/service/answer_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "database/sqlite_log.h"
#include "schedules/emit_c.h"
#include "schedules/text_form.h"
#include "search/searcher.h"
#include "tuner/record_mapping.h"

namespace kindred {
namespace {

std::string Matmul(int m) {
  return "input A: f32[" + std::to_string(m) +
         ",96]\nweight B: f32[96,80]\noutput Y[m,n] = relu(sum[k](A[m,k] * B[k,n]))\n";
}

class Book : public testing::Test {
 protected:
  // One measured trial of `text` on the default target.
  void Measured(const std::string& text, double ns) {
    const Target target;
    const CanonicalWorkload canonical = Canonicalize(*ParseWorkload(text));
    const auto space = MakeSpace(canonical.workload, target);
    const auto searcher = MakeRandomSearcher(*space, static_cast<std::uint64_t>(ns));
    const Candidate candidate = searcher->Propose(1).at(0);
    const KernelSource kernel = EmitC(*candidate.program, canonical.workload, target);
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
    batch.trials.push_back(ToRecord({session.id, 0, 0, canonical.key.Hex(), batch.targets[0].id,
                                     "random", 0, batch.kernels[0].hash},
                                    candidate, kernel, outcome));
    const auto written = log_->Append(batch);
    ASSERT_TRUE(written) << written.error().message;
  }

  KeptAnswerPtr Ask(const Question& question) {
    const auto answer = book_.Answer(question);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : nullptr;
  }

  static Question About(const std::string& text) {
    Question question;
    question.workload = text;
    return question;
  }

  std::unique_ptr<TuningLog> log_ = *OpenSqliteLog(":memory:", OpenMode::kReadWrite);
  ServedTargets targets_{*log_, [](const std::string& name) -> Result<Target> {
                           if (name == "cpu") return Target{};
                           return BadInput("unknown target '" + name + "'");
                         }};
  AnswerBook book_{*log_, targets_};
  int sessions_ = 0;
};

TEST_F(Book, KeepsWhatItAnswered) {
  const Question question = About(Matmul(64));
  EXPECT_EQ(book_.Find(question.Digest()), nullptr);
  const KeptAnswerPtr answer = Ask(question);
  EXPECT_EQ(answer->match, MatchLevel::kDefault);
  EXPECT_EQ(book_.Find(question.Digest()), answer);
  EXPECT_EQ(book_.Find(About(Matmul(65)).Digest()), nullptr);
  const auto json = nlohmann::json::parse(*answer->body);
  EXPECT_EQ(json["key"], answer->workload);
  EXPECT_EQ(json["match"], "default");
}

TEST_F(Book, DropsWhatTheLogOvertook) {
  const Question about_64 = About(Matmul(64)), about_32 = About(Matmul(32));
  Measured(Matmul(64), 5000);
  ASSERT_TRUE(book_.Refresh());
  EXPECT_EQ(Ask(about_64)->match, MatchLevel::kExact);
  EXPECT_EQ(Ask(about_32)->match, MatchLevel::kSibling);
  Question pinned = about_64;
  pinned.epoch = 1;
  const KeptAnswerPtr then = Ask(pinned);

  Measured(Matmul(64), 4000);
  ASSERT_TRUE(book_.Refresh());
  EXPECT_EQ(book_.Find(about_64.Digest()), nullptr);  // measured again
  EXPECT_EQ(book_.Find(about_32.Digest()), nullptr);  // rested on its sibling
  EXPECT_EQ(book_.Find(pinned.Digest()), then);
  EXPECT_EQ(nlohmann::json::parse(*Ask(about_64)->body)["statistics"]["median_ns"], 4000);

  const KeptAnswerPtr kept = Ask(about_64);
  Measured(Matmul(16), 100);
  ASSERT_TRUE(book_.Refresh());
  EXPECT_EQ(book_.Find(about_64.Digest()), kept);  // another's measurement leaves it alone
}

TEST_F(Book, CountsBecomeWeights) {
  const KeptAnswerPtr answer = Ask(About(Matmul(64)));
  for (int i = 0; i < 3; ++i) book_.Count(*answer);
  ASSERT_TRUE(book_.WriteCounts());
  ASSERT_TRUE(book_.WriteCounts());  // nothing is counted twice
  const auto asked = log_->Asked().value();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].workload, answer->workload);
  EXPECT_EQ(asked[0].times, 3);
  EXPECT_TRUE(log_->FindWorkload(answer->workload).value());  // it was not in the log before
}

TEST_F(Book, AsksForTheWorkloadOfAnUnknownKey) {
  Question question;
  question.key = std::string(32, '0');
  const auto unknown = book_.Answer(question);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("ask with the workload itself"));
  Measured(Matmul(64), 5000);
  question.key = Canonicalize(*ParseWorkload(Matmul(64))).key.Hex();
  EXPECT_EQ(Ask(question)->match, MatchLevel::kExact);
}

TEST_F(Book, ConstraintsHold) {
  Measured(Matmul(64), 5000);
  Question small = About(Matmul(64));
  small.constraints.workspace_bytes = 0;
  EXPECT_EQ(nlohmann::json::parse(*Ask(small)->body)["workspace_bytes"], 0);
  Question plain = About(Matmul(64));
  plain.constraints.plain_layouts = true;
  const auto unpacked = nlohmann::json::parse(*Ask(plain)->body);
  for (const auto& step : unpacked["steps"]) EXPECT_NE(step["kind"], "prepare");
  // Two outputs read one sum, which has to be kept somewhere.
  Question both = About(
      "input A: f32[64,96]\nweight B: f32[96,80]\nT[m,n] = sum[k](A[m,k] * B[k,n])\n"
      "S[m] = sum[n](T[m,n])\noutput Y[m,n] = T[m,n] / S[m]\n");
  both.constraints.workspace_bytes = 0;
  EXPECT_EQ(book_.Answer(both).error().kind, ErrorKind::kUnsupported);
  Question cuda = About(Matmul(64));
  cuda.constraints.dialects = {"cuda"};
  EXPECT_EQ(book_.Answer(cuda).error().kind, ErrorKind::kUnsupported);
  Question elsewhere = About(Matmul(64));
  elsewhere.target = "tpu";
  EXPECT_EQ(book_.Answer(elsewhere).error().kind, ErrorKind::kBadInput);
}

}  // namespace
}  // namespace kindred
