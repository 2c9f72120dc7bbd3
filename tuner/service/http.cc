#include "tuner/service/http.h"

#include <nlohmann/json.hpp>

namespace kindred {

const std::string* HttpRequest::Parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters)
    if (key == name) return &value;
  return nullptr;
}

HttpResponse TextResponse(int status, std::string content_type, std::string body) {
  HttpResponse response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.body = std::make_shared<const std::string>(std::move(body));
  return response;
}

HttpResponse ErrorResponse(int status, std::string_view message) {
  const nlohmann::json body = {{"error", {{"status", status}, {"message", message}}}};
  return TextResponse(status, "application/json",
                      body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::optional<std::string> PercentDecode(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = digit(text[i + 1]), low = digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    decoded.push_back(c);
  }
  return decoded;
}

}  // namespace kindred
