#include "tests/bench/searchers/measurement_record.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/target_json.h"

namespace kindred::bench {
namespace {

using nlohmann::json;

json ToJson(const std::string& workload, const std::string& kernel, const Outcome& outcome) {
  json line = {{"workload", workload},
               {"kernel", kernel},
               {"status", Name(outcome.status)},
               {"median_ns", outcome.median_ns},
               {"samples", outcome.samples.size()},
               {"validated", outcome.validated},
               {"control_ns", outcome.control_ns},
               {"build_s", outcome.build_s},
               {"run_s", outcome.run_s}};
  if (!outcome.message.empty()) line["message"] = outcome.message;
  return line;
}

Outcome ToOutcome(const json& line) {
  Outcome outcome;
  const auto status = line.at("status").get<std::string>();
  for (int i = 0; i <= static_cast<int>(Status::kAbandoned); ++i)
    if (Name(static_cast<Status>(i)) == status) outcome.status = static_cast<Status>(i);
  outcome.message = line.value("message", "");
  outcome.median_ns = line.at("median_ns");
  if (outcome.Timed()) outcome.samples.assign(1, outcome.median_ns);
  outcome.validated = line.at("validated");
  outcome.control_ns = line.at("control_ns");
  outcome.build_s = line.at("build_s");
  outcome.run_s = line.at("run_s");
  return outcome;
}

}  // namespace

// `complete_bytes`: up to the end of the last whole line.
Result<void> MeasurementRecord::Read(std::uintmax_t& complete_bytes) {
  std::ifstream file(path_);
  if (!file) return Environment(path_ + " cannot be read");
  std::string text;
  complete_bytes = 0;
  for (int number = 1; std::getline(file, text) && !file.eof(); ++number) {
    complete_bytes += text.size() + 1;
    try {
      const json line = json::parse(text);
      if (number == 1) {
        KINDRED_TRY(target_, TargetFromJson(line.at("target")));
      } else {
        outcomes_[line.at("workload")].emplace(line.at("kernel"), ToOutcome(line));
      }
    } catch (const json::exception& error) {
      return BadInput(fmt::format("{}:{}: not a line of a record of measurements: {}", path_,
                                  number, error.what()));
    }
  }
  if (complete_bytes == 0) return BadInput(path_ + " is empty: no record of measurements");
  return {};
}

Result<MeasurementRecord> MeasurementRecord::Open(const std::string& path) {
  MeasurementRecord record(path);
  std::uintmax_t complete_bytes = 0;
  KINDRED_CHECK(record.Read(complete_bytes));
  return record;
}

Result<MeasurementRecord> MeasurementRecord::OpenOrBegin(const std::string& path,
                                                         const Target& target) {
  MeasurementRecord record(path);
  std::error_code none;
  const bool fresh = std::filesystem::file_size(path, none) == 0 || none;
  if (!fresh) {
    std::uintmax_t complete_bytes = 0;
    KINDRED_CHECK(record.Read(complete_bytes));
    if (record.target_.id != target.id || record.target_.model != target.model)
      return BadInput(fmt::format("{} was recorded on {} ({}), this is {} ({}): give another file",
                                  path, record.target_.id, record.target_.model, target.id,
                                  target.model));
    std::filesystem::resize_file(path, complete_bytes, none);
    if (none) return Environment(path + " cannot be written: " + none.message());
  }
  record.file_.open(path, std::ios::app);
  if (!record.file_) return Environment(path + " cannot be written");
  if (fresh) {
    record.target_ = target;
    KINDRED_CHECK(record.Write(json{{"target", TargetToJson(target)}}.dump()));
  }
  return record;
}

Result<void> MeasurementRecord::Write(const std::string& line) {
  file_ << line << std::endl;
  if (!file_) return Environment(path_ + " cannot be written");
  return {};
}

const Outcome* MeasurementRecord::Find(const std::string& workload,
                                       const std::string& kernel) const {
  const auto kernels = outcomes_.find(workload);
  if (kernels == outcomes_.end()) return nullptr;
  const auto found = kernels->second.find(kernel);
  return found == kernels->second.end() ? nullptr : &found->second;
}

Result<void> MeasurementRecord::Add(const std::string& workload, const std::string& kernel,
                                    const Outcome& outcome) {
  const json line = ToJson(workload, kernel, outcome);
  outcomes_[workload].emplace(kernel, ToOutcome(line));
  return Write(line.dump());
}

double MeasurementRecord::BestNs(const std::string& workload) const {
  double best = 0;
  const auto kernels = outcomes_.find(workload);
  if (kernels == outcomes_.end()) return best;
  for (const auto& [kernel, outcome] : kernels->second)
    if (outcome.Timed() && outcome.validated && (best == 0 || outcome.median_ns < best))
      best = outcome.median_ns;
  return best;
}

std::size_t MeasurementRecord::Measured(const std::string& workload) const {
  const auto kernels = outcomes_.find(workload);
  return kernels == outcomes_.end() ? 0 : kernels->second.size();
}

}  // namespace kindred::bench
