#include "database/internal/append.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "database/internal/rows.h"
#include "database/internal/text.h"

namespace kindred {
namespace {

std::string InsertInto(std::string_view table, std::string_view columns,
                       std::string_view conflict) {
  return fmt::format("INSERT INTO {} ({}) VALUES ({}) {}", table, columns, Placeholders(columns),
                     conflict);
}

// "a = excluded.a, b = excluded.b" for all of `columns`.
std::string Assignments(std::string_view columns) {
  std::string text;
  while (!columns.empty()) {
    const std::size_t comma = columns.find(", ");
    const std::string_view name = columns.substr(0, comma);
    text += fmt::format("{}{} = excluded.{}", text.empty() ? "" : ", ", name, name);
    columns.remove_prefix(comma == std::string_view::npos ? columns.size() : comma + 2);
  }
  return text;
}

// What happens to a row whose `key` is stored already.
std::string OnConflict(std::string_view key, std::string_view columns, bool keep_stored) {
  if (keep_stored) return fmt::format("ON CONFLICT ({}) DO NOTHING", key);
  return fmt::format("ON CONFLICT ({}) DO UPDATE SET {}", key, Assignments(columns));
}

Result<void> WriteTarget(Connection& connection, const TargetRecord& record) {
  {
    KINDRED_TRY(Query stored, connection.Prepare("SELECT fingerprint FROM target WHERE id = ?"));
    stored.Bind(record.id);
    KINDRED_TRY(const bool found, connection.Next(stored));
    if (found) {
      if (stored.Text(0) == CompactJson(record.fingerprint)) return {};
      return BadInput(
          fmt::format("the target {} of the log {} is another device: the log has {}, this is {}; "
                      "use a log of its "
                      "own for this device",
                      record.id, connection.path(), stored.Text(0), record.fingerprint));
    }
  }
  KINDRED_TRY(Query query, connection.Prepare(InsertInto("target", kTargetColumns, "")));
  BindTarget(query, record);
  return connection.Run(query);
}

Result<void> WriteWorkload(Connection& connection, const WorkloadRecord& record) {
  KINDRED_TRY(Query query, connection.Prepare(InsertInto("workload", kWorkloadColumns,
                                                         "ON CONFLICT (key) DO NOTHING")));
  BindWorkload(query, record);
  return connection.Run(query);
}

Result<void> WriteKernel(Connection& connection, const KernelRecord& record) {
  if (record.hash != KernelHash(record.code, record.package))
    return Internal(
        fmt::format("kernel {} does not have the hash of its code and package", record.hash));
  {
    KINDRED_TRY(Query stored, connection.Prepare("SELECT 1 FROM kernel WHERE hash = ?"));
    stored.Bind(record.hash);
    KINDRED_TRY(const bool found, connection.Next(stored));
    if (found) return {};
  }
  KINDRED_TRY(Query query,
              connection.Prepare("INSERT INTO kernel (hash, code, package) VALUES (?, ?, ?)"));
  KINDRED_TRY(const std::string code, Compress(record.code));
  query.Bind(record.hash).BindBlob(code).Bind(CompactJson(record.package));
  return connection.Run(query);
}

// Families do not cross structures.
Result<void> CheckStructure(Connection& connection, const std::string& workload) {
  KINDRED_TRY(Query query,
              connection.Prepare("SELECT workload.structure, family.id, family.structure "
                                 "FROM family_member JOIN workload ON workload.key = workload "
                                 "JOIN family ON family.id = family WHERE workload.key = ?"));
  query.Bind(workload);
  KINDRED_TRY(const bool found, connection.Next(query));
  if (!found || query.Text(0) == query.Text(2)) return {};
  return BadInput(fmt::format("the workload {} is of structure {}, its family {} of structure {}",
                              workload, query.Text(0), query.Text(1), query.Text(2)));
}

Result<void> WriteFamily(Connection& connection, const FamilyRecord& record, bool keep_stored) {
  constexpr std::string_view kColumns = "id, structure, description";
  {
    KINDRED_TRY(Query query, connection.Prepare(InsertInto(
                                 "family", kColumns, OnConflict("id", kColumns, keep_stored))));
    query.Bind(record.id).Bind(record.structure).Bind(CompactJson(record.description));
    KINDRED_CHECK(connection.Run(query));
  }
  if (!keep_stored) {
    KINDRED_TRY(Query query, connection.Prepare("DELETE FROM family_member WHERE family = ?"));
    query.Bind(record.id);
    KINDRED_CHECK(connection.Run(query));
  }
  for (const std::string& workload : record.members) {
    KINDRED_TRY(Query query, connection.Prepare(InsertInto(
                                 "family_member", "workload, family",
                                 OnConflict("workload", "workload, family", keep_stored))));
    query.Bind(workload).Bind(record.id);
    KINDRED_CHECK(connection.Run(query));
    KINDRED_CHECK(CheckStructure(connection, workload));
  }
  return {};
}

Result<void> WritePin(Connection& connection, const FamilyPinRecord& record) {
  constexpr std::string_view kColumns = "workload, cohort, time_ms";
  if (record.cohort == 0) {
    KINDRED_TRY(Query query, connection.Prepare("DELETE FROM family_pin WHERE workload = ?"));
    query.Bind(record.workload);
    return connection.Run(query);
  }
  KINDRED_TRY(Query query, connection.Prepare(InsertInto("family_pin", kColumns,
                                                         OnConflict("workload", kColumns, false))));
  query.Bind(record.workload).Bind(record.cohort).Bind(record.time_ms);
  return connection.Run(query);
}

Result<void> WriteSession(Connection& connection, const SessionRecord& record, bool keep_stored) {
  KINDRED_TRY(Query query,
              connection.Prepare(InsertInto("session", kSessionColumns,
                                            OnConflict("id", kSessionColumns, keep_stored))));
  BindSession(query, record);
  return connection.Run(query);
}

Result<void> WriteTask(Connection& connection, const TaskRecord& record, bool keep_stored) {
  KINDRED_TRY(Query query, connection.Prepare(InsertInto(
                               "task", kTaskColumns,
                               OnConflict("session, workload", kTaskColumns, keep_stored))));
  BindTask(query, record);
  return connection.Run(query);
}

Result<void> WriteModel(Connection& connection, const ModelRecord& record) {
  KINDRED_TRY(Query query,
              connection.Prepare(InsertInto("model", kModelColumns,
                                            OnConflict("target, name", kModelColumns, false))));
  BindModel(query, record);
  return connection.Run(query);
}

Result<void> WriteJob(Connection& connection, const JobRecord& record) {
  KINDRED_TRY(Query query, connection.Prepare(InsertInto("job", kJobColumns,
                                                         OnConflict("id", kJobColumns, false))));
  BindJob(query, record);
  return connection.Run(query);
}

Result<void> WriteProfile(Connection& connection, const ProfileRecord& record) {
  KINDRED_TRY(Query query,
              connection.Prepare(InsertInto("profile", kProfileColumns,
                                            OnConflict("trial", kProfileColumns, false))));
  BindProfile(query, record);
  return connection.Run(query);
}

double Decayed(double weight, std::int64_t from_ms, std::int64_t to_ms) {
  return weight * std::exp2(static_cast<double>(from_ms - to_ms) / kAskedHalfLifeMs);
}

Result<void> WriteAsked(Connection& connection, AskedRecord record) {
  {
    KINDRED_TRY(Query stored,
                connection.Prepare(fmt::format(
                    "SELECT {} FROM asked WHERE workload = ? AND target = ?", kAskedColumns)));
    stored.Bind(record.workload).Bind(record.target);
    KINDRED_TRY(const bool found, connection.Next(stored));
    if (found) {
      const AskedRecord before = ReadAsked(stored);
      const std::int64_t now = std::max(before.last_ms, record.last_ms);
      record.weight =
          Decayed(before.weight, before.last_ms, now) + Decayed(record.weight, record.last_ms, now);
      record.times += before.times;
      record.last_ms = now;
    }
  }
  KINDRED_TRY(Query query,
              connection.Prepare(InsertInto("asked", kAskedColumns,
                                            OnConflict("workload, target", kAskedColumns, false))));
  BindAsked(query, record);
  return connection.Run(query);
}

// True when the trial is stored already; an error when its place is taken by another one.
Result<bool> IsStored(Connection& connection, const TrialRecord& record) {
  KINDRED_TRY(Query query,
              connection.Prepare(fmt::format(
                  "SELECT id, {} FROM trial WHERE session = ? AND round = ? AND position = ?",
                  kTrialColumns)));
  query.Bind(record.session).Bind(record.round).Bind(record.position);
  KINDRED_TRY(const bool found, connection.Next(query));
  if (!found) return false;
  KINDRED_TRY(TrialRecord stored, ReadTrial(query));
  stored.id = record.id;
  if (stored == Normalised(record)) return true;
  return BadInput(fmt::format(
      "the log {} has another trial at session {}, round {}, position {}: another process is "
      "continuing the same session, or the two logs come from different machines",
      connection.path(), record.session, record.round, record.position));
}

Result<void> CheckTarget(Connection& connection, const TrialRecord& record) {
  KINDRED_TRY(Query query, connection.Prepare("SELECT target FROM session WHERE id = ?"));
  query.Bind(record.session);
  KINDRED_TRY(const bool found, connection.Next(query));
  if (!found || query.Text(0) == record.target) return {};
  return BadInput(fmt::format("a trial of session {} is of target {}, but the session of target {}",
                              record.session, record.target, query.Text(0)));
}

Result<bool> WriteTrial(Connection& connection, const TrialRecord& record) {
  KINDRED_CHECK(CheckTrial(record));
  KINDRED_CHECK(CheckTarget(connection, record));
  KINDRED_TRY(const bool stored, IsStored(connection, record));
  if (stored) return false;
  KINDRED_TRY(Query query, connection.Prepare(InsertInto("trial", kTrialColumns, "")));
  BindTrial(query, record);
  KINDRED_CHECK(connection.Run(query));
  return true;
}

Result<AppendSummary> WriteAll(Connection& connection, const LogBatch& batch) {
  for (const auto& record : batch.targets) KINDRED_CHECK(WriteTarget(connection, record));
  for (const auto& record : batch.workloads) KINDRED_CHECK(WriteWorkload(connection, record));
  for (const auto& record : batch.kernels) KINDRED_CHECK(WriteKernel(connection, record));
  for (const auto& record : batch.families)
    KINDRED_CHECK(WriteFamily(connection, record, batch.keep_stored));
  for (const auto& record : batch.pins) KINDRED_CHECK(WritePin(connection, record));
  for (const auto& record : batch.sessions)
    KINDRED_CHECK(WriteSession(connection, record, batch.keep_stored));
  for (const auto& record : batch.tasks)
    KINDRED_CHECK(WriteTask(connection, record, batch.keep_stored));
  for (const auto& record : batch.models) KINDRED_CHECK(WriteModel(connection, record));
  for (const auto& record : batch.jobs) KINDRED_CHECK(WriteJob(connection, record));
  for (const auto& record : batch.asked) KINDRED_CHECK(WriteAsked(connection, record));
  AppendSummary summary;
  for (const auto& record : batch.trials) {
    KINDRED_TRY(const bool added, WriteTrial(connection, record));
    ++(added ? summary.added : summary.skipped);
  }
  for (const auto& record : batch.profiles) KINDRED_CHECK(WriteProfile(connection, record));
  KINDRED_TRY(summary.epoch,
              connection.IntegerOf("SELECT seq FROM sqlite_sequence WHERE name = 'trial'"));
  return summary;
}

}  // namespace

Result<void> CheckTrial(const TrialRecord& record) {
  const auto refuse = [&](std::string reason) {
    return BadInput(fmt::format("trial {} of round {}: {}", record.position, record.round, reason));
  };
  if (record.round < 0 || record.position < 0) return refuse("rounds and positions count from 0");
  if (record.status.empty()) return refuse("it has no status");
  if (record.cache_state != "hot" && record.cache_state != "cold")
    return refuse(fmt::format("its cache_state is '{}', neither hot nor cold", record.cache_state));
  for (const double value :
       {record.median_ns, record.control_ns, record.predicted_ns, record.build_s, record.run_s})
    if (!std::isfinite(value) || value < 0)
      return refuse(fmt::format("a time is no finite number ({})", value));
  for (const double sample : record.samples)
    if (!std::isfinite(sample) || sample <= 0)
      return refuse(fmt::format("a sample is no positive number ({})", sample));
  if (record.status == "ok" && (record.median_ns == 0 || record.samples.empty()))
    return refuse("its status is ok, but it has no median_ns or no samples");
  return {};
}

Result<AppendSummary> AppendBatch(Connection& connection, const LogBatch& batch) {
  KINDRED_TRY(auto transaction, Transaction::Begin(connection));
  KINDRED_TRY(const AppendSummary summary, WriteAll(connection, batch));
  KINDRED_CHECK(transaction->Commit());
  return summary;
}

}  // namespace kindred
