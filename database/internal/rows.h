// Records to and from rows: for each record the columns in order, and functions that bind and read
// just these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "database/internal/sqlite.h"
#include "database/records.h"
#include "schedules/base/result.h"

namespace kindred {

inline constexpr std::string_view kTargetColumns =
    "id, name, fingerprint, description, cache_state";
inline constexpr std::string_view kWorkloadColumns =
    "key, structure, name, text, json, flop, bytes";
inline constexpr std::string_view kSessionColumns =
    "id, target, inputs, options, seed, version, state, started_ms, updated_ms, summary, imported";
inline constexpr std::string_view kTaskColumns =
    "session, workload, position, name, family, uses, weight, untuned_ns, untuned";
inline constexpr std::string_view kModelColumns = "target, name, kind, metrics, epoch, blob";
inline constexpr std::string_view kJobColumns =
    "id, name, target, inputs, options, priority, state, session, message, summary, attempts, "
    "created_ms, started_ms, ended_ms";
inline constexpr std::string_view kAskedColumns = "workload, target, times, weight, last_ms";
inline constexpr std::string_view kProfileColumns =
    "trial, metrics, cache_state, driver, version, worker, time_ms";
// Of `trial`, without its id.
inline constexpr std::string_view kTrialColumns =
    "session, round, position, workload, target, searcher, sketch, schedule_key, schedule, status, "
    "message, median_ns, "
    "samples, control_ns, predicted_ns, cache_state, validated, build_s, run_s, build_facts, "
    "kernel, binary, compiler, "
    "flags, driver, version, worker, time_ms, conditions";

void BindTarget(Query& query, const TargetRecord& record);
void BindWorkload(Query& query, const WorkloadRecord& record);
void BindSession(Query& query, const SessionRecord& record);
void BindTask(Query& query, const TaskRecord& record);
void BindModel(Query& query, const ModelRecord& record);
void BindJob(Query& query, const JobRecord& record);
void BindAsked(Query& query, const AskedRecord& record);
void BindProfile(Query& query, const ProfileRecord& record);
void BindTrial(Query& query, const TrialRecord& record);

TargetRecord ReadTarget(const Query& query);
WorkloadRecord ReadWorkload(const Query& query);
SessionRecord ReadSession(const Query& query);
TaskRecord ReadTask(const Query& query);
ModelRecord ReadModel(const Query& query);
JobRecord ReadJob(const Query& query);
AskedRecord ReadAsked(const Query& query);
ProfileRecord ReadProfile(const Query& query);
// The row is the id, then kTrialColumns. Error kEnvironment: samples are no list of numbers
// (damaged).
Result<TrialRecord> ReadTrial(const Query& query);

// The record as it is read back.
TrialRecord Normalised(TrialRecord record);

// A JSON list of numbers, each in the shortest form that reads back as the same double. Samples are
// finite.
std::string SamplesToText(const std::vector<double>& samples);
Result<std::vector<double>> SamplesFromText(std::string_view text);

// Whether `median` lies between the middle two of `samples` (no convention is imposed on an even
// number of them); 0 where there are none.
bool IsMedian(double median, std::vector<double> samples);

// zstd, with the size of the content in the frame.
Result<std::string> Compress(std::string_view text);
Result<std::string> Decompress(std::string_view bytes);

// "?, ?, ?" for as many columns as `columns` names.
std::string Placeholders(std::string_view columns);

}  // namespace kindred
