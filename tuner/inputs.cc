#include "tuner/inputs.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kindred {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

Result<void> ReadZoo(const std::string& path, const std::map<std::string, std::int64_t>& dims,
                     std::vector<TuningInput>& inputs) {
  std::ifstream file(path);
  if (!file) return NotFound(fmt::format("{}: no such file, or not readable", path));
  json zoo;
  try {
    zoo = json::parse(file);
  } catch (const json::parse_error& error) {
    return BadInput(fmt::format("{}: not valid JSON: {}", path, error.what()));
  }
  if (!zoo.is_object() || !zoo.contains("models") || !zoo["models"].is_array() ||
      zoo["models"].empty())
    return BadInput(fmt::format(
        "{}: a zoo is {{\"models\": [{{\"path\", \"dims\", \"weight\", \"priority\"}}]}} "
        "with at least one model",
        path));
  int number = 0;
  for (const json& entry : zoo["models"]) {
    const std::string where = fmt::format("{}: models[{}]", path, number++);
    if (!entry.is_object()) return BadInput(where + " is not an object");
    for (const auto& [field, value] : entry.items())
      if (field != "path" && field != "dims" && field != "weight" && field != "priority")
        return BadInput(fmt::format(
            "{} has an unknown field '{}'; known are path, dims, weight, priority", where, field));
    if (!entry.contains("path") || !entry["path"].is_string())
      return BadInput(where + " needs a \"path\" (a string)");
    TuningInput input;
    std::map<std::string, std::int64_t> bound = dims;
    for (const char* field : {"weight", "priority"}) {
      if (!entry.contains(field)) continue;
      if (!entry[field].is_number() || !(entry[field].get<double>() > 0))
        return BadInput(fmt::format("{}: \"{}\" must be a number above 0", where, field));
      (std::string(field) == "weight" ? input.weight : input.priority) = entry[field].get<double>();
    }
    if (entry.contains("dims")) {
      if (!entry["dims"].is_object())
        return BadInput(where + ": \"dims\" must be an object of numbers");
      for (const auto& [name, value] : entry["dims"].items()) {
        if (!value.is_number_integer() || value.get<std::int64_t>() < 1)
          return BadInput(
              fmt::format("{}: dimension '{}' must be a whole number above 0", where, name));
        bound[name] = value.get<std::int64_t>();
      }
    }
    fs::path model = entry["path"].get<std::string>();
    if (model.is_relative()) model = fs::path(path).parent_path() / model;
    input.path = model.string();
    KINDRED_TRY(input.model, ReadModel(input.path, bound));
    inputs.push_back(std::move(input));
  }
  return {};
}

}  // namespace

Result<ImportedModel> ReadModel(const std::string& path,
                                const std::map<std::string, std::int64_t>& dims) {
  std::error_code code;
  if (!fs::exists(path, code)) return NotFound(fmt::format("{}: no such file", path));
  if (fs::is_directory(path, code))
    return BadInput(fmt::format("{}: is a directory, not a model", path));
  const std::string ending = fs::path(path).extension().string();
  if (ending == ".onnx") return ImportOnnx(path, {dims});
  if (ending == ".kd") return ImportWorkloadFile(path);
  return BadInput(fmt::format(
      "{}: unknown ending '{}'; Kindred reads MODEL.onnx, WORKLOAD.kd and, for tune, ZOO.json",
      path, ending));
}

Result<std::vector<TuningInput>> ReadInputs(const std::vector<std::string>& paths,
                                            const std::map<std::string, std::int64_t>& dims) {
  std::vector<TuningInput> inputs;
  for (const std::string& path : paths) {
    if (fs::path(path).extension() == ".json") {
      KINDRED_CHECK(ReadZoo(path, dims, inputs));
      continue;
    }
    TuningInput& input = inputs.emplace_back();
    input.path = path;
    KINDRED_TRY(input.model, ReadModel(path, dims));
  }
  return inputs;
}

Result<std::map<std::string, std::int64_t>> ParseDims(const std::vector<std::string>& bindings) {
  std::map<std::string, std::int64_t> dims;
  for (const std::string& binding : bindings) {
    const std::size_t equals = binding.find('=');
    std::int64_t value = 0;
    const char* end = binding.data() + binding.size();
    if (equals != std::string::npos) {
      const auto parsed = std::from_chars(binding.data() + equals + 1, end, value);
      if (parsed.ec == std::errc{} && parsed.ptr == end && value > 0 && equals > 0) {
        dims[binding.substr(0, equals)] = value;
        continue;
      }
    }
    return BadInput(fmt::format("--dim {}: write NAME=NUMBER, e.g. --dim batch=1", binding));
  }
  return dims;
}

}  // namespace kindred
