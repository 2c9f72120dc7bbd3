#include "database/internal/rows.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <zstd.h>

#include "database/internal/text.h"

namespace kindred {
namespace {

// Compressing a kernel takes far less time than building it; level 3 is zstd's own default.
constexpr int kCompressionLevel = 3;
// Larger than any kernel: a damaged frame must not make us allocate at will.
constexpr unsigned long long kMaximumCodeBytes = 1ull << 30;

}  // namespace

void BindTarget(Query& query, const TargetRecord& record) {
  query.Bind(record.id)
      .Bind(record.name)
      .Bind(CompactJson(record.fingerprint))
      .Bind(CompactJson(record.description))
      .Bind(record.cache_state);
}

void BindWorkload(Query& query, const WorkloadRecord& record) {
  query.Bind(record.key)
      .Bind(record.structure)
      .Bind(record.name)
      .Bind(record.text)
      .Bind(CompactJson(record.json));
  query.Bind(record.flop).Bind(record.bytes);
}

void BindSession(Query& query, const SessionRecord& record) {
  query.Bind(record.id)
      .Bind(record.target)
      .Bind(CompactJson(record.inputs))
      .Bind(CompactJson(record.options));
  query.Bind(static_cast<std::int64_t>(record.seed)).Bind(record.version).Bind(record.state);
  query.Bind(record.started_ms).Bind(record.updated_ms).Bind(CompactJson(record.summary));
  query.Bind(std::int64_t{record.imported});
}

void BindTask(Query& query, const TaskRecord& record) {
  query.Bind(record.session).Bind(record.workload).Bind(record.position).Bind(record.name);
  query.BindOrNull(std::string_view(record.family))
      .Bind(CompactJson(record.uses))
      .Bind(record.weight);
  query.BindOrNull(record.untuned_ns).Bind(CompactJson(record.untuned));
}

void BindModel(Query& query, const ModelRecord& record) {
  query.Bind(record.target)
      .Bind(record.name)
      .Bind(record.kind)
      .Bind(CompactJson(record.metrics))
      .Bind(record.epoch);
  query.BindBlob(record.blob);
}

void BindJob(Query& query, const JobRecord& record) {
  query.Bind(record.id)
      .Bind(record.name)
      .Bind(record.target)
      .Bind(CompactJson(record.inputs))
      .Bind(CompactJson(record.options))
      .Bind(record.priority)
      .Bind(record.state)
      .BindOrNull(record.session)
      .Bind(ValidUtf8(record.message))
      .Bind(CompactJson(record.summary))
      .Bind(record.attempts)
      .Bind(record.created_ms);
  for (const std::int64_t instant : {record.started_ms, record.ended_ms})
    instant == 0 ? query.BindNull() : query.Bind(instant);
}

void BindAsked(Query& query, const AskedRecord& record) {
  query.Bind(record.workload)
      .Bind(record.target)
      .Bind(record.times)
      .Bind(record.weight)
      .Bind(record.last_ms);
}

void BindProfile(Query& query, const ProfileRecord& record) {
  query.Bind(record.trial)
      .Bind(CompactJson(record.metrics))
      .Bind(record.cache_state)
      .Bind(record.driver)
      .Bind(record.version)
      .Bind(record.worker)
      .Bind(record.time_ms);
}

void BindTrial(Query& query, const TrialRecord& record) {
  query.Bind(record.session)
      .Bind(record.round)
      .Bind(record.position)
      .Bind(record.workload)
      .Bind(record.target);
  query.Bind(record.searcher)
      .Bind(record.sketch)
      .Bind(record.schedule_key)
      .Bind(CompactJson(record.schedule));
  query.Bind(record.status).Bind(ValidUtf8(record.message)).BindOrNull(record.median_ns);
  query.Bind(SamplesToText(record.samples))
      .BindOrNull(record.control_ns)
      .BindOrNull(record.predicted_ns);
  query.Bind(record.cache_state)
      .Bind(std::int64_t{record.validated})
      .Bind(record.build_s)
      .Bind(record.run_s);
  query.Bind(CompactJson(record.build_facts)).BindOrNull(std::string_view(record.kernel));
  query.BindOrNull(std::string_view(record.binary))
      .Bind(record.compiler)
      .Bind(record.flags)
      .Bind(record.driver);
  query.Bind(record.version)
      .Bind(record.worker)
      .Bind(record.time_ms)
      .Bind(CompactJson(record.conditions));
}

TargetRecord ReadTarget(const Query& query) {
  return {query.Text(0), query.Text(1), query.Text(2), query.Text(3), query.Text(4)};
}

WorkloadRecord ReadWorkload(const Query& query) {
  return {query.Text(0), query.Text(1),    query.Text(2),   query.Text(3),
          query.Text(4), query.Integer(5), query.Integer(6)};
}

SessionRecord ReadSession(const Query& query) {
  SessionRecord record;
  record.id = query.Text(0);
  record.target = query.Text(1);
  record.inputs = query.Text(2);
  record.options = query.Text(3);
  record.seed = static_cast<std::uint64_t>(query.Integer(4));
  record.version = query.Text(5);
  record.state = query.Text(6);
  record.started_ms = query.Integer(7);
  record.updated_ms = query.Integer(8);
  record.summary = query.Text(9);
  record.imported = query.Integer(10) != 0;
  return record;
}

TaskRecord ReadTask(const Query& query) {
  TaskRecord record;
  record.session = query.Text(0);
  record.workload = query.Text(1);
  record.position = query.Integer(2);
  record.name = query.Text(3);
  record.family = query.Text(4);
  record.uses = query.Text(5);
  record.weight = query.Real(6);
  record.untuned_ns = query.Real(7);
  record.untuned = query.Text(8);
  return record;
}

ModelRecord ReadModel(const Query& query) {
  return {query.Text(0), query.Text(1),    query.Text(2),
          query.Text(3), query.Integer(4), query.Text(5)};
}

JobRecord ReadJob(const Query& query) {
  return {query.Text(0),     query.Text(1),     query.Text(2),     query.Text(3),    query.Text(4),
          query.Real(5),     query.Text(6),     query.Text(7),     query.Text(8),    query.Text(9),
          query.Integer(10), query.Integer(11), query.Integer(12), query.Integer(13)};
}

AskedRecord ReadAsked(const Query& query) {
  return {query.Text(0), query.Text(1), query.Integer(2), query.Real(3), query.Integer(4)};
}

ProfileRecord ReadProfile(const Query& query) {
  return {query.Integer(0), query.Text(1), query.Text(2),   query.Text(3),
          query.Text(4),    query.Text(5), query.Integer(6)};
}

Result<TrialRecord> ReadTrial(const Query& query) {
  TrialRecord record;
  int column = 0;
  record.id = query.Integer(column++);
  record.session = query.Text(column++);
  record.round = query.Integer(column++);
  record.position = query.Integer(column++);
  record.workload = query.Text(column++);
  record.target = query.Text(column++);
  record.searcher = query.Text(column++);
  record.sketch = query.Text(column++);
  record.schedule_key = query.Text(column++);
  record.schedule = query.Text(column++);
  record.status = query.Text(column++);
  record.message = query.Text(column++);
  record.median_ns = query.Real(column++);
  auto samples = SamplesFromText(query.Text(column++));
  if (!samples)
    return Environment(fmt::format("trial {} is damaged: {}; see `kindred log verify`", record.id,
                                   samples.error().message));
  record.samples = std::move(*samples);
  record.control_ns = query.Real(column++);
  record.predicted_ns = query.Real(column++);
  record.cache_state = query.Text(column++);
  record.validated = query.Integer(column++) != 0;
  record.build_s = query.Real(column++);
  record.run_s = query.Real(column++);
  record.build_facts = query.Text(column++);
  record.kernel = query.Text(column++);
  record.binary = query.Text(column++);
  record.compiler = query.Text(column++);
  record.flags = query.Text(column++);
  record.driver = query.Text(column++);
  record.version = query.Text(column++);
  record.worker = query.Text(column++);
  record.time_ms = query.Integer(column++);
  record.conditions = query.Text(column++);
  return record;
}

TrialRecord Normalised(TrialRecord record) {
  record.message = ValidUtf8(record.message);
  for (std::string* json : {&record.schedule, &record.build_facts, &record.conditions})
    *json = CompactJson(*json);
  return record;
}

std::string SamplesToText(const std::vector<double>& samples) {
  return fmt::format("[{}]", fmt::join(samples, ","));
}

Result<std::vector<double>> SamplesFromText(std::string_view text) {
  const auto damaged = [&] {
    return BadInput(fmt::format("its samples are no list of numbers: {:.60}", text));
  };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return damaged();
  std::vector<double> samples;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at != end) {
    while (at != end && *at == ' ') ++at;
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return damaged();
    samples.push_back(value);
    at = next;
    if (at != end && *at++ != ',') return damaged();
  }
  return samples;
}

bool IsMedian(double median, std::vector<double> samples) {
  if (samples.empty()) return median == 0;
  std::sort(samples.begin(), samples.end());
  constexpr double kRounding = 1e-9;
  const double low = samples[(samples.size() - 1) / 2];
  const double high = samples[samples.size() / 2];
  return median >= low * (1 - kRounding) && median <= high * (1 + kRounding);
}

Result<std::string> Compress(std::string_view text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), kCompressionLevel);
  if (ZSTD_isError(size) != 0)
    return Environment(fmt::format("code cannot be compressed ({})", ZSTD_getErrorName(size)));
  bytes.resize(size);
  return bytes;
}

Result<std::string> Decompress(std::string_view bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
      size > kMaximumCodeBytes)
    return Environment("its code is no zstd frame");
  std::string text(static_cast<std::size_t>(size), '\0');
  const std::size_t read = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(read) != 0 || read != text.size())
    return Environment(
        fmt::format("its code cannot be decompressed ({})", ZSTD_getErrorName(read)));
  return text;
}

std::string Placeholders(std::string_view columns) {
  const auto commas = std::count(columns.begin(), columns.end(), ',');
  std::string text = "?";
  for (auto i = commas; i > 0; --i) text += ", ?";
  return text;
}

}  // namespace kindred
