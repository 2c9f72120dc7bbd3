// The Outcome of a candidate that failed.
#pragma once

#include <string>
#include <utility>

#include "schedules/outcome.h"

namespace kindred {

inline Outcome Failure(Status status, std::string message) {
  Outcome outcome;
  outcome.status = status;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace kindred
