#include "schedules/outcome.h"

namespace kindred {

std::string_view Name(Status status) {
  switch (status) {
    case Status::kOk: return "ok";
    case Status::kBuildError: return "build_error";
    case Status::kBuildTimeout: return "build_timeout";
    case Status::kCrash: return "crash";
    case Status::kRunTimeout: return "run_timeout";
    case Status::kOutOfMemory: return "out_of_memory";
    case Status::kWrongAnswer: return "wrong_answer";
    case Status::kOutOfBounds: return "out_of_bounds";
    case Status::kRunError: return "run_error";
    case Status::kAbandoned: return "abandoned";
  }
  return "unknown";
}

}  // namespace kindred
