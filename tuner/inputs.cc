#include "tuner/inputs.h"

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace kindred {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// More combinations than this are a mistake.
constexpr std::size_t kMostCombinations = 256;

// Resident memory at its peak, since it was last told to begin anew.
class PeakMemory {
 public:
  PeakMemory() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;
  }
  std::int64_t bytes() const {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
      std::int64_t kibibytes = 0;
      if (word == "VmHWM:" && status >> kibibytes) return kibibytes << 10;
    }
    return 0;
  }
};

std::string NameOf(const ImportedModel& model, int instances) {
  std::string name = model.name;
  if (instances > 1) name += fmt::format(" x{}", instances);
  if (model.dims.empty()) return name;
  std::vector<std::string> bindings;
  for (const auto& [dim, value] : model.dims) bindings.push_back(fmt::format("{}={}", dim, value));
  return fmt::format("{} [{}]", name, fmt::join(bindings, ", "));
}

Result<TuningInput> ReadOne(const std::string& path, const ImportOptions& options) {
  TuningInput input;
  input.path = path;
  const auto start = std::chrono::steady_clock::now();
  const PeakMemory peak;
  const std::string ending = fs::path(path).extension().string();
  if (ending == ".onnx") {
    KINDRED_TRY(input.model, ImportOnnx(path, options));
  } else if (ending != ".kd") {
    return BadInput(
        fmt::format("{}: unknown ending '{}'; Kindred reads MODEL.onnx, WORKLOAD.kd and ZOO.json",
                    path, ending));
  } else if (options.instances > 1) {
    return BadInput(
        fmt::format("{}: is a workload; only ONNX models can be merged (--merge)", path));
  } else {
    KINDRED_TRY(input.model, ImportWorkloadFile(path));
  }
  input.import_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  input.import_peak_bytes = peak.bytes();
  return input;
}

// Counts on to the next combination, the last dimension fastest; false after the last combination.
bool NextCombination(const DimValues& values, std::map<std::string, std::size_t>& chosen) {
  for (auto dim = chosen.rbegin(); dim != chosen.rend(); ++dim) {
    if (++dim->second < values.at(dim->first).size()) return true;
    dim->second = 0;
  }
  return false;
}

// The model under each combination of the values of those dimensions that it has.
Result<std::vector<TuningInput>> ReadModel(const std::string& path, const InputOptions& options) {
  std::error_code code;
  if (!fs::exists(path, code)) return NotFound(fmt::format("{}: no such file", path));
  if (fs::is_directory(path, code))
    return BadInput(fmt::format("{}: is a directory, not a model", path));
  ImportOptions import;
  import.trips = options.trips;
  import.instances = options.instances;
  for (const auto& [name, values] : options.dims) import.dims[name] = values.front();
  std::vector<TuningInput> inputs;
  KINDRED_TRY(inputs.emplace_back(), ReadOne(path, import));
  std::map<std::string, std::size_t> chosen;
  std::size_t combinations = 1;
  for (const auto& [name, values] : options.dims) {
    if (!inputs[0].model.dims.contains(name) || values.size() == 1) continue;
    chosen[name] = 0;
    combinations *= values.size();
    if (combinations > kMostCombinations)
      return BadInput(fmt::format("{}: its dimensions have more than {} combinations of values",
                                  path, kMostCombinations));
  }
  while (NextCombination(options.dims, chosen)) {
    for (const auto& [name, index] : chosen) import.dims[name] = options.dims.at(name)[index];
    KINDRED_TRY(inputs.emplace_back(), ReadOne(path, import));
  }
  return inputs;
}

Result<std::vector<std::int64_t>> ReadValues(const json& value, const std::string& where) {
  std::vector<std::int64_t> values;
  const json list = value.is_array() ? value : json::array({value});
  for (const json& number : list) {
    if (!number.is_number_integer() || number.get<std::int64_t>() < 1)
      return BadInput(where + " must be a whole number above 0, or a list of such numbers");
    if (std::find(values.begin(), values.end(), number) != values.end())
      return BadInput(fmt::format("{} has the value {} twice", where, number.dump()));
    values.push_back(number.get<std::int64_t>());
  }
  if (values.empty()) return BadInput(where + " has no value");
  return values;
}

Result<void> ReadEntry(const json& entry, const fs::path& folder, const std::string& where,
                       InputOptions options, std::vector<TuningInput>& inputs) {
  if (!entry.is_object()) return BadInput(where + " is not an object");
  for (const auto& [field, value] : entry.items())
    if (field != "path" && field != "dims" && field != "weight" && field != "priority")
      return BadInput(fmt::format(
          "{} has an unknown field '{}'; known are path, dims, weight, priority", where, field));
  if (!entry.contains("path") || !entry["path"].is_string())
    return BadInput(where + " needs a \"path\" (a string)");
  double weight = 1, priority = 1;
  for (const char* field : {"weight", "priority"}) {
    if (!entry.contains(field)) continue;
    if (!entry[field].is_number() || !(entry[field].get<double>() > 0))
      return BadInput(fmt::format("{}: \"{}\" must be a number above 0", where, field));
    (std::string(field) == "weight" ? weight : priority) = entry[field].get<double>();
  }
  const json dims = entry.value("dims", json::object());
  if (!dims.is_object()) return BadInput(where + ": \"dims\" must be an object of numbers");
  std::map<std::string, std::int64_t> own;
  for (const auto& [name, value] : dims.items()) {
    KINDRED_TRY(options.dims[name],
                ReadValues(value, fmt::format("{}: dimension '{}'", where, name)));
    own[name] = options.dims[name].front();
  }
  fs::path model = entry["path"].get<std::string>();
  if (model.is_relative()) model = folder / model;
  KINDRED_TRY(auto read, ReadModel(model.string(), options));
  if (const auto known = CheckDims(read[0].model, own); !known)
    return BadInput(fmt::format("{}: {}", where, known.error().message));
  for (TuningInput& input : read) {
    input.weight = weight;
    input.priority = priority;
    inputs.push_back(std::move(input));
  }
  return {};
}

Result<void> ReadZoo(const std::string& path, const InputOptions& options,
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
  for (const json& entry : zoo["models"])
    KINDRED_CHECK(ReadEntry(entry, fs::path(path).parent_path(),
                            fmt::format("{}: models[{}]", path, number++), options, inputs));
  return {};
}

// Every dimension that was bound must be one of some model.
Result<void> CheckUsed(const DimValues& dims, const std::vector<TuningInput>& inputs) {
  std::set<std::string> known;
  for (const TuningInput& input : inputs)
    for (const auto& [name, value] : input.model.dims) known.insert(name);
  for (const auto& [name, values] : dims) {
    if (known.contains(name)) continue;
    return BadInput(fmt::format("--dim {}: none of the models has this dimension; {}", name,
                                known.empty()
                                    ? "they have no symbolic dimensions"
                                    : fmt::format("they have '{}'", fmt::join(known, "', '"))));
  }
  return {};
}

// Files of one name are told apart by the folder they lie in, then by their whole path.
void TellApart(std::vector<TuningInput>& inputs) {
  for (const bool whole : {false, true}) {
    std::map<std::string, std::set<std::string>> paths;
    for (const TuningInput& input : inputs) paths[input.model.name].insert(input.path);
    for (TuningInput& input : inputs) {
      if (paths[input.model.name].size() == 1) continue;
      const fs::path path(input.path);
      input.model.name = (whole ? path.parent_path() : path.parent_path().filename()) / path.stem();
    }
  }
}

}  // namespace

Result<std::vector<TuningInput>> ReadInputs(const std::vector<std::string>& paths,
                                            const InputOptions& options) {
  std::vector<TuningInput> inputs;
  for (const std::string& path : paths) {
    if (fs::path(path).extension() == ".json") {
      KINDRED_CHECK(ReadZoo(path, options, inputs));
      continue;
    }
    KINDRED_TRY(auto read, ReadModel(path, options));
    std::move(read.begin(), read.end(), std::back_inserter(inputs));
  }
  KINDRED_CHECK(CheckUsed(options.dims, inputs));
  TellApart(inputs);
  for (TuningInput& input : inputs) input.model.name = NameOf(input.model, options.instances);
  return inputs;
}

Result<void> CheckDims(const ImportedModel& model,
                       const std::map<std::string, std::int64_t>& dims) {
  std::string known;
  for (const auto& [name, value] : model.dims)
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", name);
  for (const auto& [name, value] : dims)
    if (!model.dims.contains(name))
      return BadInput(fmt::format("the model has no dimension '{}'; it has {}", name,
                                  known.empty() ? "no symbolic ones" : known));
  return {};
}

TuningInput InputOfWorkloads(const std::string& name, std::vector<NamedWorkload> workloads) {
  TuningInput input;
  input.path = input.model.name = name;
  input.model.nodes = input.model.tunable = static_cast<int>(workloads.size());
  for (NamedWorkload& one : workloads) {
    ImportedTask& task = input.model.tasks.emplace_back();
    task.canonical = Canonicalize(one.workload);
    task.uses.emplace_back().nodes = {one.name};
    task.name = std::move(one.name);
    task.workload = std::move(one.workload);
  }
  return input;
}

Result<DimValues> ParseDims(const std::vector<std::string>& bindings) {
  DimValues dims;
  for (const std::string& binding : bindings) {
    const std::size_t equals = binding.find('=');
    const auto refuse = [&] {
      return BadInput(fmt::format(
          "--dim {}: write NAME=NUMBER, or NAME=NUMBER,NUMBER for several, e.g. --dim batch=1",
          binding));
    };
    if (equals == std::string::npos || equals == 0) return refuse();
    std::vector<std::int64_t>& values = dims[binding.substr(0, equals)];
    const char* at = binding.data() + equals;
    const char* const end = binding.data() + binding.size();
    while (at != end) {
      std::int64_t value = 0;
      const auto parsed = std::from_chars(at + 1, end, value);
      if (parsed.ec != std::errc{} || value < 1 || (parsed.ptr != end && *parsed.ptr != ','))
        return refuse();
      if (std::find(values.begin(), values.end(), value) != values.end())
        return BadInput(fmt::format("--dim {}: the value {} is given twice", binding, value));
      values.push_back(value);
      at = parsed.ptr;
    }
  }
  return dims;
}

}  // namespace kindred
