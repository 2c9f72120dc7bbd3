#include "tests/import/recorded_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kindred {
namespace {

NamedValues ReadValues(const nlohmann::json& list) {
  NamedValues values;
  for (const auto& entry : list) {
    TensorValues& value = values[entry.at("name")];
    const auto type = ParseDataType(entry.at("dtype").get<std::string>());
    for (const auto& x : entry.at("data")) {
      if (type && IsFloat(*type)) {
        value.floats.push_back(x.get<double>());
      } else {
        value.integers.push_back(x.is_boolean() ? static_cast<std::int64_t>(x.get<bool>())
                                                : x.get<std::int64_t>());
      }
    }
  }
  return values;
}

bool Close(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::fabs(got - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

std::string Difference(const TensorValues& got, const TensorValues& expected, double tolerance) {
  if (got.floats.size() != expected.floats.size() ||
      got.integers.size() != expected.integers.size())
    return fmt::format("{} elements, not {}", got.floats.size() + got.integers.size(),
                       expected.floats.size() + expected.integers.size());
  for (std::size_t i = 0; i < got.integers.size(); ++i)
    if (got.integers[i] != expected.integers[i])
      return fmt::format("element {} is {}, not {}", i, got.integers[i], expected.integers[i]);
  for (std::size_t i = 0; i < got.floats.size(); ++i)
    if (!Close(got.floats[i], expected.floats[i], tolerance))
      return fmt::format("element {} is {}, not {}", i, got.floats[i], expected.floats[i]);
  return "";
}

std::filesystem::path Folder(const std::string& folder) {
  return std::filesystem::path(KINDRED_TEST_MODELS) / folder;
}

}  // namespace

RecordedModel ReadRecorded(const std::string& folder, const std::string& name) {
  std::ifstream file(Folder(folder) / (name + ".json"));
  const auto json = nlohmann::json::parse(file);
  RecordedModel recorded;
  recorded.path = (Folder(folder) / (name + ".onnx")).string();
  recorded.dims = json.at("dims").get<std::map<std::string, std::int64_t>>();
  recorded.inputs = ReadValues(json.at("inputs"));
  recorded.outputs = ReadValues(json.at("outputs"));
  recorded.tolerance = json.value("tolerance", recorded.tolerance);
  return recorded;
}

std::vector<std::string> RecordedNames(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Folder(folder)))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string DifferenceFrom(const RecordedModel& recorded, const NamedValues& outputs) {
  for (const auto& [name, expected] : recorded.outputs) {
    const auto made = outputs.find(name);
    if (made == outputs.end()) return "no output " + name;
    const std::string text = Difference(made->second, expected, recorded.tolerance);
    if (!text.empty()) return name + ": " + text;
  }
  return "";
}

}  // namespace kindred
