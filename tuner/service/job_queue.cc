#include "tuner/service/job_queue.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/base/hash.h"
#include "tuner/record_mapping.h"
#include "tuner/service/tuner_process.h"

namespace kindred {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kPoll{200};
constexpr std::int64_t kMostAttempts = 5;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The tuner says "log PATH, session ID" on its standard error when it begins.
std::string SessionIn(const std::string& errors) {
  constexpr std::string_view kMark = ", session ";
  const std::size_t at = errors.find(kMark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kMark.size();
  const std::size_t end = errors.find_first_not_of("0123456789abcdef", begin);
  return end == std::string::npos ? "" : errors.substr(begin, end - begin);
}

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t line = text.find_last_of("\n\r");
  return line == std::string::npos ? text : text.substr(line + 1);
}

}  // namespace

JobQueue::~JobQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> JobQueue::Start() {
  KINDRED_TRY(const auto jobs, log_.Jobs());
  for (JobRecord job : jobs) {
    if (job.state != "running") continue;
    job.state = "queued";
    KINDRED_CHECK(Save(job));
  }
  thread_ = std::thread([this] { Work(); });
  return {};
}

Result<JobRecord> JobQueue::Add(JobRecord job) {
  static std::random_device entropy;
  job.created_ms = NowMs();
  job.id =
      HashOf(fmt::format("{} {} {}", job.created_ms, entropy(), job.inputs)).Hex().substr(0, 16);
  job.state = "queued";
  KINDRED_CHECK(Save(job));
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
  return job;
}

Result<JobRecord> JobQueue::Cancel(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    if (running_ == id) {
      cancel_ = true;
      changed_.notify_all();
    }
  }
  KINDRED_TRY(auto job, log_.FindJob(id));
  if (!job) return NotFound(fmt::format("there is no job '{}'", id));
  if (job->state != "queued") return *job;
  job->state = "cancelled";
  job->ended_ms = NowMs();
  KINDRED_CHECK(Save(*job));
  return *job;
}

Result<std::string> JobQueue::ProgressOf(const JobRecord& job) const {
  if (job.session.empty()) return std::string("{}");
  KINDRED_TRY(const auto progress, log_.Progress(job.session));
  std::int64_t trials = 0, failed = 0, with_best = 0;
  for (const TaskProgress& task : progress) {
    trials += task.trials;
    failed += task.failed;
    with_best += task.best_ns > 0;
  }
  return json{{"tasks", progress.size()},
              {"tasks_with_a_schedule", with_best},
              {"trials", trials},
              {"failed", failed}}
      .dump();
}

Result<void> JobQueue::Save(const JobRecord& job) {
  LogBatch batch;
  batch.jobs = {job};
  KINDRED_CHECK(log_.Append(batch));
  return {};
}

bool JobQueue::Interrupted(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, pause, [this] { return stopping_ || cancel_; });
  return stopping_ || cancel_;
}

void JobQueue::Work() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      woken_ = false;
    }
    auto next = log_.NextJob();
    if (next && *next) {
      // What fails here is the log; it may be free again a little later.
      if (RunJob(std::move(**next))) continue;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(5), [this] { return stopping_ || woken_; });
  }
}

std::vector<std::string> JobQueue::CommandOf(const JobRecord& job, const std::string& zoo) const {
  std::vector<std::string> command = {"kindred",    "tune",     zoo,        "--log",
                                      options_.log, "--target", job.target, "--json"};
  if (!options_.cache.empty()) {
    command.push_back("--cache");
    command.push_back(options_.cache);
  }
  const json options = json::parse(job.options, nullptr, false);
  for (const auto& [name, value] : options.items()) {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    command.push_back(name == "time_s" ? "--time" : flag);
    command.push_back(name == "time_s" ? value.dump() + "s" : value.dump());
  }
  return command;
}

Result<void> JobQueue::RunJob(JobRecord job) {
  job.state = "running";
  job.started_ms = NowMs();
  ++job.attempts;
  {
    const std::lock_guard lock(mutex_);
    running_ = job.id;
    cancel_ = false;
  }
  KINDRED_CHECK(Save(job));
  const std::string zoo_text = json{{"models", json::parse(job.inputs)}}.dump(1) + "\n";
  KINDRED_TRY(const std::string zoo, store_.Write("job-" + job.id + ".json", zoo_text));
  const std::string output = zoo + ".out", errors = zoo + ".err";
  std::optional<int> code;
  {
    KINDRED_TRY(auto tuner, TunerProcess::Start(CommandOf(job, zoo), output, errors));
    while (!(code = tuner.Poll())) {
      if (Interrupted(kPoll)) break;
      if (!job.session.empty()) continue;
      job.session = SessionIn(ReadFile(errors));
      if (!job.session.empty()) KINDRED_CHECK(Save(job));
    }
  }
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    running_.clear();
    cancelled = cancel_;
  }
  if (job.session.empty()) job.session = SessionIn(ReadFile(errors));
  if (!code) {
    job.state = cancelled ? "cancelled" : "queued";
    if (cancelled) job.ended_ms = NowMs();
    return Save(job);
  }
  const json report = json::parse(ReadFile(output), nullptr, false);
  if (*code == 0 && report.is_object()) {
    job.state = "finished";
    job.summary = json{{"trials", report.value("trials", json())},
                       {"models", report.value("models", json::array())}}
                      .dump();
  } else if (*code >= 128 && job.attempts < kMostAttempts) {
    job.state = "queued";  // killed from outside: it goes on where it was
    return Save(job);
  } else {
    job.state = "failed";
    job.message = fmt::format("{} (exit code {})", LastLine(ReadFile(errors)), *code);
  }
  job.ended_ms = NowMs();
  return Save(job);
}

}  // namespace kindred
