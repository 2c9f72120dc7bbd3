// Requests' bodies, read strictly: an unknown field, a wrong type or a value out of range is an
// error (kBadInput) that names it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "database/records.h"
#include "tuner/service/answer_book.h"
#include "tuner/service/http.h"

namespace kindred {

inline constexpr std::size_t kMostQueries = 1024;  // in a batch

struct QueryRequest {
  std::vector<Question> questions;
  bool batch = false;  // the answer is a list
};

// {"workload" | "key", "target", "epoch", "constraints"}, or with "queries": a list of such
// objects, for which the outer ones' target, epoch and constraints are defaults. `workload` is the
// text form, or the JSON form as an object.
Result<QueryRequest> ReadQueryRequest(const std::string& body);

// target, epoch and constraints as parameters of the request's query: ?target=cpu&epoch=12&
// workspace_bytes=0&layouts=plain&deterministic=true&dialects=c&allow=fast_math.
Result<Question> ReadQuestionParameters(const HttpRequest& request);

// "dim=NAME=NUMBER", as often as needed.
Result<std::map<std::string, std::int64_t>> ReadDims(const HttpRequest& request);

// A job that is asked for; what it is to tune is named by an id of the store, or is text.
struct JobRequest {
  std::string model;                   // id; or
  std::vector<std::string> workloads;  // text forms
  std::map<std::string, std::int64_t> dims;
  JobRecord job;  // name, target, options, priority
};
// {"model" | "workloads", "dims", "name", "target", "trials", "trials_per_task", "time_s", "seed",
// "priority"}.
Result<JobRequest> ReadJobRequest(const std::string& body);

}  // namespace kindred
