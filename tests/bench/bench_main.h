// What the main functions of the benchmarks have in common.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "schedules/base/result.h"

namespace kindred::bench {

// Values with commas between, e.g. --seeds 0,1,2.
template <typename Value>
CLI::Option* AddList(CLI::App& app, const std::string& name, std::vector<Value>& values,
                     const std::string& help) {
  return app.add_option(name, values, help)->delimiter(',')->allow_extra_args(false);
}

inline void AddSeeds(CLI::App& app, std::vector<std::uint64_t>& seeds) {
  AddList(app, "--seeds", seeds, "Numbers, with commas between")->capture_default_str();
}

// Parses the command line, runs, and prints the report on standard output, or the error on standard
// error. Returns the exit code.
inline int ParseAndReport(CLI::App& app, int argc, char** argv, const char* name,
                          const std::function<Result<std::string>()>& run) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Result<std::string> report = run();
  if (!report) {
    fmt::print(stderr, "{}: {}\n", name, report.error().message);
    return ExitCode(report.error());
  }
  fmt::print("{}\n", *report);
  return 0;
}

}  // namespace kindred::bench
