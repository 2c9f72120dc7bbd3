#include "measure/internal/buffer_protocol.h"

#include <nlohmann/json.hpp>

namespace kindred {

using nlohmann::json;

json ToJson(const OpenBuffersRequest& request) {
  json buffers = json::array();
  for (const UserBuffer& b : request.buffers)
    buffers.push_back({{"name", b.name},
                       {"type", std::string(Name(b.type))},
                       {"elements", b.elements},
                       {"read", b.read},
                       {"written", b.written},
                       {"scratch", b.scratch},
                       {"constant", b.constant},
                       {"tolerance", b.tolerance},
                       {"random", b.random},
                       {"value", b.value},
                       {"file", b.file},
                       {"file_offset", b.file_offset}});
  return {{"do", "open_buffers"},
          {"buffers", std::move(buffers)},
          {"seed", std::to_string(request.seed)},
          {"cpus", request.cpus}};
}

OpenBuffersRequest OpenBuffersRequestFrom(const json& j) {
  OpenBuffersRequest request;
  request.seed = std::stoull(j.at("seed").get<std::string>());
  request.cpus = j.at("cpus").get<std::vector<int>>();
  for (const json& entry : j.at("buffers")) {
    UserBuffer& b = request.buffers.emplace_back();
    b.name = entry.at("name");
    b.type = ParseDataType(entry.at("type").get<std::string>()).value();
    b.elements = entry.at("elements");
    b.read = entry.at("read");
    b.written = entry.at("written");
    b.scratch = entry.at("scratch");
    b.constant = entry.at("constant");
    b.tolerance = entry.at("tolerance");
    b.random = entry.at("random");
    b.value = entry.at("value");
    b.file = entry.at("file");
    b.file_offset = entry.at("file_offset");
  }
  return request;
}

json ToJson(const TakeReferenceRequest& request) {
  return {
      {"do", "take_reference"}, {"call", CallToJson(request.call)}, {"save_to", request.save_to}};
}

TakeReferenceRequest TakeReferenceRequestFrom(const json& j) {
  return {CallFrom(j.at("call")), j.at("save_to")};
}

}  // namespace kindred
