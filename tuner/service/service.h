// `kindred serve`: the tuning log over HTTP, and a tuner that works its queue of jobs.
//
//   I/O thread (http_server)  ->  api  ->  answer_book  ->  log
//                                  |          ^
//                                  v          | every kRefresh: what is new in the log
//                               workers    keeper thread
//                                  |
//                               job_queue  ->  `kindred tune` as a child, into the same log
#pragma once

#include <functional>
#include <string>

#include "tuner/service/http.h"
#include "tuner/service/targets.h"

namespace kindred {

struct ServiceOptions {
  HttpServerOptions http;
  std::string log;             // path
  std::string cache;           // directory of built kernels
  std::string target = "cpu";  // probed before the first request
  int workers = 1;
};

// Serves until `stopped` (looked at a few times a second). `ready` is called with the port when
// connections are taken. Errors: the log's, the port's, the target's.
Result<void> RunService(const ServiceOptions& options, const ServedTargets::Probe& probe,
                        const std::function<void(std::uint16_t port)>& ready,
                        const std::function<bool()>& stopped);

}  // namespace kindred
