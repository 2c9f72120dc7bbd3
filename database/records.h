// Records: the rows of the tuning log, as plain data.
//
// The log stores records as it is given them, JSON without its white space: JSON fields are text
// made by the tuner, keys are its hashes, and `target`, `workload`, `session` name rows by their
// ids. docs/log_schema.md describes the same rows as tables.
//
// Units: times of kernels in ns, of builds and runs in s, wall-clock instants in ms since 1970
// (UTC). In numbers that may be unknown, 0 says so; in text, "" does. JSON fields hold "{}" where
// there is nothing to say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kindred {

// A device together with how it is used. Two devices never share an id within a log.
struct TargetRecord {
  std::string id;                  // what trials refer to: "cpu@1f0c2d3e", with the device in it
  std::string name;                // what a person types: "cpu"
  std::string fingerprint = "{}";  // JSON: what makes it this device (model, cores, driver)
  std::string description = "{}";  // JSON: vectors, caches, peaks; frozen when first recorded
  std::string cache_state =
      "hot";  // "hot" or "cold": the state of the caches in which kernels are compared
  bool operator==(const TargetRecord&) const = default;
};

struct WorkloadRecord {
  std::string key;        // 32 hexadecimal digits
  std::string structure;  // 32 hexadecimal digits: what families never cross
  std::string name;       // for people
  std::string text;       // canonical text form (.kd)
  std::string json = "{}";
  std::int64_t flop = 0;
  std::int64_t bytes = 0;  // compulsory traffic
  bool operator==(const WorkloadRecord&) const = default;
};

// A workload belongs to at most one family at a time; naming it here moves it.
struct FamilyRecord {
  std::string id;
  std::string structure;
  std::string description = "{}";    // JSON: centre, pinned or inferred, ...
  std::vector<std::string> members;  // workload keys
  bool operator==(const FamilyRecord&) const = default;
};

// What a person says of families: workloads of one cohort are in one family, those of two cohorts
// never are.
struct FamilyPinRecord {
  std::string workload;
  std::int64_t cohort = 0;  // from 1; 0 in a batch: the workload is in none any more
  std::int64_t time_ms = 0;
  bool operator==(const FamilyPinRecord&) const = default;
};

// The source of a kernel with what is needed to call it, stored once however many trials made it.
struct KernelRecord {
  std::string hash;            // KernelHash(code, package)
  std::string code;            // readable source
  std::string package = "{}";  // JSON: steps, arguments, workspace
  bool operator==(const KernelRecord&) const = default;
};
// White space in `package` does not count.
std::string KernelHash(const std::string& code, const std::string& package);

// One tuning run: the same inputs, target, seed and options are the same session, however often it
// is continued.
struct SessionRecord {
  std::string id;  // the tuner's digest of inputs, target, seed and options
  std::string target;
  std::string inputs = "[]";   // JSON: the models and workloads it was given, with their digests
  std::string options = "{}";  // JSON
  std::uint64_t seed = 0;
  std::string version;            // of Kindred, when the session began
  std::string state = "running";  // "running", "interrupted", "finished", "failed"
  std::int64_t started_ms = 0;
  std::int64_t updated_ms = 0;
  std::string summary =
      "{}";               // JSON: what a continued run adds to (seconds by part, totals of models)
  bool imported = false;  // came from another log: may be only a part of what was measured there
  bool operator==(const SessionRecord&) const = default;
};

// A workload as a session sees it.
struct TaskRecord {
  std::string session;
  std::string workload;
  std::int64_t position = 0;  // order within the session, from 0
  std::string name;
  std::string family;          // when it was last tuned; "" none
  std::string uses = "[]";     // JSON: [{"model", "count"}]
  double weight = 1;           // how often the inputs run it, priorities included
  double untuned_ns = 0;       // the plain loop nest; 0 not measured
  std::string untuned = "{}";  // JSON: how that was measured (samples, compiler, flags, status)
  bool operator==(const TaskRecord&) const = default;
};

// One candidate that was built, and run if that went well. (session, round, position) names it for
// good.
struct TrialRecord {
  std::int64_t id = 0;  // given by the log, rising; not part of the trial's identity
  std::string session;
  std::int64_t round = 0;     // of the session, from 0
  std::int64_t position = 0;  // in proposal order within the round, from 0
  std::string workload;
  std::string target;
  std::string searcher;
  std::string sketch;
  std::string schedule_key;     // of the lowered program: equal programs, equal keys
  std::string schedule = "{}";  // JSON: the decisions

  std::string status = "ok";  // or the cause of failure: "build_error", "wrong_answer", ...
  std::string message;
  double median_ns = 0;         // of samples; > 0 where status is "ok"
  std::vector<double> samples;  // ns
  double control_ns = 0;        // control kernel beside the samples
  double predicted_ns = 0;      // by the cost model, before it was built
  std::string cache_state = "hot";
  bool validated = false;  // outputs compared with the reference program's, and right
  double build_s = 0;
  double run_s = 0;
  std::string build_facts = "{}";  // JSON: code size, registers, spills
  std::string kernel;              // hash of a KernelRecord
  std::string binary;              // hash of the built binary

  // Provenance; the device is the target's.
  std::string compiler;  // name and version
  std::string flags;
  std::string driver;
  std::string version;  // of Kindred
  std::string worker;
  std::int64_t time_ms = 0;       // when it ended
  std::string conditions = "{}";  // JSON: clocks, temperature, load
  bool operator==(const TrialRecord&) const = default;
};

// Hardware counters of a trial's kernel, which was run again for them.
struct ProfileRecord {
  std::int64_t trial = 0;           // id
  std::string metrics = "{}";       // JSON: {name: number}
  std::string cache_state = "hot";  // of the runs that were counted
  std::string driver;
  std::string version;  // of Kindred
  std::string worker;
  std::int64_t time_ms = 0;
  bool operator==(const ProfileRecord&) const = default;
};

// The serialised cost models of a target.
struct ModelRecord {
  std::string target;
  std::string name;  // "families", or what one model is called
  std::string kind;  // format and its version
  std::string metrics = "{}";
  std::int64_t epoch = 0;  // the log's epoch up to which it has learned
  std::string blob;
  bool operator==(const ModelRecord&) const = default;
};

// A request to tune, in the queue of a service.
struct JobRecord {
  std::string id;
  std::string name;              // for people
  std::string target;            // what a person types: "cpu"
  std::string inputs = "[]";     // JSON: [{"path", "dims", "weight"}], as in a zoo file
  std::string options = "{}";    // JSON: the budget
  double priority = 0;           // higher ones first, then the older
  std::string state = "queued";  // "running", "finished", "failed", "cancelled"
  std::string session;           // of the tuning run
  std::string message;           // why it failed
  std::string summary = "{}";    // JSON: what came of it
  std::int64_t attempts = 0;     // how often it was started
  std::int64_t created_ms = 0;
  std::int64_t started_ms = 0;  // last
  std::int64_t ended_ms = 0;
  bool operator==(const JobRecord&) const = default;
};

// How often a workload was asked for on a target.
struct AskedRecord {
  std::string workload;
  std::string target;  // what a person types: "cpu"
  std::int64_t times = 0;
  double weight =
      0;  // times, each halved for every kAskedHalfLifeMs that have passed up to last_ms
  std::int64_t last_ms = 0;
  bool operator==(const AskedRecord&) const = default;
};
inline constexpr std::int64_t kAskedHalfLifeMs = std::int64_t{7} * 24 * 3600 * 1000;

// How far one task of a session has come, from its trials.
struct TaskProgress {
  std::string workload;
  std::int64_t trials = 0;
  std::int64_t failed = 0;  // neither "ok" nor "abandoned"
  double best_ns = 0;       // least median of the session's own validated trials; 0 none
};

}  // namespace kindred
