// How libFuzzer mutates JSON, one value to a line: every other time a part of one value is
// replaced, removed or copied from elsewhere, so that deep inputs stay JSON; all else is left to
// libFuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "schedules/base/seed.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace kindred::fuzz {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json*> PartsOf(Json& value) {
  std::vector<Json*> parts{&value};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]->is_structured()) continue;
    for (Json& part : *parts[i]) parts.push_back(&part);
  }
  return parts;
}

template <typename T>
T& Pick(std::vector<T>& items, Random& random) {
  return items[random.Below(items.size())];
}

std::string MutatedText(std::string text) {
  const std::size_t size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

void MutatePart(Json& part, std::vector<Json*>& donors, Random& random) {
  static const Json kValues[] = {nullptr,       true,          0,         -1,         1,  1e308,
                                 -0.5,          INT64_MAX,     INT64_MIN, UINT64_MAX, "", "a",
                                 Json::array(), Json::object()};
  switch (random.Below(5)) {
    case 0: part = kValues[random.Below(std::size(kValues))]; return;
    case 1: part = Json(*Pick(donors, random)); return;
    case 2:
      if (part.is_structured() && !part.empty())
        part.erase(std::next(part.begin(), static_cast<std::ptrdiff_t>(random.Below(part.size()))));
      return;
    case 3:
      if (part.is_array()) part.push_back(Json(*Pick(donors, random)));
      if (part.is_object()) part["kind"] = Json(*Pick(donors, random));
      return;
    default:
      if (part.is_string()) part = MutatedText(part.get<std::string>());
      if (part.is_number_integer())
        part = part.get<std::uint64_t>() + (random.Below(2) == 0 ? 1 : ~std::uint64_t{0});
      if (part.is_boolean()) part = !part.get<bool>();
  }
}

// Empty: no line is JSON.
std::string Mutated(std::string_view text, Random& random) {
  std::vector<Json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    Json line = Json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
    if (!line.is_discarded()) lines.push_back(std::move(line));
    at = end + 1;
  }
  if (lines.empty()) return "";
  std::vector<Json> copies = lines;
  std::vector<Json*> donors = PartsOf(Pick(copies, random));
  if (random.Below(8) == 0) lines.push_back(Json(Pick(copies, random)));
  for (std::uint64_t count = 1 + random.Below(3); count > 0; --count) {
    std::vector<Json*> parts = PartsOf(Pick(lines, random));
    MutatePart(*Pick(parts, random), donors, random);
  }
  std::string mutated;
  for (const Json& line : lines)
    mutated += line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  return mutated;
}

}  // namespace
}  // namespace kindred::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  kindred::Random random(seed);
  if (random.Below(2) == 0) {
    const std::string text =
        kindred::fuzz::Mutated({reinterpret_cast<const char*>(data), size}, random);
    if (!text.empty() && text.size() <= most) {
      std::copy(text.begin(), text.end(), data);
      return text.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
