#include "measure/cpu/buffer_protocol.h"

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
                       {"random", b.random},
                       {"value", b.value},
                       {"file", b.file}});
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
    b.random = entry.at("random");
    b.value = entry.at("value");
    b.file = entry.at("file");
  }
  return request;
}

json ToJson(const TakeReferenceRequest& request) {
  return {{"do", "take_reference"},
          {"call", CallToJson(request.call)},
          {"tolerance", request.tolerance}};
}

TakeReferenceRequest TakeReferenceRequestFrom(const json& j) {
  return {CallFrom(j.at("call")), j.at("tolerance")};
}

}  // namespace kindred
