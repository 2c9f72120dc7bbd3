#include "tuner/service/answer_book.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"
#include "tuner/record_mapping.h"

namespace kindred {

Hash128 Question::Digest() const {
  std::string text = fmt::format("{}\n{}\n{}\n", key, target, epoch.value_or(-1));
  text += constraints.Text();
  text += '\n';
  text += workload;
  return HashOf(text);
}

KeptAnswerPtr AnswerBook::Find(const Hash128& question) const {
  MutexLock lock(mutex_);
  const auto found = kept_.find(question);
  return found == kept_.end() ? nullptr : found->second.answer;
}

Result<Workload> AnswerBook::WorkloadOf(const Question& question) const {
  if (question.key.empty()) return ParseWorkload(question.workload, "workload");
  KINDRED_TRY(const auto record, log_.FindWorkload(question.key));
  if (!record)
    return NotFound(
        fmt::format("key {} is not in the log; ask with the workload itself (POST /v1/query), then "
                    "there is always an answer",
                    question.key));
  return ParseWorkload(record->text, "the log's workload " + question.key);
}

Result<KeptAnswerPtr> AnswerBook::Answer(const Question& question) {
  KINDRED_TRY(Workload workload, WorkloadOf(question));
  KINDRED_TRY(const Target target, targets_.Find(question.target));
  KINDRED_TRY(const std::int64_t before, log_.Epoch());
  const CanonicalWorkload canonical = Canonicalize(workload);
  const std::string name = workload.name;
  KINDRED_TRY(
      const KernelPackage package,
      AnswerQuery(&log_, {std::move(workload), target, question.epoch, question.constraints}));
  auto answer = std::make_shared<KeptAnswer>();
  answer->body = std::make_shared<const std::string>(ToJson(package).dump());
  answer->etag = fmt::format("\"{}\"", HashOf(*answer->body).Hex());
  answer->workload = package.key;
  answer->target = question.target;
  answer->match = package.match;
  Keep(question.Digest(), answer, question.epoch.has_value(), before);
  if (question.key.empty()) {
    MutexLock lock(mutex_);
    unlogged_.try_emplace(package.key, ToRecord(canonical, name));
  }
  return KeptAnswerPtr(answer);
}

void AnswerBook::Keep(const Hash128& question, const KeptAnswerPtr& answer, bool pinned,
                      std::int64_t epoch) {
  MutexLock lock(mutex_);
  if (!pinned && epoch < epoch_) return;  // overtaken while it was made
  if (bytes_ + answer->body->size() > kMostBytes) {
    kept_.clear();
    bytes_ = 0;
  }
  if (!kept_.insert_or_assign(question, Kept{answer, pinned}).second) return;
  bytes_ += answer->body->size();
}

Result<void> AnswerBook::Refresh() {
  std::int64_t seen = 0;
  {
    MutexLock lock(mutex_);
    seen = epoch_;
  }
  KINDRED_TRY(const std::int64_t now, log_.Epoch());
  if (now == seen) return {};
  KINDRED_TRY(const auto measured, log_.MeasuredSince(seen));
  std::map<std::string, bool> touched;
  for (const auto& [workload, target] : measured) touched[workload] = true;
  MutexLock lock(mutex_);
  epoch_ = now;
  for (auto it = kept_.begin(); it != kept_.end();) {
    const Kept& kept = it->second;
    const bool estimated = kept.answer->match > MatchLevel::kDevice;
    if (kept.pinned || (!estimated && !touched.contains(kept.answer->workload))) {
      ++it;
      continue;
    }
    bytes_ -= kept.answer->body->size();
    it = kept_.erase(it);
  }
  return {};
}

void AnswerBook::Count(const KeptAnswer& answer) {
  MutexLock lock(mutex_);
  ++counts_[{answer.workload, answer.target}];
}

Result<void> AnswerBook::WriteCounts() {
  LogBatch batch;
  {
    MutexLock lock(mutex_);
    if (counts_.empty()) return {};
    const std::int64_t now = NowMs();
    for (const auto& [asked, times] : counts_) {
      batch.asked.push_back({asked.first, asked.second, times, static_cast<double>(times), now});
      if (const auto found = unlogged_.find(asked.first); found != unlogged_.end())
        batch.workloads.push_back(found->second);
    }
  }
  KINDRED_CHECK(log_.Append(batch));
  MutexLock lock(mutex_);
  for (const AskedRecord& written : batch.asked) {
    const auto count = counts_.find({written.workload, written.target});
    if ((count->second -= written.times) == 0) counts_.erase(count);
  }
  for (const WorkloadRecord& written : batch.workloads) unlogged_.erase(written.key);
  return {};
}

std::size_t AnswerBook::size() const {
  MutexLock lock(mutex_);
  return kept_.size();
}

std::int64_t AnswerBook::epoch() const {
  MutexLock lock(mutex_);
  return epoch_;
}

}  // namespace kindred
