// What the runner and its worker say to each other: one JSON object per line, requests on the
// worker's descriptor 3, answers on descriptor 4, one answer per request.
//
//   {"do":"open", "workload":TEXT, "seed":"N", "cpus":[..],
//    "index_inputs":[{"tensor","positions"}],
//    "positions":[[[..]]]}                      new workload: allocates and fills its inputs
//   {"do":"load_reference", "file":PATH}        reads the reference's outputs from a file
//   {"do":"compute_reference", "file":PATH, "keep_from_s":S, "call":CALL,
//    "outputs":[{"value","bound","choices"}]}   computes them; keeps them in the file where that
//    took S
//   {"do":"candidate", "call":CALL, "limits":{..}, "incumbent_ns":T, "never_abandon":BOOL,
//    "cold":BOOL}
//
//   CALL = {"library","entry","prepare_entry","workspace_bytes",
//           "arguments":[{"tensor","name","type","elements","access"}],
//           "launches":[{"entry","grid","block","shared_bytes","parameters":[[kind,value]]}]}
//
// A CUDA worker knows "open", "load_reference" and "candidate" (a cubin for a library), the
// requests of measure/internal/buffer_protocol.h, and
//   {"do":"list"}                               "more": the devices
//   {"do":"device", "index":N, "trace":BOOL}    first of all: takes the device; "more": what it is
//   {"do":"peaks", "cubin":PATH}                "more": what was measured
//   {"do":"sequence_part", "open":OPEN, "call":CALL}
//                                               one more workload and its kernels, by number
//   {"do":"sequence", "order":[..], "limits":{..}}
//                                               "more": times of their replay as a graph
//   {"do":"profile", "call":CALL, "limits":{..}, "cold":BOOL}
//                                               to one that does not trace; "more": {name: value}
//
//   {"status":"ok", ...}                        an Outcome; to the others only status, message and
//                                               "more"
//   {"status":"failed", "message":..}           the request could not be served: the runner's Error
// A worker that meets a signal in a candidate answers with the cause and ends; one that will end
// for another reason says so: "ends":true.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "measure/runner.h"
#include "schedules/base/result.h"
#include "schedules/kernel.h"
#include "schedules/outcome.h"

namespace kindred {

// A KernelStep for given extents.
struct KernelLaunch {
  std::string entry;
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  std::array<int, 3> block = {1, 1, 1};
  std::int64_t shared_bytes = 0;
  std::vector<KernelStep::Parameter> parameters;
};

struct KernelCall {
  std::string library, entry, prepare_entry;
  std::vector<KernelArgument> arguments;
  std::int64_t workspace_bytes = 0;
  std::vector<KernelLaunch> launches;  // CUDA
};

struct OpenRequest {
  std::string workload;  // text form
  std::uint64_t seed = 0;
  std::vector<int> cpus;
  // How the reference's elements lie among the outputs' (measure/internal/sampled_workload.h).
  struct IndexInput {
    int tensor = -1;
    std::vector<std::int64_t> positions;
  };
  std::vector<IndexInput> index_inputs;
  std::vector<std::vector<std::vector<std::int64_t>>> positions;
};

struct ComputeReferenceRequest {
  std::string file;
  double keep_from_s = 0;  // results that took at least this long are written to `file`
  KernelCall call;
  struct Output {
    int value = -1, bound = -1, choices = -1;  // tensor ids (schedules/tolerance.h)
  };
  std::vector<Output> outputs;
};

struct CandidateRequest {
  KernelCall call;
  MeasureLimits limits;
  double incumbent_ns = 0;
  bool never_abandon = false;
  bool cold = false;  // CUDA: the second-level cache is flushed before each run
};

struct ProfileRequest {
  KernelCall call;
  MeasureLimits limits;
  bool cold = true;  // the second-level cache is flushed before each pass; else one run comes first
};

struct SequencePart {
  OpenRequest open;
  KernelCall call;
};
struct SequenceRequest {
  std::vector<int> order;  // numbers of parts
  MeasureLimits limits;
};

struct Answer {
  bool failed = false;  // the request itself, not a candidate, went wrong
  Outcome outcome;
  bool ends = false;      // the worker ends after this answer
  double device_s = 0;    // CUDA: of the candidate's time, with kernels, copies or checks running
  std::string more = {};  // JSON: what was asked for
};

nlohmann::json CallToJson(const KernelCall& call);
nlohmann::json ToJson(const OpenRequest& request);
nlohmann::json ToJson(const ComputeReferenceRequest& request);
nlohmann::json ToJson(const CandidateRequest& request);
nlohmann::json ToJson(const ProfileRequest& request);
nlohmann::json ToJson(const SequencePart& part);
nlohmann::json ToJson(const SequenceRequest& request);
nlohmann::json LoadReferenceJson(const std::string& file);
std::string AnswerLine(const Answer& answer);

// The `from` functions throw nlohmann::json::exception on a malformed object; both ends catch at
// the line.
KernelCall CallFrom(const nlohmann::json& json);
OpenRequest OpenRequestFrom(const nlohmann::json& json);
ComputeReferenceRequest ComputeReferenceRequestFrom(const nlohmann::json& json);
CandidateRequest CandidateRequestFrom(const nlohmann::json& json);
ProfileRequest ProfileRequestFrom(const nlohmann::json& json);
SequencePart SequencePartFrom(const nlohmann::json& json);
SequenceRequest SequenceRequestFrom(const nlohmann::json& json);
// Error (kInternal): not an answer.
Result<Answer> ParseAnswer(const std::string& line);

}  // namespace kindred
