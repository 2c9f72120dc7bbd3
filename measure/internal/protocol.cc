#include "measure/internal/protocol.h"

#include <nlohmann/json.hpp>

namespace kindred {
namespace {

using nlohmann::json;

json LimitsToJson(const MeasureLimits& l) {
  return {{"build_timeout_s", l.build_timeout_s}, {"run_timeout_s", l.run_timeout_s},
          {"memory_bytes", l.memory_bytes},       {"minimum_sample_ns", l.minimum_sample_ns},
          {"minimum_samples", l.minimum_samples}, {"maximum_samples", l.maximum_samples},
          {"time_budget_s", l.time_budget_s},     {"relative_error", l.relative_error},
          {"abandon_ratio", l.abandon_ratio}};
}

MeasureLimits LimitsFrom(const json& j) {
  MeasureLimits l;
  l.build_timeout_s = j.at("build_timeout_s");
  l.run_timeout_s = j.at("run_timeout_s");
  l.memory_bytes = j.at("memory_bytes");
  l.minimum_sample_ns = j.at("minimum_sample_ns");
  l.minimum_samples = j.at("minimum_samples");
  l.maximum_samples = j.at("maximum_samples");
  l.time_budget_s = j.at("time_budget_s");
  l.relative_error = j.at("relative_error");
  l.abandon_ratio = j.at("abandon_ratio");
  return l;
}

}  // namespace

json CallToJson(const KernelCall& call) {
  json arguments = json::array();
  for (const KernelArgument& a : call.arguments) {
    arguments.push_back({{"tensor", a.tensor},
                         {"name", a.name},
                         {"type", std::string(Name(a.type))},
                         {"elements", a.elements},
                         {"access", static_cast<int>(a.access)}});
  }
  json launches = json::array();
  for (const KernelLaunch& launch : call.launches) {
    json parameters = json::array();
    for (const KernelStep::Parameter& p : launch.parameters)
      parameters.push_back({static_cast<int>(p.kind), p.value});
    launches.push_back({{"entry", launch.entry},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"shared_bytes", launch.shared_bytes},
                        {"parameters", std::move(parameters)}});
  }
  return {{"library", call.library},
          {"entry", call.entry},
          {"prepare_entry", call.prepare_entry},
          {"workspace_bytes", call.workspace_bytes},
          {"arguments", std::move(arguments)},
          {"launches", std::move(launches)}};
}

KernelCall CallFrom(const json& j) {
  KernelCall call;
  call.library = j.at("library");
  call.entry = j.at("entry");
  call.prepare_entry = j.at("prepare_entry");
  call.workspace_bytes = j.at("workspace_bytes");
  for (const json& entry : j.at("arguments")) {
    KernelArgument& a = call.arguments.emplace_back();
    a.tensor = entry.at("tensor");
    a.name = entry.at("name");
    a.type = ParseDataType(entry.at("type").get<std::string>()).value();
    a.elements = entry.at("elements");
    a.access = static_cast<KernelArgument::Access>(entry.at("access").get<int>());
  }
  for (const json& entry : j.at("launches")) {
    KernelLaunch& launch = call.launches.emplace_back();
    launch.entry = entry.at("entry");
    launch.grid = entry.at("grid");
    launch.block = entry.at("block");
    launch.shared_bytes = entry.at("shared_bytes");
    for (const json& p : entry.at("parameters"))
      launch.parameters.push_back(
          {static_cast<KernelStep::Parameter::Kind>(p.at(0).get<int>()), p.at(1)});
  }
  return call;
}

json ToJson(const OpenRequest& request) {
  json index_inputs = json::array();
  for (const auto& input : request.index_inputs)
    index_inputs.push_back({{"tensor", input.tensor}, {"positions", input.positions}});
  return {{"do", "open"},
          {"workload", request.workload},
          {"seed", std::to_string(request.seed)},
          {"cpus", request.cpus},
          {"index_inputs", std::move(index_inputs)},
          {"positions", request.positions}};
}

OpenRequest OpenRequestFrom(const json& j) {
  OpenRequest request;
  request.workload = j.at("workload");
  request.seed = std::stoull(j.at("seed").get<std::string>());
  request.cpus = j.at("cpus").get<std::vector<int>>();
  for (const json& input : j.at("index_inputs"))
    request.index_inputs.push_back({input.at("tensor"), input.at("positions")});
  request.positions = j.at("positions");
  return request;
}

json LoadReferenceJson(const std::string& file) {
  return {{"do", "load_reference"}, {"file", file}};
}

json ToJson(const ComputeReferenceRequest& request) {
  json outputs = json::array();
  for (const auto& output : request.outputs)
    outputs.push_back(
        {{"value", output.value}, {"bound", output.bound}, {"choices", output.choices}});
  return {{"do", "compute_reference"},
          {"file", request.file},
          {"keep_from_s", request.keep_from_s},
          {"call", CallToJson(request.call)},
          {"outputs", std::move(outputs)}};
}

ComputeReferenceRequest ComputeReferenceRequestFrom(const json& j) {
  ComputeReferenceRequest request;
  request.file = j.at("file");
  request.keep_from_s = j.at("keep_from_s");
  request.call = CallFrom(j.at("call"));
  for (const json& output : j.at("outputs"))
    request.outputs.push_back({output.at("value"), output.at("bound"), output.at("choices")});
  return request;
}

json ToJson(const CandidateRequest& request) {
  return {{"do", "candidate"},
          {"call", CallToJson(request.call)},
          {"limits", LimitsToJson(request.limits)},
          {"incumbent_ns", request.incumbent_ns},
          {"never_abandon", request.never_abandon},
          {"cold", request.cold}};
}

CandidateRequest CandidateRequestFrom(const json& j) {
  CandidateRequest request;
  request.call = CallFrom(j.at("call"));
  request.limits = LimitsFrom(j.at("limits"));
  request.incumbent_ns = j.at("incumbent_ns");
  request.never_abandon = j.at("never_abandon");
  request.cold = j.at("cold");
  return request;
}

json ToJson(const ProfileRequest& request) {
  return {{"do", "profile"},
          {"call", CallToJson(request.call)},
          {"limits", LimitsToJson(request.limits)},
          {"cold", request.cold}};
}

ProfileRequest ProfileRequestFrom(const json& j) {
  ProfileRequest request;
  request.call = CallFrom(j.at("call"));
  request.limits = LimitsFrom(j.at("limits"));
  request.cold = j.at("cold");
  return request;
}

json ToJson(const SequencePart& part) {
  return {{"do", "sequence_part"}, {"open", ToJson(part.open)}, {"call", CallToJson(part.call)}};
}

SequencePart SequencePartFrom(const json& j) {
  return {OpenRequestFrom(j.at("open")), CallFrom(j.at("call"))};
}

json ToJson(const SequenceRequest& request) {
  return {{"do", "sequence"}, {"order", request.order}, {"limits", LimitsToJson(request.limits)}};
}

SequenceRequest SequenceRequestFrom(const json& j) {
  return {j.at("order").get<std::vector<int>>(), LimitsFrom(j.at("limits"))};
}

std::string AnswerLine(const Answer& answer) {
  const Outcome& o = answer.outcome;
  json j = {{"status", answer.failed ? std::string("failed") : std::string(Name(o.status))},
            {"message", o.message}};
  if (o.validated) j["validated"] = true;
  if (!o.samples.empty()) {
    j["samples"] = o.samples;
    j["median_ns"] = o.median_ns;
    j["control_ns"] = o.control_ns;
  }
  if (!o.timer.empty()) {
    j["timer"] = o.timer;
    j["cold"] = o.cold;
    j["sm_clock_mhz"] = o.sm_clock_mhz;
    j["throttled"] = o.throttled;
  }
  if (answer.ends) j["ends"] = true;
  if (answer.device_s > 0) j["device_s"] = answer.device_s;
  if (!answer.more.empty()) j["more"] = answer.more;
  // A message may hold a candidate's bytes.
  return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Answer> ParseAnswer(const std::string& line) {
  const json j = json::parse(line, nullptr, false);
  if (!j.is_object() || !j.contains("status") || !j["status"].is_string())
    return Internal("the worker answered what is no answer: " + line.substr(0, 200));
  Answer answer;
  Outcome& o = answer.outcome;
  const std::string status = j["status"];
  answer.failed = status == "failed";
  bool known = answer.failed;
  for (int s = 0; s <= static_cast<int>(Status::kAbandoned) && !known; ++s) {
    o.status = static_cast<Status>(s);
    known = Name(o.status) == status;
  }
  if (!known) return Internal("the worker answered with the unknown status '" + status + "'");
  o.message = j.value("message", std::string());
  o.validated = j.value("validated", false);
  o.median_ns = j.value("median_ns", 0.0);
  o.control_ns = j.value("control_ns", 0.0);
  o.samples = j.value("samples", std::vector<double>());
  o.timer = j.value("timer", std::string());
  o.cold = j.value("cold", false);
  o.sm_clock_mhz = j.value("sm_clock_mhz", 0.0);
  o.throttled = j.value("throttled", std::string());
  answer.ends = j.value("ends", false);
  answer.device_s = j.value("device_s", 0.0);
  answer.more = j.value("more", std::string());
  return answer;
}

}  // namespace kindred
