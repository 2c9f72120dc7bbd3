#include "tests/database/sample_log.h"

#include <sqlite3.h>
#include <stdlib.h>

#include <gtest/gtest.h>

namespace kindred::testing {
namespace {

constexpr char kCode[] = "int entry(void *const *b, const long *e, void *w) { return 0; }\n";
constexpr char kPackage[] = R"({"steps":[{"entry":"entry"}],"arguments":[],"workspace_bytes":0})";

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "kindred_XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TrialRecord SampleTrial(std::int64_t round, std::int64_t position) {
  const double median = 100.0 + static_cast<double>(position);
  TrialRecord trial;
  trial.session = "s1";
  trial.round = round;
  trial.position = position;
  trial.workload = round % 2 == 0 ? "w1" : "w2";
  trial.target = "cpu";
  trial.searcher = "mcts";
  trial.sketch = "contraction";
  trial.schedule_key = "schedule-" + std::to_string(round) + "-" + std::to_string(position);
  trial.schedule = R"({"rows":8,"columns":48,"flags":"-O3"})";
  trial.median_ns = median;
  trial.samples = {median - 0.1, median, median + 1.0 / 3};
  trial.control_ns = 12.5;
  trial.predicted_ns = 90;
  trial.validated = true;
  trial.build_s = 0.25;
  trial.run_s = 0.125;
  trial.build_facts = R"({"code_bytes":512})";
  trial.kernel = KernelHash(kCode, kPackage);
  trial.binary = "b1";
  trial.compiler = "gcc 12.2.0";
  trial.flags = "-O3 -march=native";
  trial.version = "0.1.0";
  trial.worker = "host:1";
  trial.time_ms = 1700000000000 + round;
  return trial;
}

LogBatch SampleContext() {
  LogBatch batch;
  batch.targets = {
      {"cpu", "cpu", R"({"model":"Sample CPU"})", R"({"cores":2,"peak_f32_gflops":170.5})", "hot"}};
  batch.workloads = {
      {"w1", "structure", "dense 1", "output Y[i] = X[i]\n", R"({"stages":[1,2]})", 1000, 64},
      {"w2", "structure", "dense 2", "output Y[i] = X[i] + 1\n", "{}", 2000, 128}};
  batch.kernels = {{KernelHash(kCode, kPackage), kCode, kPackage}};
  batch.families = {{"f1", "structure", R"({"pinned":false})", {"w1", "w2"}}};
  SessionRecord session;
  session.id = "s1";
  session.target = "cpu";
  session.inputs = R"([{"model":"a.onnx"}])";
  session.options = R"({"searcher":"mcts"})";
  session.seed = 0xfedcba9876543210ull;
  session.version = "0.1.0";
  session.started_ms = 1700000000000;
  session.updated_ms = 1700000001000;
  batch.sessions = {session};
  batch.tasks = {{"s1", "w1", 0, "dense 1", "f1", R"([{"model":"a.onnx","count":3}])", 3, 450.5,
                  R"({"status":"ok"})"},
                 {"s1", "w2", 1, "dense 2", "", "[]", 1, 0, "{}"}};
  batch.models = {
      {"cpu", "families", "xgboost-1", R"({"recall":0.5})", 4, std::string("\0\1binary\xff", 9)}};
  return batch;
}

LogBatch SampleBatch(int rounds) {
  LogBatch batch = SampleContext();
  for (int round = 0; round < rounds; ++round) {
    for (int position = 0; position < 4; ++position) {
      TrialRecord trial = SampleTrial(round, position);
      if (position == 2) {
        trial.status = "build_error";
        trial.message =
            "kernel.c:3: error: 'x' undeclared\n\"quoted\" \xe2\x80\x98text\xe2\x80\x99";
        trial.median_ns = 0;
        trial.samples.clear();
        trial.control_ns = 0;
        trial.validated = false;
        trial.kernel.clear();
        trial.binary.clear();
      }
      batch.trials.push_back(trial);
    }
  }
  return batch;
}

std::unique_ptr<TuningLog> OpenForWriting(const std::string& path) {
  auto log = OpenSqliteLog(path, OpenMode::kReadWrite);
  EXPECT_TRUE(log) << log.error().message;
  return log ? std::move(*log) : nullptr;
}

std::unique_ptr<TuningLog> InMemory(const LogBatch& batch) {
  auto log = OpenForWriting(":memory:");
  const auto appended = log->Append(batch);
  EXPECT_TRUE(appended) << appended.error().message;
  return log;
}

std::string AskSql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  std::string answer;
  const auto keep_first = [](void* into, int, char** values, char**) {
    auto& text = *static_cast<std::string*>(into);
    if (text.empty() && values[0] != nullptr) text = values[0];
    return 0;
  };
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), keep_first, &answer, &message), SQLITE_OK)
      << sql << ": " << message;
  sqlite3_free(message);
  sqlite3_close(database);
  return answer;
}

void RunSql(const std::string& path, const std::string& sql) { AskSql(path, sql); }

}  // namespace kindred::testing
