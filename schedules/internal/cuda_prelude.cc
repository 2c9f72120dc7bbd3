#include "schedules/internal/cuda_prelude.h"

#include <cctype>
#include <cstddef>
#include <set>
#include <vector>

namespace kindred::internal {
namespace {

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Adds the identifiers of `text` that may be the prelude's.
void CollectWords(std::string_view text, std::set<std::string_view>* words) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (!IsWordChar(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && IsWordChar(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (word.starts_with("kd_") || word.starts_with("KD_")) words->insert(word);
    at = end;
  }
}

bool DefinesOneOf(const PreludePart& part, const std::set<std::string_view>& words) {
  std::set<std::string_view> defined;
  CollectWords(part.words, &defined);
  for (const std::string_view word : defined)
    if (words.contains(word)) return true;
  return false;
}

}  // namespace

std::string CudaPrelude(std::string_view kernel_text) {
  std::vector<const PreludePart*> parts;
  for (const PreludePart& part : PreludeDeviceParts()) parts.push_back(&part);
  for (const PreludePart& part : PreludeMathParts()) parts.push_back(&part);

  std::set<std::string_view> words;
  CollectWords(kernel_text, &words);
  std::vector<const PreludePart*> needed;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!DefinesOneOf(**part, words)) continue;
    needed.push_back(*part);
    CollectWords((*part)->text, &words);
  }
  std::string text;
  bool device_only = false;
  const auto enter = [&](bool is_device_only) {
    if (is_device_only != device_only)
      text += is_device_only ? "#ifndef KINDRED_CUDA_EMULATION\n" : "#endif\n";
    device_only = is_device_only;
  };
  for (auto part = needed.rbegin(); part != needed.rend(); ++part) {
    enter(!(*part)->portable);
    text += (*part)->text;
  }
  enter(false);
  return text;
}

}  // namespace kindred::internal
