#include "measure/recorded/recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "schedules/user/json_value.h"

namespace kindred {
namespace {

using json = nlohmann::ordered_json;

// Older versions of Kernel Tuner write this for a configuration that failed.
constexpr double kFailedMs = 1e20;

struct Mended {
  std::string text;
  std::size_t after_entry = 0;  // behind the last whole entry of an object in the outermost one
};

// Python writes numbers that are not finite as bare words, which JSON does not have: they become
// strings.
Mended Mend(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};
  Mended mended;
  mended.text.reserve(text.size());
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      mended.text += c;
      if (c == '\\' && i + 1 < text.size()) mended.text += text[++i];
      quoted = c != '"';
      continue;
    }
    if (c == '-' || c == 'I' || c == 'N') {
      const auto word = std::find_if(kWords.begin(), kWords.end(), [&](std::string_view w) {
        return text.substr(i, w.size()) == w;
      });
      if (word != kWords.end()) {
        mended.text.append("\"").append(*word).append("\"");
        i += word->size() - 1;
        continue;
      }
    }
    mended.text += c;
    quoted = c == '"';
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == '}' && depth == 2) mended.after_entry = mended.text.size();
  }
  return mended;
}

// Where an entry's values and results stand in the two formats.
struct Entry {
  const json* configuration = nullptr;
  json time;
  const json* samples = nullptr;
  std::string invalidity;
};

Entry OfCache(const json& entry) {
  Entry found{&entry, {}, nullptr, {}};
  if (entry.contains("time")) found.time = entry["time"];
  if (entry.contains("times")) found.samples = &entry["times"];
  return found;
}

Entry OfT4(const json& entry) {
  Entry found;
  if (entry.contains("configuration")) found.configuration = &entry["configuration"];
  if (entry.contains("invalidity") && entry["invalidity"].is_string() &&
      entry["invalidity"] != "correct")
    found.invalidity = entry["invalidity"].get<std::string>();
  if (entry.contains("times") && entry["times"].is_object() && entry["times"].contains("runtimes"))
    found.samples = &entry["times"]["runtimes"];
  if (!entry.contains("measurements")) return found;
  for (const json& measurement : entry["measurements"])
    if (measurement.is_object() && measurement.contains("value") &&
        measurement.value("name", json()) == "time")
      found.time = measurement["value"];
  return found;
}

void ReadTime(const Entry& entry, RecordedTrial& trial, Recording& recording) {
  const bool not_finite = entry.time == "NaN" || entry.time == "Infinity" ||
                          entry.time == "-Infinity" ||
                          (entry.time.is_number() && !std::isfinite(entry.time.get<double>()));
  if (not_finite) {
    trial.failure = "its time is not finite";
    ++recording.not_finite;
  } else if (entry.time.is_string()) {
    trial.failure = entry.time.get<std::string>();
  } else if (!entry.invalidity.empty()) {
    trial.failure = entry.invalidity;
  } else if (!entry.time.is_number()) {
    trial.failure = "it has no time";
  } else if (!(entry.time.get<double>() > 0)) {
    trial.failure = "its time is not positive";
  } else if (entry.time.get<double>() >= kFailedMs) {
    trial.failure = "failed";
  } else {
    trial.ms = entry.time.get<double>();
    if (entry.samples != nullptr && entry.samples->is_array())
      for (const json& sample : *entry.samples)
        if (sample.is_number() && std::isfinite(sample.get<double>()))
          trial.samples_ms.push_back(sample.get<double>());
  }
}

Result<std::uint16_t> IndexOfValue(TunableParameter& parameter, const Value& value, bool grow,
                                   std::string_view source) {
  for (std::size_t i = 0; i < parameter.values.size(); ++i)
    if (Equal(parameter.values[i], value)) return static_cast<std::uint16_t>(i);
  if (!grow || parameter.values.size() == 65535)
    return BadInput(fmt::format("{}: {} is no value of the parameter '{}'", source, Repr(value),
                                parameter.name));
  parameter.values.push_back(value);
  return static_cast<std::uint16_t>(parameter.values.size() - 1);
}

// Values that were met in the order of entries, in their own order.
void SortValues(Recording& recording) {
  for (std::size_t p = 0; p < recording.parameters.size(); ++p) {
    auto& values = recording.parameters[p].values;
    if (!std::all_of(values.begin(), values.end(), [](const Value& v) { return v.IsNumber(); }))
      continue;
    std::vector<std::uint16_t> order(values.size()), rank(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](std::uint16_t a, std::uint16_t b) {
      return values[a].Number() < values[b].Number();
    });
    std::vector<Value> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = static_cast<std::uint16_t>(i);
      sorted.push_back(values[order[i]]);
    }
    values = std::move(sorted);
    for (RecordedTrial& trial : recording.trials)
      trial.configuration[p] = rank[trial.configuration[p]];
  }
}

Result<bool> ReadParameters(const json& recorded, const json& first, Recording& recording,
                            std::string_view source) {
  if (recorded.contains("tune_params") && recorded["tune_params"].is_object()) {
    for (const auto& [name, values] : recorded["tune_params"].items()) {
      const auto list = ValueFromJson(values);
      if (!list || !list->List())
        return BadInput(fmt::format("{}: tune_params.{} is no list of values", source, name));
      recording.parameters.push_back({name, *list->List()});
    }
    return false;
  }
  if (!first.is_object())
    return BadInput(fmt::format("{}: its first entry has no configuration", source));
  if (recorded.contains("cache"))
    return BadInput(fmt::format("{}: tune_params is missing", source));
  for (const auto& [name, value] : first.items()) recording.parameters.push_back({name, {}});
  return true;
}

Result<void> ReadEntries(const std::vector<Entry>& entries, bool grow, Recording& recording,
                         std::string_view source) {
  std::set<std::vector<std::uint16_t>> seen;
  for (const Entry& entry : entries) {
    RecordedTrial trial;
    for (TunableParameter& parameter : recording.parameters) {
      const bool there = entry.configuration != nullptr && entry.configuration->is_object() &&
                         entry.configuration->contains(parameter.name);
      const auto value =
          there ? ValueFromJson((*entry.configuration)[parameter.name]) : std::nullopt;
      if (!value)
        return BadInput(fmt::format("{}: an entry has no value for the parameter '{}'", source,
                                    parameter.name));
      KINDRED_TRY(const std::uint16_t index, IndexOfValue(parameter, *value, grow, source));
      trial.configuration.push_back(index);
    }
    if (!seen.insert(trial.configuration).second) continue;
    ReadTime(entry, trial, recording);
    recording.trials.push_back(std::move(trial));
  }
  return {};
}

std::string TextIn(const json& recorded, const char* name) {
  return recorded.contains(name) && recorded[name].is_string() ? recorded[name].get<std::string>()
                                                               : "";
}

}  // namespace

Result<Recording> ParseRecording(std::string_view text, std::string_view source) {
  const Mended mended = Mend(text);
  Recording recording;
  json recorded = json::parse(mended.text, nullptr, false);
  if (recorded.is_discarded() && mended.after_entry > 0) {
    const std::string whole = mended.text.substr(0, mended.after_entry);
    for (const char* const end : {"}}", "]}"}) {
      recorded = json::parse(whole + end, nullptr, false);
      if (!recorded.is_discarded()) break;
    }
    recording.truncated = true;
  }
  std::vector<Entry> entries;
  if (recorded.is_object() && recorded.contains("cache") && recorded["cache"].is_object()) {
    for (const auto& [name, entry] : recorded["cache"].items()) entries.push_back(OfCache(entry));
  } else if (recorded.is_object() && recorded.contains("results") &&
             recorded["results"].is_array()) {
    for (const json& entry : recorded["results"]) entries.push_back(OfT4(entry));
  } else {
    return BadInput(
        fmt::format("{}: is neither a cache of Kernel Tuner nor results in T4", source));
  }
  if (entries.empty()) return BadInput(fmt::format("{}: has no configurations", source));
  const json none;
  recording.kernel = TextIn(recorded, "kernel_name");
  recording.device = TextIn(recorded, "device_name");
  KINDRED_TRY(const bool grow,
              ReadParameters(recorded, entries[0].configuration ? *entries[0].configuration : none,
                             recording, source));
  KINDRED_CHECK(ReadEntries(entries, grow, recording, source));
  if (grow) SortValues(recording);
  return recording;
}

}  // namespace kindred
