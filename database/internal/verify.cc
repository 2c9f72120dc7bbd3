#include "database/internal/verify.h"

#include <map>

#include <fmt/format.h>

#include "database/internal/open.h"
#include "database/internal/rows.h"

namespace kindred {
namespace {

using Problems = std::vector<std::string>;

// Each row that `sql` gives is a problem; its first column is the sentence.
Result<void> CheckNoRows(Connection& connection, std::string_view sql, Problems& problems) {
  KINDRED_TRY(Query query, connection.Prepare(sql));
  for (int count = 0; count < kMaximumProblems; ++count) {
    KINDRED_TRY(const bool row, connection.Next(query));
    if (!row) break;
    problems.push_back(query.Text(0));
  }
  return {};
}

// SQLite's check of the file, with the constraints of every table. True when it found nothing.
Result<bool> CheckFile(Connection& connection, Problems& problems) {
  Problems found;
  KINDRED_CHECK(
      CheckNoRows(connection, fmt::format("PRAGMA integrity_check({})", kMaximumProblems), found));
  if (found == Problems{"ok"}) return true;
  for (const std::string& line : found) problems.push_back("the file is damaged: " + line);
  return false;
}

Result<void> CheckReferences(Connection& connection, Problems& problems) {
  KINDRED_TRY(Query query, connection.Prepare("PRAGMA foreign_key_check"));
  for (int count = 0; count < kMaximumProblems; ++count) {
    KINDRED_TRY(const bool row, connection.Next(query));
    if (!row) break;
    problems.push_back(fmt::format("row {} of {} refers to a {} that does not exist",
                                   query.Integer(1), query.Text(0), query.Text(2)));
  }
  return {};
}

Result<std::map<std::string, std::string>> SchemaOf(Connection& connection) {
  KINDRED_TRY(Query query, connection.Prepare(
                               "SELECT type || ' ' || name, sql FROM (SELECT * FROM sqlite_schema "
                               "UNION ALL SELECT * FROM sqlite_temp_schema) "
                               "WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"));
  std::map<std::string, std::string> schema;
  while (true) {
    KINDRED_TRY(const bool row, connection.Next(query));
    if (!row) return schema;
    schema[query.Text(0)] = query.Text(1);
  }
}

// The schema must be what the migrations make. Tables and views of others' are none of our
// business.
Result<void> CheckSchema(Connection& connection, Problems& problems) {
  KINDRED_TRY(const auto fresh, OpenConnection(":memory:", OpenMode::kReadWrite, {}));
  KINDRED_TRY(const auto expected, SchemaOf(*fresh));
  KINDRED_TRY(const auto stored, SchemaOf(connection));
  for (const auto& [name, sql] : expected) {
    const auto found = stored.find(name);
    if (found == stored.end())
      problems.push_back(fmt::format("the {} is missing", name));
    else if (found->second != sql)
      problems.push_back(fmt::format("the {} is not as Kindred made it", name));
  }
  return {};
}

// Within a session rounds count up from 0, and so do positions within a round. A session that was
// imported may be a part of what was measured elsewhere.
constexpr std::string_view kGapsInRounds = R"sql(
SELECT 'session ' || session || ' jumps from round ' || before || ' to round ' || round FROM (
  SELECT session, round, lag(round, 1, -1) OVER (PARTITION BY session ORDER BY round) AS before
  FROM (SELECT DISTINCT session, round FROM trial
        WHERE session IN (SELECT id FROM session WHERE imported = 0)))
WHERE round <> before + 1)sql";
constexpr std::string_view kGapsInPositions = R"sql(
SELECT 'session ' || session || ', round ' || round || ' jumps from position ' || before
       || ' to position ' || position
FROM (
  SELECT session, round, position,
         lag(position, 1, -1) OVER (PARTITION BY session, round ORDER BY position) AS before
  FROM trial WHERE session IN (SELECT id FROM session WHERE imported = 0))
WHERE position <> before + 1)sql";
constexpr std::string_view kTargetsDiffer = R"sql(
SELECT 'trial ' || trial.id || ' is of target ' || trial.target || ', its session ' || session.id
       || ' of target ' || session.target
FROM trial JOIN session ON session.id = trial.session WHERE session.target <> trial.target)sql";
constexpr std::string_view kTrialsWithoutTask = R"sql(
SELECT 'trial ' || id || ' is of workload ' || workload || ', which is no task of its session '
       || session
FROM trial WHERE NOT EXISTS (SELECT 1 FROM task
                             WHERE task.session = trial.session
                               AND task.workload = trial.workload))sql";
constexpr std::string_view kFamiliesCrossStructures = R"sql(
SELECT 'workload ' || workload.key || ' is of structure ' || workload.structure || ', its family '
       || family.id || ' of structure ' || family.structure
FROM family_member JOIN workload ON workload.key = family_member.workload
                   JOIN family ON family.id = family_member.family
WHERE workload.structure <> family.structure)sql";
constexpr std::string_view kEpochBehind = R"sql(
SELECT 'the epoch ' || coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'trial'), 0)
       || ' is behind the last trial ' || max(id)
FROM trial
HAVING max(id) > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'trial'), 0))sql";

// SQLite forgets the CHECK constraints of a database that it opened for reading, so they are looked
// at here.
constexpr std::string_view kTrialsBreakRules = R"sql(
SELECT 'trial ' || id || ' breaks a rule of its table' FROM trial
WHERE round < 0 OR position < 0 OR status = '' OR validated NOT IN (0, 1)
   OR cache_state NOT IN ('hot', 'cold')
   OR coalesce(median_ns <= 0, 0) OR (status = 'ok' AND (median_ns IS NULL OR samples = '[]'))
   OR NOT (json_valid(schedule) AND json_valid(samples) AND json_valid(build_facts)
           AND json_valid(conditions)))sql";
constexpr std::string_view kOthersBreakRules = R"sql(
SELECT 'target ' || id || ' breaks a rule of its table' FROM target
WHERE id = '' OR cache_state NOT IN ('hot', 'cold')
   OR NOT (json_valid(fingerprint) AND json_valid(description))
UNION ALL SELECT 'workload ' || key || ' breaks a rule of its table' FROM workload
WHERE key = '' OR NOT json_valid(json)
UNION ALL SELECT 'family ' || id || ' breaks a rule of its table' FROM family
WHERE NOT json_valid(description)
UNION ALL SELECT 'kernel ' || hash || ' breaks a rule of its table' FROM kernel
WHERE NOT json_valid(package)
UNION ALL SELECT 'session ' || id || ' breaks a rule of its table' FROM session
WHERE id = '' OR state NOT IN ('running', 'interrupted', 'finished', 'failed')
   OR imported NOT IN (0, 1)
   OR NOT (json_valid(inputs) AND json_valid(options) AND json_valid(summary))
UNION ALL SELECT 'task ' || workload || ' of session ' || session || ' breaks a rule of its table'
FROM task WHERE coalesce(untuned_ns <= 0, 0) OR NOT (json_valid(uses) AND json_valid(untuned))
UNION ALL SELECT 'the profile of trial ' || trial || ' breaks a rule of its table' FROM profile
WHERE cache_state NOT IN ('hot', 'cold') OR NOT json_valid(metrics)
UNION ALL SELECT 'model ' || name || ' of ' || target || ' breaks a rule of its table' FROM model
WHERE NOT json_valid(metrics))sql";

Result<void> CheckSamples(Connection& connection, Problems& problems) {
  KINDRED_TRY(Query query, connection.Prepare("SELECT id, median_ns, samples FROM trial"));
  for (int count = 0; count < kMaximumProblems;) {
    KINDRED_TRY(const bool row, connection.Next(query));
    if (!row) break;
    const auto samples = SamplesFromText(query.Text(2));
    if (!samples)
      problems.push_back(fmt::format("trial {}: {}", query.Integer(0), samples.error().message));
    else if (!IsMedian(query.Real(1), *samples))
      problems.push_back(fmt::format("trial {}: median_ns {} is not the median of its {} samples",
                                     query.Integer(0), query.Real(1), samples->size()));
    else
      continue;
    ++count;
  }
  return {};
}

Result<void> CheckKernels(Connection& connection, Problems& problems) {
  KINDRED_TRY(Query query, connection.Prepare("SELECT hash, code, package FROM kernel"));
  for (int count = 0; count < kMaximumProblems;) {
    KINDRED_TRY(const bool row, connection.Next(query));
    if (!row) break;
    const auto code = Decompress(query.Text(1));
    if (!code)
      problems.push_back(fmt::format("kernel {}: {}", query.Text(0), code.error().message));
    else if (KernelHash(*code, query.Text(2)) != query.Text(0))
      problems.push_back(
          fmt::format("kernel {} does not have the hash of its code and package", query.Text(0)));
    else
      continue;
    ++count;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> VerifyLog(Connection& connection) {
  Problems problems;
  KINDRED_TRY(const bool sound, CheckFile(connection, problems));
  // In a damaged file the rest would repeat the damage, or fail.
  if (!sound) return problems;
  KINDRED_CHECK(CheckSchema(connection, problems));
  KINDRED_CHECK(CheckReferences(connection, problems));
  for (const std::string_view sql :
       {kTrialsBreakRules, kOthersBreakRules, kGapsInRounds, kGapsInPositions, kTargetsDiffer,
        kTrialsWithoutTask, kFamiliesCrossStructures, kEpochBehind})
    KINDRED_CHECK(CheckNoRows(connection, sql, problems));
  KINDRED_CHECK(CheckSamples(connection, problems));
  KINDRED_CHECK(CheckKernels(connection, problems));
  return problems;
}

}  // namespace kindred
