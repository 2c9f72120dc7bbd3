// The models against a made-up device that differs from the prior in a way that features explain.
#include "cost_model/family_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cost_model/evaluate.h"
#include "cost_model/features.h"
#include "cost_model/internal/feature_list.h"
#include "cost_model/prior.h"
#include "schedules/base/seed.h"
#include "tests/cost_model/gemm_program.h"

namespace kindred {
namespace {

using test::GemmProgram;
using test::GemmShape;
using test::GemmTile;
using test::GemmWorkload;
using test::TestTarget;

struct Sample {
  Candidate candidate;
  std::vector<float> features;
  double ns = 0;
};

// All tiles that divide the shape, with compilers and flags. `bias`: the device is slower than the
// prior.
std::vector<Sample> Samples(const GemmShape& shape, double bias) {
  const Workload workload = GemmWorkload(shape);
  const Target target = TestTarget();
  std::vector<Sample> samples;
  for (const std::int64_t rows : {1, 2, 3, 4, 6, 8, 12, 16})
    for (const std::int64_t vectors : {1, 2, 4})
      for (const bool rows_outer : {false, true})
        for (const bool clang : {false, true}) {
          if (shape.m % rows != 0 || shape.n % (16 * vectors) != 0) continue;
          Program program =
              GemmProgram(shape, {.rows = rows, .vectors = vectors, .rows_outer = rows_outer});
          program.compiler = clang ? "clang" : "gcc";
          Sample sample;
          sample.features = ExtractFeatures(program, workload, target);
          const double prior = PriorNs(sample.features, workload, target);
          // What the prior does not know: clang likes few rows, many vectors cost.
          const double hidden =
              (clang ? 0.8 * (rows > 6) : 0.6 * (rows <= 6)) + 0.4 * (vectors == 4) + bias;
          sample.ns = prior * std::exp2(hidden);
          sample.candidate.key = HashOf(std::to_string(rows) + "," + std::to_string(vectors) + "," +
                                        std::to_string(rows_outer) + std::to_string(clang));
          sample.candidate.program = std::make_shared<const Program>(std::move(program));
          samples.push_back(std::move(sample));
        }
  Random random(shape.m + shape.n);
  for (std::size_t i = samples.size(); i > 1; --i)
    std::swap(samples[i - 1], samples[random.Below(i)]);
  return samples;
}

struct Judgement {
  double correlation = 0, error = 0, sigma = 0;  // error: mean |log2|
};

Judgement Judge(const CostModel& model, const std::vector<Sample>& samples) {
  std::vector<const Candidate*> candidates;
  std::vector<double> measured, predicted;
  for (const Sample& sample : samples) {
    candidates.push_back(&sample.candidate);
    measured.push_back(sample.ns);
  }
  Judgement judgement;
  for (const Prediction& prediction : model.Predict(candidates)) {
    judgement.error += std::abs(std::log2(prediction.ns / measured[predicted.size()])) /
                       static_cast<double>(samples.size());
    judgement.sigma += prediction.sigma / static_cast<double>(samples.size());
    predicted.push_back(prediction.ns);
  }
  judgement.correlation = RankCorrelation(predicted, measured);
  return judgement;
}

void Teach(FamilyModels& models, int task, const std::vector<Sample>& samples, std::size_t count) {
  for (std::size_t i = 0; i < count && i < samples.size(); ++i)
    models.Observe({task, samples[i].features, samples[i].ns});
}

const GemmShape kShape{192, 512, 128}, kSibling{384, 256, 256};

TEST(FamilyModels, ThePriorAloneWithoutObservations) {
  FamilyModels models(TestTarget(), {});
  const int task = models.AddTask(GemmWorkload(kShape), 0);
  const std::vector<Sample> samples = Samples(kShape, 0);
  const auto model = models.ForTask(task);
  const Candidate* candidate = &samples[0].candidate;
  const Workload workload = GemmWorkload(kShape);
  EXPECT_NEAR(model->Predict({&candidate, 1})[0].ns,
              PriorNs(samples[0].features, workload, TestTarget()), 1e-6 * samples[0].ns);
  EXPECT_GT(model->Predict({&candidate, 1})[0].sigma, 0.5);
  EXPECT_TRUE(models.Train());
  EXPECT_TRUE(model->Predict({}).empty());
}

TEST(FamilyModels, LearnsTheDeviceAndItsDoubtShrinks) {
  FamilyModels models(TestTarget(), {});
  const int task = models.AddTask(GemmWorkload(kShape), 0);
  const std::vector<Sample> samples = Samples(kShape, 2);
  const auto model = models.ForTask(task);
  const Judgement before = Judge(*model, samples);
  EXPECT_GT(before.error, 1.5);
  // A few samples, too few to train: the offset already removes the bias.
  Teach(models, task, samples, 8);
  ASSERT_TRUE(models.Train());
  const Judgement early = Judge(*model, samples);
  EXPECT_LT(early.error, 0.75 * before.error);
  for (std::size_t i = 8; i < 64; i += 8) {
    for (std::size_t j = i; j < i + 8; ++j)
      models.Observe({task, samples[j].features, samples[j].ns});
    ASSERT_TRUE(models.Train());
  }
  const Judgement late = Judge(*model, samples);
  EXPECT_LT(late.error, 0.3);
  EXPECT_GT(late.correlation, before.correlation);
  EXPECT_GT(late.correlation, 0.9);
  EXPECT_LT(late.sigma, before.sigma);
  EXPECT_GT(models.train_seconds(), 0);
}

TEST(FamilyModels, ASiblingProfits) {
  FamilyModels models(TestTarget(), {});
  const int first = models.AddTask(GemmWorkload(kShape), 0),
            second = models.AddTask(GemmWorkload(kSibling), 0);
  const std::vector<Sample> samples = Samples(kShape, 0), sibling = Samples(kSibling, 0);
  const Judgement before = Judge(*models.ForTask(second), sibling);
  Teach(models, first, samples, samples.size());
  ASSERT_TRUE(models.Train());
  const Judgement after = Judge(*models.ForTask(second), sibling);
  EXPECT_LT(after.error, 0.6 * before.error);
  EXPECT_GE(after.correlation, before.correlation);
}

TEST(FamilyModels, FamiliesKeepWhatContradictsApart) {
  // Two tasks whose devices disagree: one family cannot serve both, two can.
  double errors[2];
  for (const int families : {1, 2}) {
    FamilyModels models(TestTarget(), {});
    const int first = models.AddTask(GemmWorkload(kShape), 0);
    const int second = models.AddTask(GemmWorkload(kShape), families - 1);
    std::vector<Sample> samples = Samples(kShape, 0), contrary = samples;
    for (Sample& sample : contrary) {
      const double prior = PriorNs(sample.features, GemmWorkload(kShape), TestTarget());
      sample.ns = prior * prior / sample.ns;
    }
    Teach(models, first, samples, 120);
    Teach(models, second, contrary, 120);
    ASSERT_TRUE(models.Train());
    errors[families - 1] = Judge(*models.ForTask(first), samples).error +
                           Judge(*models.ForTask(second), contrary).error;
  }
  EXPECT_LT(errors[1], 0.6 * errors[0]);
}

TEST(FamilyModels, OneModelForEverythingLearnsToo) {
  FamilyModels models(TestTarget(), {.families = false});
  const int task = models.AddTask(GemmWorkload(kShape), 0);
  const std::vector<Sample> samples = Samples(kShape, 1);
  const auto model = models.ForTask(task);
  for (std::size_t i = 0; i < 64; i += 16) {
    for (std::size_t j = i; j < i + 16; ++j)
      models.Observe({task, samples[j].features, samples[j].ns});
    ASSERT_TRUE(models.Train());
  }
  EXPECT_LT(Judge(*model, samples).error, 0.3);
}

TEST(FamilyModels, FailedCandidatesAreTakenForSlow) {
  FamilyModels models(TestTarget(), {});
  const int task = models.AddTask(GemmWorkload(kShape), 0);
  const std::vector<Sample> samples = Samples(kShape, 0);
  for (const Sample& sample : samples)  // all of clang's fail
    models.Observe({task, sample.features, sample.features[kClang] == 1 ? 0 : sample.ns});
  ASSERT_TRUE(models.Train());
  double failed = 0, succeeded = 0;
  for (const Sample& sample : samples) {
    const Candidate* candidate = &sample.candidate;
    const double ratio =
        std::log2(models.ForTask(task)->Predict({&candidate, 1})[0].ns / sample.ns);
    (sample.features[kClang] == 1 ? failed : succeeded) += ratio;
  }
  const double half = static_cast<double>(samples.size()) / 2;
  EXPECT_GT(failed / half, succeeded / half + 0.5);
  EXPECT_LT(std::abs(succeeded / half), 0.3);
}

TEST(FamilyModels, OnlyFailures) {
  FamilyModels models(TestTarget(), {});
  const int task = models.AddTask(GemmWorkload(kShape), 0);
  const std::vector<Sample> samples = Samples(kShape, 0);
  for (const Sample& sample : samples) models.Observe({task, sample.features, 0});
  ASSERT_TRUE(models.Train());
  EXPECT_TRUE(std::isfinite(Judge(*models.ForTask(task), samples).error));
}

TEST(FamilyModels, SameObservationsSamePredictions) {
  const std::vector<Sample> samples = Samples(kShape, 1);
  double errors[2];
  for (double& error : errors) {
    FamilyModels models(TestTarget(), {.seed = 5});
    const int task = models.AddTask(GemmWorkload(kShape), 3);
    Teach(models, task, samples, 40);
    ASSERT_TRUE(models.Train());
    error = Judge(*models.ForTask(task), samples).error;
  }
  EXPECT_EQ(errors[0], errors[1]);
}

TEST(FamilyModels, MovingATaskRetrains) {
  FamilyModels models(TestTarget(), {});
  const std::vector<Sample> samples = Samples(kShape, 0);
  const int task = models.AddTask(GemmWorkload(kShape), 0);
  const auto model = models.ForTask(task);
  Teach(models, task, samples, 60);
  ASSERT_TRUE(models.Train());
  models.SetFamily(task, 7);
  ASSERT_TRUE(models.Train());
  EXPECT_LT(Judge(*model, samples).error, 0.3);
}

TEST(FamilyModels, SavesAndLoads) {
  const std::vector<Sample> samples = Samples(kShape, 0);
  FamilyModels models(TestTarget(), {});
  const int task = models.AddTask(GemmWorkload(kShape), 4);
  Teach(models, task, samples, 60);
  ASSERT_TRUE(models.Train());
  const std::string blob = models.Save();

  FamilyModels loaded(TestTarget(), {});
  ASSERT_TRUE(loaded.Load(blob));
  const int again = loaded.AddTask(GemmWorkload(kShape), 4);
  EXPECT_NEAR(Judge(*loaded.ForTask(again), samples).error,
              Judge(*models.ForTask(task), samples).error, 0.05);

  FamilyModels other(TestTarget(), {});
  EXPECT_FALSE(other.Load("nonsense"));
  EXPECT_FALSE(other.Load(""));
  EXPECT_FALSE(other.Load(blob.substr(0, blob.size() / 2)));
  Target elsewhere = TestTarget();
  elsewhere.id = "cpu:threads=8";
  FamilyModels foreign(elsewhere, {});
  const Result<void> refused = foreign.Load(blob);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("cpu:threads=8"), std::string::npos);
}

// What another device taught ranks candidates before anything is measured here.
TEST(FamilyModels, AnotherDevicesTimesHelpAndAreKept) {
  FamilyModels cold(TestTarget(), {}), warm(TestTarget(), {});
  const std::vector<Sample> samples = Samples(kShape, 0);
  const int cold_task = cold.AddTask(GemmWorkload(kShape), 0);
  const int task = warm.AddTask(GemmWorkload(kShape), 0);
  const int elsewhere = warm.AddForeignTask(GemmWorkload(kSibling), 0, TestTarget(), 1);
  Teach(warm, elsewhere, Samples(kSibling, 2), 60);
  ASSERT_TRUE(warm.Train());
  EXPECT_GT(Judge(*warm.ForTask(task), samples).correlation,
            Judge(*cold.ForTask(cold_task), samples).correlation);
  Teach(warm, task, samples, 24);
  ASSERT_TRUE(warm.Train());
  EXPECT_GT(warm.Trust(1), 0.3);
  EXPECT_LT(warm.Trust(1), 1);
}

// Models that learned from misleading times are given up once they misrank what is measured here.
TEST(FamilyModels, AnotherDevicesTimesThatMisleadAreDropped) {
  FamilyModels cold(TestTarget(), {}), misled(TestTarget(), {});
  const std::vector<Sample> samples = Samples(kShape, 0);
  const int cold_task = cold.AddTask(GemmWorkload(kShape), 0);
  const int task = misled.AddTask(GemmWorkload(kShape), 0);
  const int elsewhere = misled.AddForeignTask(GemmWorkload(kSibling), 0, TestTarget(), 1);
  std::vector<Sample> wrong = Samples(kSibling, 0);
  for (Sample& sample : wrong) sample.ns = 1e10 / sample.ns;
  Teach(misled, elsewhere, wrong, 60);
  Teach(cold, cold_task, samples, 24);
  Teach(misled, task, samples, 24);
  ASSERT_TRUE(cold.Train());
  ASSERT_TRUE(misled.Train());
  EXPECT_EQ(misled.Trust(1), 0);
  EXPECT_NEAR(Judge(*misled.ForTask(task), samples).correlation,
              Judge(*cold.ForTask(cold_task), samples).correlation, 1e-6);
}

}  // namespace
}  // namespace kindred
