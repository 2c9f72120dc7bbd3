#include "database/sqlite_log.h"

#include <utility>

#include <fmt/format.h>

#include "database/internal/append.h"
#include "database/internal/open.h"
#include "database/internal/rows.h"
#include "database/internal/sqlite.h"
#include "database/internal/verify.h"
#include "schedules/base/mutex.h"

namespace kindred {
namespace {

// The same rule as the view best_schedule, with room for further conditions: {0} on trials that
// count, {1} on those that condemn a schedule. A test holds the two against each other.
constexpr std::string_view kBest = R"sql(
WITH usable AS (
  SELECT trial.*, row_number() OVER (PARTITION BY trial.workload, trial.target, trial.schedule_key
                                     ORDER BY trial.id DESC) AS recency
  FROM trial JOIN target ON target.id = trial.target AND target.cache_state = trial.cache_state
  WHERE trial.status = 'ok' AND trial.validated = 1 AND {0}
    AND NOT EXISTS (SELECT 1 FROM trial AS bad
                    WHERE bad.workload = trial.workload AND bad.target = trial.target
                      AND bad.schedule_key = trial.schedule_key
                      AND bad.status IN ('wrong_answer', 'out_of_bounds') AND {1})
), ranked AS (
  SELECT usable.*, row_number() OVER (PARTITION BY workload, target ORDER BY median_ns, id) AS place
  FROM usable WHERE recency = 1
)
SELECT id, {2} FROM ranked WHERE place = 1 ORDER BY workload)sql";

class SqliteLog final : public TuningLog {
 public:
  explicit SqliteLog(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

  Result<AppendSummary> Append(const LogBatch& batch) override {
    MutexLock lock(mutex_);
    return AppendBatch(*connection_, batch);
  }

  Result<std::optional<TargetRecord>> FindTarget(const std::string& id) const override {
    return FindOne("target", kTargetColumns, "id = ?", ReadTarget, id);
  }

  Result<std::optional<WorkloadRecord>> FindWorkload(const std::string& key) const override {
    return FindOne("workload", kWorkloadColumns, "key = ?", ReadWorkload, key);
  }

  Result<std::optional<SessionRecord>> FindSession(const std::string& id) const override {
    return FindOne("session", kSessionColumns, "id = ?", ReadSession, id);
  }

  Result<std::optional<ModelRecord>> FindModel(const std::string& target,
                                               const std::string& name) const override {
    return FindOne("model", kModelColumns, "target = ? AND name = ?", ReadModel, target, name);
  }

  Result<std::optional<KernelRecord>> FindKernel(const std::string& hash) const override {
    const auto read = [](const Query& query) {
      return std::pair<KernelRecord, std::string>{{query.Text(0), "", query.Text(2)},
                                                  query.Text(1)};
    };
    KINDRED_TRY(auto row, FindOne("kernel", "hash, code, package", "hash = ?", read, hash));
    if (!row) return std::optional<KernelRecord>();
    auto code = Decompress(row->second);
    if (!code)
      return Environment(fmt::format("kernel {} is damaged: {}; see `kindred log verify`", hash,
                                     code.error().message));
    row->first.code = std::move(*code);
    return std::optional<KernelRecord>(std::move(row->first));
  }

  Result<std::optional<FamilyRecord>> FamilyOf(const std::string& workload) const override {
    KINDRED_TRY(
        auto families,
        FamiliesWhere("id = (SELECT family FROM family_member WHERE workload = ?)", workload));
    if (families.empty()) return std::optional<FamilyRecord>();
    return std::optional<FamilyRecord>(std::move(families.front()));
  }

  Result<std::vector<FamilyRecord>> Families() const override {
    return FamiliesWhere("?1 = ''", "");
  }

  Result<std::vector<FamilyPinRecord>> FamilyPins() const override {
    const auto read = [](const Query& query) {
      return FamilyPinRecord{query.Text(0), query.Integer(1), query.Integer(2)};
    };
    return FindAll("SELECT workload, cohort, time_ms FROM family_pin ORDER BY workload", read);
  }

  Result<std::vector<TargetRecord>> Targets() const override {
    return FindAll(fmt::format("SELECT {} FROM target ORDER BY id", kTargetColumns), ReadTarget);
  }

  Result<std::vector<WorkloadRecord>> Workloads() const override {
    return FindAll(fmt::format("SELECT {} FROM workload ORDER BY key", kWorkloadColumns),
                   ReadWorkload);
  }

  Result<std::vector<SessionRecord>> Sessions() const override {
    return FindAll(fmt::format("SELECT {} FROM session ORDER BY started_ms, id", kSessionColumns),
                   ReadSession);
  }

  Result<std::vector<TaskRecord>> Tasks(const std::string& session) const override {
    return FindAll(fmt::format("SELECT {} FROM task WHERE session = ? ORDER BY position, workload",
                               kTaskColumns),
                   ReadTask, session);
  }

  Result<std::vector<TaskProgress>> Progress(const std::string& session) const override {
    const auto read = [](const Query& query) {
      return TaskProgress{query.Text(0), query.Integer(1), query.Integer(2), query.Real(3)};
    };
    return FindAll(
        "SELECT workload, trials, failed, best_ns FROM session_progress WHERE session = ? ORDER BY "
        "position, "
        "workload",
        read, session);
  }

  Result<std::optional<ProfileRecord>> FindProfile(std::int64_t trial) const override {
    return FindOne("profile", kProfileColumns, "trial = ?", ReadProfile, trial);
  }

  Result<std::optional<JobRecord>> FindJob(const std::string& id) const override {
    return FindOne("job", kJobColumns, "id = ?", ReadJob, id);
  }

  Result<std::vector<JobRecord>> Jobs() const override {
    return FindAll(fmt::format("SELECT {} FROM job ORDER BY created_ms, id", kJobColumns), ReadJob);
  }

  Result<std::optional<JobRecord>> NextJob() const override {
    return FindOne("job", kJobColumns,
                   "state = 'queued' ORDER BY priority DESC, created_ms, id LIMIT 1", ReadJob);
  }

  Result<std::vector<AskedRecord>> Asked() const override {
    return FindAll(fmt::format("SELECT {} FROM asked ORDER BY workload, target", kAskedColumns),
                   ReadAsked);
  }

  Result<std::vector<std::pair<std::string, std::string>>> MeasuredSince(
      std::int64_t after) const override {
    MutexLock lock(mutex_);
    KINDRED_TRY(Query query,
                connection_->Prepare("SELECT DISTINCT workload, target FROM trial WHERE id > ?"));
    query.Bind(after);
    std::vector<std::pair<std::string, std::string>> measured;
    while (true) {
      KINDRED_TRY(const bool row, connection_->Next(query));
      if (!row) return measured;
      measured.emplace_back(query.Text(0), query.Text(1));
    }
  }

  Result<std::vector<TrialRecord>> Trials(const TrialFilter& filter) const override {
    std::string sql = fmt::format("SELECT id, {} FROM trial WHERE id > ?", kTrialColumns);
    const std::pair<const char*, const std::optional<std::string>*> conditions[] = {
        {" AND session = ?", &filter.session},
        {" AND workload = ?", &filter.workload},
        {" AND target = ?", &filter.target},
        {" AND status = ?", &filter.status},
        {" AND workload IN (SELECT key FROM workload WHERE structure = ?)", &filter.structure}};
    for (const auto& [condition, value] : conditions)
      if (value->has_value()) sql += condition;
    sql += " ORDER BY id LIMIT ?";

    MutexLock lock(mutex_);
    KINDRED_TRY(Query query, connection_->Prepare(sql));
    query.Bind(filter.after);
    for (const auto& [condition, value] : conditions)
      if (value->has_value()) query.Bind(std::string_view(**value));
    query.Bind(filter.limit);
    return ReadTrials(query);
  }

  Result<std::optional<TrialRecord>> BestSchedule(
      const std::string& workload, const std::string& target,
      std::optional<std::int64_t> epoch) const override {
    MutexLock lock(mutex_);
    KINDRED_TRY(Query query,
                connection_->Prepare(fmt::format(
                    kBest, "trial.workload = ?1 AND trial.target = ?2 AND trial.id <= ?3",
                    "bad.id <= ?3", kTrialColumns)));
    query.Bind(workload).Bind(target).Bind(epoch.value_or(INT64_MAX));
    KINDRED_TRY(auto trials, ReadTrials(query));
    if (trials.empty()) return std::optional<TrialRecord>();
    return std::optional<TrialRecord>(std::move(trials.front()));
  }

  Result<std::vector<TrialRecord>> BestSchedules(const std::string& target) const override {
    MutexLock lock(mutex_);
    KINDRED_TRY(Query query,
                connection_->Prepare(fmt::format(kBest, "trial.target = ?1", "1", kTrialColumns)));
    query.Bind(target);
    return ReadTrials(query);
  }

  Result<std::int64_t> Epoch() const override {
    MutexLock lock(mutex_);
    return connection_->IntegerOf("SELECT seq FROM sqlite_sequence WHERE name = 'trial'");
  }

  Result<LogCounts> Counts() const override {
    const auto read = [](const Query& query) {
      return LogCounts{query.Integer(0), query.Integer(1), query.Integer(2), query.Integer(3),
                       query.Integer(4), query.Integer(5), query.Integer(6)};
    };
    KINDRED_TRY(const auto rows,
                FindAll("SELECT (SELECT count(*) FROM target), (SELECT count(*) FROM workload), "
                        "(SELECT count(*) FROM family), (SELECT count(*) FROM kernel), (SELECT "
                        "count(*) FROM session), "
                        "(SELECT count(*) FROM trial), "
                        "(SELECT count(*) FROM trial WHERE status NOT IN ('ok', 'abandoned'))",
                        read));
    return rows.front();
  }

  Result<std::vector<std::string>> Verify() const override {
    MutexLock lock(mutex_);
    return VerifyLog(*connection_);
  }

 private:
  // All rows of `sql`, whose placeholders are `values`.
  template <typename Read, typename... Values>
  auto FindAll(std::string_view sql, Read read, const Values&... values) const
      -> Result<std::vector<decltype(read(std::declval<const Query&>()))>> {
    MutexLock lock(mutex_);
    KINDRED_TRY(Query query, connection_->Prepare(sql));
    (query.Bind(values), ...);
    std::vector<decltype(read(query))> rows;
    while (true) {
      KINDRED_TRY(const bool row, connection_->Next(query));
      if (!row) return rows;
      rows.push_back(read(query));
    }
  }

  template <typename Read, typename... Values>
  auto FindOne(std::string_view table, std::string_view columns, std::string_view condition,
               Read read, const Values&... values) const
      -> Result<std::optional<decltype(read(std::declval<const Query&>()))>> {
    using Record = decltype(read(std::declval<const Query&>()));
    KINDRED_TRY(auto rows,
                FindAll(fmt::format("SELECT {} FROM {} WHERE {}", columns, table, condition), read,
                        values...));
    if (rows.empty()) return std::optional<Record>();
    return std::optional<Record>(std::move(rows.front()));
  }

  Result<std::vector<FamilyRecord>> FamiliesWhere(std::string_view condition,
                                                  const std::string& value) const {
    const auto read = [](const Query& query) {
      return std::pair<FamilyRecord, std::string>{{query.Text(0), query.Text(1), query.Text(2), {}},
                                                  query.Text(3)};
    };
    // One row per member; a family without members has one with an empty key.
    KINDRED_TRY(auto rows,
                FindAll(fmt::format("SELECT id, structure, description, workload FROM family "
                                    "LEFT JOIN family_member ON family_member.family = family.id "
                                    "WHERE {} ORDER BY id, workload",
                                    condition),
                        read, value));
    std::vector<FamilyRecord> families;
    for (auto& [family, member] : rows) {
      if (families.empty() || families.back().id != family.id)
        families.push_back(std::move(family));
      if (!member.empty()) families.back().members.push_back(std::move(member));
    }
    return families;
  }

  Result<std::vector<TrialRecord>> ReadTrials(Query& query) const KINDRED_REQUIRES(mutex_) {
    std::vector<TrialRecord> trials;
    while (true) {
      KINDRED_TRY(const bool row, connection_->Next(query));
      if (!row) return trials;
      KINDRED_TRY(TrialRecord trial, ReadTrial(query));
      trials.push_back(std::move(trial));
    }
  }

  mutable Mutex mutex_;
  const std::unique_ptr<Connection> connection_;  // used under mutex_
};

}  // namespace

Result<std::unique_ptr<TuningLog>> OpenSqliteLog(const std::string& path, OpenMode mode,
                                                 SqliteLogOptions options) {
  KINDRED_TRY(auto connection, OpenConnection(path, mode, options));
  return std::unique_ptr<TuningLog>(std::make_unique<SqliteLog>(std::move(connection)));
}

}  // namespace kindred
