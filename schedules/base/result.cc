#include "schedules/base/result.h"

#include <stdexcept>

namespace kindred {

void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw std::logic_error("value() of a failed Result: " + error.message);
}

}  // namespace kindred
