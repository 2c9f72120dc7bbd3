#include "tuner/service/metrics.h"

#include <fmt/format.h>

namespace kindred {

void Metrics::CountRequest(const std::string& endpoint, int status, std::chrono::nanoseconds took) {
  const double seconds = std::chrono::duration<double>(took).count();
  MutexLock lock(mutex_);
  ++requests_[{endpoint, status}];
  Durations& durations = durations_[endpoint];
  ++durations.all;
  durations.seconds += seconds;
  for (std::size_t i = 0; i < kBuckets.size(); ++i)
    if (seconds <= kBuckets[i]) {
      ++durations.counts[i];
      break;
    }
}

void Metrics::CountAnswer(MatchLevel match, bool kept) {
  MutexLock lock(mutex_);
  ++answers_[{match, kept}];
}

std::string Metrics::Text(const std::map<std::string, Gauge>& gauges) const {
  std::string text;
  auto out = std::back_inserter(text);
  const auto head = [&](const char* name, const char* kind, std::string_view help) {
    fmt::format_to(out, "# HELP kindred_{} {}\n# TYPE kindred_{} {}\n", name, help, name, kind);
  };
  MutexLock lock(mutex_);
  head("http_requests_total", "counter", "Requests by endpoint and status.");
  for (const auto& [labels, count] : requests_)
    fmt::format_to(out, "kindred_http_requests_total{{endpoint=\"{}\",status=\"{}\"}} {}\n",
                   labels.first, labels.second, count);
  head("http_request_duration_seconds", "histogram", "From a request's last byte to its answer.");
  for (const auto& [endpoint, durations] : durations_) {
    std::int64_t below = 0;
    for (std::size_t i = 0; i < kBuckets.size(); ++i) {
      below += durations.counts[i];
      fmt::format_to(
          out, "kindred_http_request_duration_seconds_bucket{{endpoint=\"{}\",le=\"{}\"}} {}\n",
          endpoint, kBuckets[i], below);
    }
    fmt::format_to(out,
                   "kindred_http_request_duration_seconds_bucket{{endpoint=\"{0}\",le=\"+Inf\"}} "
                   "{1}\nkindred_http_request_duration_seconds_sum{{endpoint=\"{0}\"}} {2}\n"
                   "kindred_http_request_duration_seconds_count{{endpoint=\"{0}\"}} {1}\n",
                   endpoint, durations.all, durations.seconds);
  }
  head("answers_total", "counter",
       "Schedules given, by match level and whether the answer was kept from before.");
  for (const auto& [labels, count] : answers_)
    fmt::format_to(out, "kindred_answers_total{{match=\"{}\",kept=\"{}\"}} {}\n",
                   Name(labels.first), labels.second ? "yes" : "no", count);
  for (const auto& [name, gauge] : gauges) {
    head(name.c_str(), "gauge", gauge.help);
    fmt::format_to(out, "kindred_{} {}\n", name, gauge.value);
  }
  return text;
}

}  // namespace kindred
