#include "database/internal/text.h"

#include <nlohmann/json.hpp>

namespace kindred {

std::string CompactJson(const std::string& json) {
  if (json == "{}" || json == "[]" || !NestsAtMost(json, kMaximumJsonDepth)) return json;
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return json;
  return parsed.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string ValidUtf8(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(quoted).get<std::string>();
}

bool NestsAtMost(std::string_view json, int depth) {
  int level = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++level > depth) return false;
    } else if (c == '}' || c == ']') {
      --level;
    }
  }
  return true;
}

}  // namespace kindred
