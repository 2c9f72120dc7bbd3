// Each record has one function that names its fields in order, used by the writer and by the
// reader, so that the two cannot differ. Reading is strict: a field that is missing, unknown or of
// another type is an error.
#include "database/exchange/json_lines.h"

#include <algorithm>
#include <istream>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/internal/append.h"
#include "database/internal/rows.h"
#include "database/internal/text.h"

namespace kindred {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;
constexpr std::int64_t kPage = 500;  // trials read at a time

// A field of JSON text, written as JSON.
struct JsonText {
  std::string& text;
};

template <typename Visitor>
void Fields(Visitor& v, TargetRecord& r) {
  v("id", r.id), v("name", r.name), v("fingerprint", JsonText{r.fingerprint});
  v("description", JsonText{r.description}), v("cache_state", r.cache_state);
}

template <typename Visitor>
void Fields(Visitor& v, WorkloadRecord& r) {
  v("key", r.key), v("structure", r.structure), v("name", r.name), v("text", r.text);
  v("json", JsonText{r.json}), v("flop", r.flop), v("bytes", r.bytes);
}

template <typename Visitor>
void Fields(Visitor& v, FamilyRecord& r) {
  v("id", r.id), v("structure", r.structure), v("description", JsonText{r.description});
}

template <typename Visitor>
void Fields(Visitor& v, KernelRecord& r) {
  v("hash", r.hash), v("code", r.code), v("package", JsonText{r.package});
}

template <typename Visitor>
void Fields(Visitor& v, SessionRecord& r) {
  v("id", r.id), v("target", r.target), v("inputs", JsonText{r.inputs}),
      v("options", JsonText{r.options});
  v("seed", r.seed), v("version", r.version), v("state", r.state), v("started_ms", r.started_ms);
  v("updated_ms", r.updated_ms), v("summary", JsonText{r.summary});
}

template <typename Visitor>
void Fields(Visitor& v, TaskRecord& r) {
  v("session", r.session), v("workload", r.workload), v("position", r.position), v("name", r.name);
  v("family", r.family), v("uses", JsonText{r.uses}), v("weight", r.weight),
      v("untuned_ns", r.untuned_ns);
  v("untuned", JsonText{r.untuned});
}

template <typename Visitor>
void Fields(Visitor& v, TrialRecord& r) {
  v("session", r.session), v("round", r.round), v("position", r.position),
      v("workload", r.workload);
  v("target", r.target), v("searcher", r.searcher), v("sketch", r.sketch),
      v("schedule_key", r.schedule_key);
  v("schedule", JsonText{r.schedule}), v("status", r.status), v("message", r.message),
      v("median_ns", r.median_ns);
  v("samples", r.samples), v("control_ns", r.control_ns), v("predicted_ns", r.predicted_ns);
  v("cache_state", r.cache_state), v("validated", r.validated), v("build_s", r.build_s),
      v("run_s", r.run_s);
  v("build_facts", JsonText{r.build_facts}), v("kernel", r.kernel), v("binary", r.binary),
      v("compiler", r.compiler);
  v("flags", r.flags), v("driver", r.driver), v("version", r.version), v("worker", r.worker),
      v("time_ms", r.time_ms);
  v("conditions", JsonText{r.conditions});
}

struct Writer {
  Json object = Json::object();
  template <typename T>
  void operator()(const char* name, const T& value) {
    object[name] = value;
  }
  // The tables hold valid JSON; a damaged one is written as text, which no import takes.
  void operator()(const char* name, const JsonText& value) {
    Json parsed = Json::parse(value.text, nullptr, /*allow_exceptions=*/false);
    object[name] = parsed.is_discarded() ? Json(value.text) : std::move(parsed);
  }
};

template <typename Record>
std::string Write(Record record) {
  Writer writer;
  Fields(writer, record);
  return writer.object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  void operator()(const char* name, std::string& value) {
    if (const Json* field = Find(name, "text", &Json::is_string)) value = field->get<std::string>();
  }
  void operator()(const char* name, std::int64_t& value) {
    if (const Json* field = Find(name, "a whole number", &Json::is_number_integer))
      value = field->get<std::int64_t>();
  }
  void operator()(const char* name, std::uint64_t& value) {
    if (const Json* field = Find(name, "a whole number from 0", &Json::is_number_unsigned))
      value = field->get<std::uint64_t>();
  }
  void operator()(const char* name, double& value) {
    if (const Json* field = Find(name, "a number", &Json::is_number)) value = field->get<double>();
  }
  void operator()(const char* name, bool& value) {
    if (const Json* field = Find(name, "true or false", &Json::is_boolean))
      value = field->get<bool>();
  }
  void operator()(const char* name, std::vector<double>& values) {
    const Json* field = Find(name, "a list of numbers", &Json::is_array);
    if (field == nullptr) return;
    for (const Json& value : *field) {
      if (!value.is_number()) return Fail(name, "must be a list of numbers");
      values.push_back(value.get<double>());
    }
  }
  void operator()(const char* name, JsonText value) {
    if (const Json* field = Find(name, "JSON", &Json::is_structured)) value.text = field->dump();
  }

  // The first error, or a field that was not asked for.
  Result<void> Finish() const {
    if (!error_.empty()) return BadInput(error_);
    for (const auto& [name, value] : object_.items())
      if (known_.count(name) == 0) return BadInput(fmt::format("unknown field '{}'", name));
    return {};
  }

 private:
  const Json* Find(const char* name, const char* type, bool (Json::*is_type)() const noexcept) {
    known_.insert(name);
    const auto found = object_.find(name);
    if (found == object_.end()) {
      Fail(name, "is missing");
      return nullptr;
    }
    if (!((*found).*is_type)()) {
      Fail(name, fmt::format("must be {}", type));
      return nullptr;
    }
    return &*found;
  }
  void Fail(const char* name, const std::string& what) {
    if (error_.empty()) error_ = fmt::format("field '{}' {}", name, what);
  }

  const Json& object_;
  std::set<std::string> known_;
  std::string error_;
};

template <typename Record>
Result<Record> Read(const Json& line, const char* part) {
  const auto found = line.find(part);
  if (found == line.end() || !found->is_object())
    return BadInput(fmt::format("it has no object '{}'", part));
  Record record;
  Reader reader(*found);
  Fields(reader, record);
  const Result<void> read = reader.Finish();
  if (!read) return BadInput(fmt::format("{}: {}", part, read.error().message));
  return record;
}

Error Dangling(const TrialRecord& trial, const char* what) {
  return Environment(
      fmt::format("trial {} refers to a {} that the log does not have; see `kindred log verify`",
                  trial.id, what));
}

// Finds what trials refer to, each once.
class Context {
 public:
  explicit Context(const TuningLog& log) : log_(log) {}

  Result<std::string> LineOf(const TrialRecord& trial) {
    KINDRED_TRY(const std::string target, Cached(targets_, trial, trial.target, "target",
                                                 [&] { return log_.FindTarget(trial.target); }));
    KINDRED_TRY(const std::string workload,
                Cached(workloads_, trial, trial.workload, "workload",
                       [&] { return log_.FindWorkload(trial.workload); }));
    KINDRED_TRY(const std::string session, Cached(sessions_, trial, trial.session, "session",
                                                  [&] { return log_.FindSession(trial.session); }));
    KINDRED_TRY(const std::string task, Task(trial));
    std::string line = fmt::format(
        R"({{"kindred":"trial","version":{},"target":{},"workload":{},"session":{},"task":{})",
        kFormatVersion, target, workload, session, task);
    KINDRED_TRY(const auto family, log_.FamilyOf(trial.workload));
    if (family) line += fmt::format(R"(,"family":{})", Write(*family));
    if (!trial.kernel.empty()) {
      KINDRED_TRY(const auto kernel, log_.FindKernel(trial.kernel));
      if (!kernel) return Dangling(trial, "kernel");
      line += fmt::format(R"(,"kernel":{})", Write(*kernel));
    }
    return line + fmt::format(R"(,"trial":{}}})", Write(trial));
  }

 private:
  using Texts = std::map<std::string, std::string>;

  template <typename Find>
  Result<std::string> Cached(Texts& cache, const TrialRecord& trial, const std::string& key,
                             const char* what, Find find) {
    const auto known = cache.find(key);
    if (known != cache.end()) return known->second;
    KINDRED_TRY(const auto record, find());
    if (!record) return Dangling(trial, what);
    return cache.emplace(key, Write(*record)).first->second;
  }

  Result<std::string> Task(const TrialRecord& trial) {
    if (tasks_.count(trial.session) == 0) {
      KINDRED_TRY(const auto tasks, log_.Tasks(trial.session));
      Texts& of_session = tasks_[trial.session];
      for (const TaskRecord& task : tasks) of_session.emplace(task.workload, Write(task));
    }
    const Texts& of_session = tasks_[trial.session];
    const auto found = of_session.find(trial.workload);
    if (found == of_session.end()) return Dangling(trial, "task");
    return found->second;
  }

  const TuningLog& log_;
  Texts targets_, workloads_, sessions_;
  std::map<std::string, Texts> tasks_;
};

// Collects lines into one batch, with what they share once.
class Collector {
 public:
  Collector() { batch_.keep_stored = true; }

  Result<void> Add(const std::string& text) {
    if (!NestsAtMost(text, kMaximumJsonDepth)) return BadInput("JSON is nested too deeply");
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_discarded() || !line.is_object()) return BadInput("not a JSON object");
    KINDRED_CHECK(CheckFormat(line));
    KINDRED_TRY(TargetRecord target, Read<TargetRecord>(line, "target"));
    KINDRED_TRY(WorkloadRecord workload, Read<WorkloadRecord>(line, "workload"));
    KINDRED_TRY(SessionRecord session, Read<SessionRecord>(line, "session"));
    KINDRED_TRY(TaskRecord task, Read<TaskRecord>(line, "task"));
    KINDRED_TRY(TrialRecord trial, Read<TrialRecord>(line, "trial"));
    KINDRED_CHECK(CheckTrial(trial));
    if (!IsMedian(trial.median_ns, trial.samples))
      return BadInput("the trial's median_ns is not the median of its samples");
    if (trial.target != target.id || session.target != target.id)
      return BadInput("trial, session and target are not of the same target");
    if (trial.workload != workload.key || task.workload != workload.key)
      return BadInput("trial, task and workload are not of the same workload");
    if (trial.session != session.id || task.session != session.id)
      return BadInput("trial, task and session are not of the same session");
    KINDRED_CHECK(AddKernel(line, trial));
    KINDRED_CHECK(AddFamily(line, workload));
    session.imported = true;
    if (seen_.insert("target " + target.id).second) batch_.targets.push_back(std::move(target));
    if (seen_.insert("workload " + workload.key).second)
      batch_.workloads.push_back(std::move(workload));
    if (seen_.insert("task " + task.session + " " + task.workload).second)
      batch_.tasks.push_back(std::move(task));
    if (seen_.insert("session " + session.id).second) batch_.sessions.push_back(std::move(session));
    batch_.trials.push_back(std::move(trial));
    return {};
  }

  const LogBatch& batch() const { return batch_; }

 private:
  static Result<void> CheckFormat(const Json& line) {
    if (line.value("kindred", Json()) != "trial")
      return BadInput("not a trial exported by Kindred");
    const Json version = line.value("version", Json());
    if (!version.is_number_integer()) return BadInput("field 'version' must be a whole number");
    if (version.get<std::int64_t>() > kFormatVersion)
      return BadInput(fmt::format(
          "written by a newer Kindred (format {}, this one reads up to {}); upgrade Kindred",
          version.get<std::int64_t>(), kFormatVersion));
    static const std::set<std::string> kParts = {
        "kindred", "version", "target", "workload", "session", "task", "family", "kernel", "trial"};
    for (const auto& [name, value] : line.items())
      if (kParts.count(name) == 0) return BadInput(fmt::format("unknown field '{}'", name));
    return {};
  }

  Result<void> AddKernel(const Json& line, const TrialRecord& trial) {
    if (trial.kernel.empty()) return {};
    KINDRED_TRY(KernelRecord kernel, Read<KernelRecord>(line, "kernel"));
    if (kernel.hash != trial.kernel) return BadInput("trial and kernel do not have the same hash");
    if (kernel.hash != KernelHash(kernel.code, kernel.package))
      return BadInput(
          "the kernel does not have the hash of its code and package: the line was changed");
    if (seen_.insert("kernel " + kernel.hash).second) batch_.kernels.push_back(std::move(kernel));
    return {};
  }

  Result<void> AddFamily(const Json& line, const WorkloadRecord& workload) {
    if (line.find("family") == line.end()) return {};
    KINDRED_TRY(FamilyRecord family, Read<FamilyRecord>(line, "family"));
    if (!seen_.insert("member " + workload.key).second) return {};
    family.members = {workload.key};
    batch_.families.push_back(std::move(family));
    return {};
  }

  LogBatch batch_;
  std::set<std::string> seen_;
};

}  // namespace

Result<std::int64_t> ExportJsonLines(const TuningLog& log, const TrialFilter& filter,
                                     std::ostream& out) {
  Context context(log);
  std::int64_t written = 0;
  TrialFilter page = filter;
  while (filter.limit < 0 || written < filter.limit) {
    page.limit = filter.limit < 0 ? kPage : std::min(kPage, filter.limit - written);
    KINDRED_TRY(const auto trials, log.Trials(page));
    if (trials.empty()) break;
    for (const TrialRecord& trial : trials) {
      KINDRED_TRY(const std::string line, context.LineOf(trial));
      out << line << '\n';
    }
    written += static_cast<std::int64_t>(trials.size());
    page.after = trials.back().id;
  }
  out.flush();
  if (!out)
    return Environment(
        "the export could not be written to its end; is the disk full, or the reader gone?");
  return written;
}

Result<AppendSummary> ImportJsonLines(std::istream& in, const std::string& source, TuningLog& log) {
  Collector collector;
  std::string text;
  for (std::int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<void> added = collector.Add(text);
    if (!added)
      return BadInput(
          fmt::format("{}:{}: {}; nothing was imported", source, number, added.error().message));
  }
  if (in.bad())
    return Environment(fmt::format("{} cannot be read to its end; nothing was imported", source));
  Result<AppendSummary> summary = log.Append(collector.batch());
  if (!summary)
    return Error{summary.error().kind,
                 fmt::format("{}: {}; nothing was imported", source, summary.error().message)};
  return summary;
}

}  // namespace kindred
