// A worker process's side of the protocol: one request at a time, in the order they come.
#pragma once

#include <functional>

#include <nlohmann/json_fwd.hpp>

#include "measure/internal/protocol.h"
#include "schedules/base/result.h"

namespace kindred {

// Serves the requests on descriptor 3, answers on descriptor 4, until end of file or an answer that
// `ends`. What `serve` throws is answered as a failure. Exit code.
int ServeRequests(const std::function<Answer(const nlohmann::json&)>& serve);

Answer FailedAnswer(const Error& error);
Answer AnswerOf(const Result<void>& result);

}  // namespace kindred
