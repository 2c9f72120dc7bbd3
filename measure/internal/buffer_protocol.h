// What runner and worker say to each other beyond measure/internal/protocol.h, for kernels that are
// not of a workload.
//
//   {"do":"open_buffers", "buffers":[BUFFER], "seed":"N", "cpus":[..]}   allocates and fills them
//   {"do":"take_reference", "call":CALL, "save_to":FOLDER}   runs a kernel: what it writes is right
//                                          from now on. Answers an Outcome.
//
//   BUFFER = {"name","type","elements","read","written","scratch","constant","tolerance","random",
//             "value","file","file_offset"}
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "measure/internal/protocol.h"
#include "measure/kernel_runner.h"

namespace kindred {

struct OpenBuffersRequest {
  std::vector<UserBuffer> buffers;
  std::uint64_t seed = 0;
  std::vector<int> cpus;
};

struct TakeReferenceRequest {
  KernelCall call;
  std::string save_to;
};

nlohmann::json ToJson(const OpenBuffersRequest& request);
nlohmann::json ToJson(const TakeReferenceRequest& request);
// They throw nlohmann::json::exception on a malformed object.
OpenBuffersRequest OpenBuffersRequestFrom(const nlohmann::json& json);
TakeReferenceRequest TakeReferenceRequestFrom(const nlohmann::json& json);

}  // namespace kindred
