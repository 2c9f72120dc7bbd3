#include "tuner/service/requests.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"

namespace kindred {
namespace {

using nlohmann::json;

Result<json> ParseObject(const std::string& body) {
  Result<json> object(boost::system::in_place_value, json::object());
  try {
    *object = json::parse(body);
  } catch (const json::exception& error) {
    return BadInput(fmt::format("the body is not valid JSON: {}", error.what()));
  }
  if (!object->is_object()) return BadInput("the body must be a JSON object");
  return object;
}

Result<void> CheckFields(const json& object, std::initializer_list<std::string_view> known,
                         const std::string& where) {
  for (const auto& [field, value] : object.items()) {
    if (std::find(known.begin(), known.end(), field) != known.end()) continue;
    return BadInput(
        fmt::format("{}unknown field '{}'; known are {}", where, field, fmt::join(known, ", ")));
  }
  return {};
}

Result<std::string> ReadText(const json& value, std::string_view field, const std::string& where) {
  if (!value.is_string()) return BadInput(fmt::format("{}'{}' must be a string", where, field));
  return value.get<std::string>();
}

Result<std::int64_t> ReadInteger(const json& value, std::string_view field,
                                 const std::string& where, std::int64_t low, std::int64_t high) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!fits || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
    return BadInput(
        fmt::format("{}'{}' must be a whole number from {} to {}", where, field, low, high));
  return value.get<std::int64_t>();
}

Result<void> Allow(NumericContract& contract, const std::string& word, const std::string& where) {
  if (word == "tf32")
    contract.tf32 = true;
  else if (word == "winograd")
    contract.winograd = true;
  else if (word == "atomics")
    contract.atomics = true;
  else if (word == "fast_math")
    contract.fast_math = true;
  else
    return BadInput(fmt::format("{}'allow' knows tf32, winograd, atomics and fast_math, not '{}'",
                                where, word));
  return {};
}

Result<void> AddDialect(Constraints& constraints, const std::string& name,
                        const std::string& where) {
  if (name != "c" && name != "cuda")
    return BadInput(
        fmt::format("{}unknown dialect '{}'; kernels are in c (CPUs) or cuda (GPUs)", where, name));
  constraints.dialects.push_back(name);
  return {};
}

Result<Constraints> ReadConstraints(const json& object, const std::string& where) {
  if (!object.is_object()) return BadInput(where + "'constraints' must be an object");
  KINDRED_CHECK(CheckFields(
      object, {"workspace_bytes", "dialects", "layouts", "deterministic", "allow"}, where));
  Constraints constraints;
  if (const auto it = object.find("workspace_bytes"); it != object.end()) {
    KINDRED_TRY(constraints.workspace_bytes,
                ReadInteger(*it, "workspace_bytes", where, 0, INT64_MAX));
  }
  if (const auto it = object.find("dialects"); it != object.end()) {
    if (!it->is_array() || it->empty())
      return BadInput(where + "'dialects' must be a list of names, such as [\"c\"]");
    for (const json& dialect : *it) {
      KINDRED_TRY(const std::string name, ReadText(dialect, "dialects", where));
      KINDRED_CHECK(AddDialect(constraints, name, where));
    }
  }
  if (const auto it = object.find("layouts"); it != object.end()) {
    if (*it != "plain" && *it != "any")
      return BadInput(where + "'layouts' must be \"any\" or \"plain\" (no packed weights)");
    constraints.plain_layouts = *it == "plain";
  }
  if (const auto it = object.find("deterministic"); it != object.end()) {
    if (!it->is_boolean()) return BadInput(where + "'deterministic' must be true or false");
    constraints.deterministic = it->get<bool>();
  }
  if (const auto it = object.find("allow"); it != object.end()) {
    if (!it->is_array()) return BadInput(where + "'allow' must be a list");
    constraints.allow.emplace();
    for (const json& word : *it) {
      KINDRED_TRY(const std::string name, ReadText(word, "allow", where));
      KINDRED_CHECK(Allow(*constraints.allow, name, where));
    }
  }
  return constraints;
}

bool IsKey(const std::string& text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

// What stands both in a request and in the items of its batch.
Result<void> ReadCommon(const json& object, const std::string& where, Question& question) {
  if (const auto it = object.find("target"); it != object.end()) {
    KINDRED_TRY(question.target, ReadText(*it, "target", where));
  }
  if (const auto it = object.find("epoch"); it != object.end()) {
    KINDRED_TRY(question.epoch, ReadInteger(*it, "epoch", where, 0, INT64_MAX));
  }
  if (const auto it = object.find("constraints"); it != object.end()) {
    KINDRED_TRY(question.constraints, ReadConstraints(*it, where));
  }
  return {};
}

Result<Question> ReadQuestion(const json& object, const std::string& where, Question question) {
  if (!object.is_object()) return BadInput(where + "must be an object");
  KINDRED_CHECK(CheckFields(object, {"workload", "key", "target", "epoch", "constraints"}, where));
  KINDRED_CHECK(ReadCommon(object, where, question));
  if (object.contains("workload") == object.contains("key"))
    return BadInput(where + "give either \"workload\" or \"key\"");
  if (object.contains("key")) {
    KINDRED_TRY(question.key, ReadText(object["key"], "key", where));
    if (!IsKey(question.key))
      return BadInput(where + "'key' must be 32 lower-case hexadecimal digits");
    return question;
  }
  const json& workload = object["workload"];
  if (workload.is_object()) {
    KINDRED_TRY(const Workload parsed, WorkloadFromJson(workload));
    question.workload = PrintWorkload(parsed);
    return question;
  }
  KINDRED_TRY(question.workload, ReadText(workload, "workload", where));
  return question;
}

}  // namespace

Result<QueryRequest> ReadQueryRequest(const std::string& body) {
  KINDRED_TRY(const json object, ParseObject(body));
  QueryRequest request;
  if (!object.contains("queries")) {
    KINDRED_TRY(Question question, ReadQuestion(object, "", {}));
    request.questions.push_back(std::move(question));
    return request;
  }
  KINDRED_CHECK(CheckFields(object, {"queries", "target", "epoch", "constraints"}, ""));
  request.batch = true;
  Question defaults;
  KINDRED_CHECK(ReadCommon(object, "", defaults));
  const json& queries = object["queries"];
  if (!queries.is_array() || queries.empty() || queries.size() > kMostQueries)
    return BadInput(fmt::format("'queries' must be a list of 1 to {} objects", kMostQueries));
  for (std::size_t i = 0; i < queries.size(); ++i) {
    KINDRED_TRY(Question question,
                ReadQuestion(queries[i], fmt::format("queries[{}]: ", i), defaults));
    request.questions.push_back(std::move(question));
  }
  return request;
}

Result<Question> ReadQuestionParameters(const HttpRequest& request) {
  Question question;
  for (const auto& parameter : request.parameters) {
    const std::string &name = parameter.first, &value = parameter.second;
    const auto number = [&]() -> Result<std::int64_t> {
      std::int64_t parsed = 0;
      const char* end = value.data() + value.size();
      const auto result = std::from_chars(value.data(), end, parsed);
      if (result.ec != std::errc{} || result.ptr != end || parsed < 0)
        return BadInput(fmt::format("parameter '{}' must be a whole number of at least 0, not '{}'",
                                    name, value));
      return parsed;
    };
    if (name == "target") {
      question.target = value;
    } else if (name == "epoch") {
      KINDRED_TRY(question.epoch, number());
    } else if (name == "workspace_bytes") {
      KINDRED_TRY(question.constraints.workspace_bytes, number());
    } else if (name == "dialects") {
      KINDRED_CHECK(AddDialect(question.constraints, value, ""));
    } else if (name == "layouts" && (value == "plain" || value == "any")) {
      question.constraints.plain_layouts = value == "plain";
    } else if (name == "deterministic" && (value == "true" || value == "false")) {
      question.constraints.deterministic = value == "true";
    } else if (name == "allow") {
      if (!question.constraints.allow) question.constraints.allow.emplace();
      if (!value.empty()) KINDRED_CHECK(Allow(*question.constraints.allow, value, ""));
    } else if (name != "dim") {
      return BadInput(fmt::format("parameter '{}' is unknown, or cannot be '{}'", name, value));
    }
  }
  return question;
}

Result<std::map<std::string, std::int64_t>> ReadDims(const HttpRequest& request) {
  std::map<std::string, std::int64_t> dims;
  for (const auto& [name, value] : request.parameters) {
    if (name != "dim") continue;
    const std::size_t equals = value.find('=');
    std::int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto parsed = equals == std::string::npos || equals == 0
                            ? std::from_chars_result{value.data(), std::errc::invalid_argument}
                            : std::from_chars(value.data() + equals + 1, end, number);
    if (parsed.ec != std::errc{} || parsed.ptr != end || number < 1)
      return BadInput(fmt::format("parameter 'dim' must be NAME=NUMBER, not '{}'", value));
    dims[value.substr(0, equals)] = number;
  }
  return dims;
}

Result<JobRequest> ReadJobRequest(const std::string& body) {
  KINDRED_TRY(const json object, ParseObject(body));
  KINDRED_CHECK(CheckFields(object,
                            {"model", "workloads", "dims", "name", "target", "trials",
                             "trials_per_task", "time_s", "seed", "priority"},
                            ""));
  JobRequest request;
  if (object.contains("model") == object.contains("workloads"))
    return BadInput(
        "give either \"model\" (an id from POST /v1/models) or \"workloads\" (a list of texts)");
  if (object.contains("model")) {
    KINDRED_TRY(request.model, ReadText(object["model"], "model", ""));
  } else {
    const json& workloads = object["workloads"];
    if (!workloads.is_array() || workloads.empty() || workloads.size() > kMostQueries)
      return BadInput(fmt::format("'workloads' must be a list of 1 to {} texts", kMostQueries));
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      KINDRED_TRY(std::string text, ReadText(workloads[i], "workloads", ""));
      KINDRED_CHECK(ParseWorkload(text, fmt::format("workloads[{}]", i)));
      request.workloads.push_back(std::move(text));
    }
  }
  request.job.target = "cpu";
  if (object.contains("target")) {
    KINDRED_TRY(request.job.target, ReadText(object["target"], "target", ""));
  }
  if (object.contains("name")) {
    KINDRED_TRY(request.job.name, ReadText(object["name"], "name", ""));
  }
  if (object.contains("dims")) {
    const json& dims = object["dims"];
    if (!dims.is_object()) return BadInput("'dims' must be an object of numbers");
    for (const auto& [name, value] : dims.items()) {
      KINDRED_TRY(request.dims[name], ReadInteger(value, name, "dims: ", 1, std::int64_t{1} << 40));
    }
  }
  json options = json::object();
  for (const char* field : {"trials", "trials_per_task"}) {
    if (!object.contains(field)) continue;
    KINDRED_TRY(options[field], ReadInteger(object[field], field, "", 1, 1000000000));
  }
  if (object.contains("seed")) {
    KINDRED_TRY(options["seed"], ReadInteger(object["seed"], "seed", "", 0, INT64_MAX));
  }
  if (object.contains("time_s")) {
    KINDRED_TRY(options["time_s"], ReadInteger(object["time_s"], "time_s", "", 1, 100000000));
  }
  if (const auto it = object.find("priority"); it != object.end()) {
    if (!it->is_number() || !std::isfinite(it->get<double>()))
      return BadInput("'priority' must be a number");
    request.job.priority = it->get<double>();
  }
  request.job.options = options.dump();
  return request;
}

}  // namespace kindred
