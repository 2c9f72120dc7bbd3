// Times expert libraries, and kernels of ours, on one of the ten subgraphs: one process, one
// thread, hot, interleaved.
//
// Prints one JSON object: versions, and for each contestant minimum and median time, the samples,
// and the largest difference from a reference in double precision relative to the largest value of
// that reference.
#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/peers/contestant.h"
#include "tests/bench/peers/timing.h"

namespace kindred {
namespace {

constexpr const char* kUsage =
    "usage: peer_libraries SUBGRAPH [--openblas LIBRARY] [--kernel MANIFEST]... [--seconds S]\n"
    "       peer_libraries --list\n";

struct Options {
  std::string subgraph, openblas;
  std::vector<std::string> kernels;
  double seconds = 5;
};

std::optional<Options> ReadOptions(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--openblas" && has_value) {
      options.openblas = words[++i];
    } else if (words[i] == "--kernel" && has_value) {
      options.kernels.push_back(words[++i]);
    } else if (words[i] == "--seconds" && has_value) {
      options.seconds = std::stod(words[++i]);
    } else if (!words[i].starts_with("-") && options.subgraph.empty()) {
      options.subgraph = words[i];
    } else {
      return std::nullopt;
    }
  }
  if (options.subgraph.empty()) return std::nullopt;
  return options;
}

double LargestDifference(const Floats& reference, const Floats& made) {
  if (reference.size() != made.size()) return INFINITY;
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < reference.size(); ++i) {
    const double expected = reference.data()[i];
    largest = std::max(largest, std::abs(expected));
    const double here = std::abs(expected - made.data()[i]);
    difference = std::isnan(here) ? INFINITY : std::max(difference, here);
  }
  return difference / largest;
}

int Run(const Options& options) {
  const auto& all = Subgraphs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Subgraph& subgraph) {
    return subgraph.name == options.subgraph;
  });
  if (found == all.end()) {
    std::cerr << "no subgraph " << options.subgraph << "; peer_libraries --list names them\n";
    return 2;
  }
  const Arrays arrays = MakeArrays(*found);
  nlohmann::json report{{"workload", found->name}, {"versions", {{"onednn", OneDnnVersion()}}}};

  std::vector<Contestant> contestants;
  for (const std::string& manifest : options.kernels) {
    contestants.push_back(KernelContestant(manifest, *found, arrays));
  }
  for (Contestant& contestant : OneDnnContestants(*found, arrays)) {
    contestants.push_back(std::move(contestant));
  }
  if (!options.openblas.empty()) {
    const OpenBlas openblas(options.openblas);
    report["versions"]["openblas"] = openblas.Version();
    for (Contestant& contestant : openblas.Contestants(*found, arrays)) {
      contestants.push_back(std::move(contestant));
    }
  }

  const std::vector<Timing> timings = TimeInterleaved(contestants, options.seconds);
  const Floats reference = Reference(*found, arrays);
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    nlohmann::json result{{"name", contestants[i].name},
                          {"detail", contestants[i].detail},
                          {"min_ns", timings[i].Minimum()},
                          {"median_ns", timings[i].Median()},
                          {"runs_per_sample", timings[i].runs_per_sample},
                          {"samples_ns", timings[i].samples_ns}};
    if (contestants[i].whole) {
      contestants[i].run();
      result["difference"] = LargestDifference(reference, contestants[i].output());
    }
    report["results"].push_back(std::move(result));
  }
  std::cout << report.dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace kindred

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words == std::vector<std::string>{"--list"}) {
    for (const kindred::Subgraph& subgraph : kindred::Subgraphs())
      std::cout << subgraph.name << "\n";
    return 0;
  }
  try {
    const auto options = kindred::ReadOptions(words);
    if (!options) {
      std::cerr << kindred::kUsage;
      return 2;
    }
    return kindred::Run(*options);
  } catch (const std::exception& error) {
    std::cerr << "peer_libraries: " << error.what() << "\n";
    return 1;
  }
}
