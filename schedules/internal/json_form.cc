// The JSON form of workloads: the text form's statements as objects.
#include <algorithm>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "schedules/internal/parser.h"
#include "schedules/internal/printer.h"
#include "schedules/text_form.h"

namespace kindred {
namespace {

using nlohmann::json;

std::string_view Name(Role role) {
  switch (role) {
    case Role::kInput: return "input";
    case Role::kWeight: return "weight";
    case Role::kOutput: return "output";
    case Role::kTemporary: break;
  }
  return "temporary";
}

json ExtentToJson(const Workload& workload, const Extent& extent) {
  if (extent.symbol < 0) return extent.value;
  return workload.symbols[static_cast<std::size_t>(extent.symbol)].name;
}

json DataToJson(const DataSpec& data) {
  json j = {{"kind", data.kind}, {"density", data.density}};
  if (data.kind == "file")
    j["file"] = data.file;
  else if (data.kind != "mask")
    j.update({{"low", data.low}, {"high", data.high}});
  return j;
}

// Reads a workload; nlohmann's exceptions (a missing or mistyped field) leave it and are caught
// below.
class Reader {
 public:
  Result<Workload> Read(const json& j) {
    workload_.name = j.value("name", "");
    for (const json& s : j.value("symbols", json::array())) {
      Symbol symbol{
          s.at("name").get<std::string>(), ReadInteger(s.at("low")), ReadInteger(s.at("high")), {}};
      for (const json& likely : s.value("likely", json::array()))
        symbol.likely.push_back(ReadInteger(likely));
      workload_.symbols.push_back(std::move(symbol));
    }
    const json contract = j.value("contract", json::object());
    workload_.contract = {contract.value("tf32", false), contract.value("winograd", false),
                          contract.value("atomics", false), contract.value("fast_math", false)};
    for (const json& t : j.at("tensors")) KINDRED_CHECK(ReadTensor(t));
    for (const json& s : j.at("stages")) KINDRED_CHECK(ReadStage(s));
    KINDRED_CHECK(CheckWorkload(workload_));
    return std::move(workload_);
  }

 private:
  // get() alone would convert a number with a fraction or an exponent, whatever its size.
  static std::int64_t ReadInteger(const json& j) {
    if (j.is_number_float())
      throw json::type_error::create(302, "type must be integer, but is " + j.dump(), &j);
    return j.get<std::int64_t>();
  }

  Result<Extent> ReadExtent(const json& j) {
    if (j.is_number_integer()) return Extent{j.get<std::int64_t>(), -1};
    const auto name = j.get<std::string>();
    for (std::size_t i = 0; i < workload_.symbols.size(); ++i) {
      const Symbol& symbol = workload_.symbols[i];
      if (symbol.name == name)
        return Extent{symbol.likely.empty() ? symbol.high : symbol.likely.front(),
                      static_cast<int>(i)};
    }
    return BadInput(
        fmt::format("workload JSON: unknown symbolic extent '{}'; list it under symbols", name));
  }

  Result<DataType> ReadType(const json& j) {
    const auto name = j.get<std::string>();
    if (const auto type = ParseDataType(name)) return *type;
    return BadInput(fmt::format("workload JSON: unknown type '{}'", name));
  }

  Result<void> ReadTensor(const json& j) {
    Tensor tensor;
    tensor.name = j.at("name").get<std::string>();
    KINDRED_TRY(tensor.type, ReadType(j.at("type")));
    const auto role = j.at("role").get<std::string>();
    bool known = false;
    for (const Role candidate : {Role::kInput, Role::kWeight, Role::kOutput, Role::kTemporary}) {
      if (Name(candidate) != role) continue;
      tensor.role = candidate;
      known = true;
    }
    if (!known)
      return BadInput(
          fmt::format("workload JSON: tensor {} has the unknown role '{}'; roles are input, "
                      "weight, output, temporary",
                      tensor.name, role));
    for (const json& extent : j.at("shape")) {
      KINDRED_TRY(const Extent read, ReadExtent(extent));
      tensor.shape.push_back(read);
    }
    if (j.contains("data")) {
      const json& data = j.at("data");
      tensor.data = {data.at("kind").get<std::string>(), data.value("low", 0.0),
                     data.value("high", 0.0), data.value("density", 1.0), data.value("file", "")};
      if (tensor.data.kind.empty())
        return BadInput(fmt::format("workload JSON: the data of {} have no kind", tensor.name));
    }
    workload_.tensors.push_back(std::move(tensor));
    return {};
  }

  Result<void> ReadStage(const json& j) {
    Stage stage;
    const auto name = j.at("tensor").get<std::string>();
    for (std::size_t i = 0; i < workload_.tensors.size(); ++i)
      if (workload_.tensors[i].name == name) stage.tensor = static_cast<int>(i);
    if (stage.tensor < 0)
      return BadInput(fmt::format(
          "workload JSON: a stage computes '{}', which is not among the tensors", name));
    for (const json& axis : j.at("axes")) {
      KINDRED_TRY(const Extent extent, ReadExtent(axis.at("extent")));
      stage.axes.push_back({axis.at("name").get<std::string>(), extent});
    }
    stage.spatial =
        static_cast<int>(std::clamp<std::int64_t>(ReadInteger(j.at("spatial")), -1, 1000));
    const auto combiner = j.at("combiner").get<std::string>();
    bool known = false;
    for (int c = 0; c <= static_cast<int>(Combiner::kArgMin); ++c) {
      if (kindred::Name(static_cast<Combiner>(c)) != combiner) continue;
      stage.combiner = static_cast<Combiner>(c);
      known = true;
    }
    if (!known)
      return BadInput(
          fmt::format("workload JSON: stage {} has the unknown combiner '{}'", name, combiner));
    if (stage.combiner != Combiner::kNone) {
      KINDRED_TRY(stage.accumulator, ReadType(j.at("accumulator")));
    }
    const auto body = j.at("body").get<std::string>();
    const std::string where = fmt::format("workload JSON, body of {}", name);
    KINDRED_TRY(auto tokens, Tokenize(body, where));
    const DataType type = workload_.tensors[static_cast<std::size_t>(stage.tensor)].type;
    KINDRED_TRY(
        stage.body,
        Parser(std::move(tokens), where)
            .RunExpression(workload_, stage.axes,
                           stage.combiner == Combiner::kNone ? std::optional(type) : std::nullopt));
    workload_.stages.push_back(std::move(stage));
    return {};
  }

  Workload workload_;
};

}  // namespace

json WorkloadToJson(const Workload& workload) {
  json j = {{"name", workload.name},
            {"text", PrintWorkload(workload)},
            {"symbols", json::array()},
            {"tensors", json::array()},
            {"stages", json::array()},
            {"contract",
             {{"tf32", workload.contract.tf32},
              {"winograd", workload.contract.winograd},
              {"atomics", workload.contract.atomics},
              {"fast_math", workload.contract.fast_math}}}};
  for (const Symbol& s : workload.symbols)
    j["symbols"].push_back(
        {{"name", s.name}, {"low", s.low}, {"high", s.high}, {"likely", s.likely}});
  for (const Tensor& tensor : workload.tensors) {
    json t = {{"name", tensor.name},
              {"type", kindred::Name(tensor.type)},
              {"role", Name(tensor.role)},
              {"shape", json::array()}};
    for (const Extent& extent : tensor.shape) t["shape"].push_back(ExtentToJson(workload, extent));
    if (!tensor.data.kind.empty()) t["data"] = DataToJson(tensor.data);
    j["tensors"].push_back(std::move(t));
  }
  for (const Stage& stage : workload.stages) {
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(stage.tensor)];
    json s = {{"tensor", tensor.name},
              {"axes", json::array()},
              {"spatial", stage.spatial},
              {"combiner", kindred::Name(stage.combiner)},
              {"body", PrintBody(workload, stage)}};
    if (stage.combiner != Combiner::kNone) s["accumulator"] = kindred::Name(stage.accumulator);
    for (const Axis& axis : stage.axes)
      s["axes"].push_back({{"name", axis.name}, {"extent", ExtentToJson(workload, axis.extent)}});
    j["stages"].push_back(std::move(s));
  }
  return j;
}

Result<Workload> WorkloadFromJson(const json& j) {
  try {
    if (j.is_object() && !j.contains("stages") && j.contains("text"))
      return ParseWorkload(j.at("text").get<std::string>(), "workload JSON, text");
    return Reader().Read(j);
  } catch (const json::exception& error) {
    return BadInput(fmt::format("workload JSON: {}; docs/workload_language.md describes the form",
                                error.what()));
  }
}

}  // namespace kindred
