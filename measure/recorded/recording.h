// Recording: the measured configurations of a space, made by another tuner on a device that is not
// here.
//
// Read from a cache of Kernel Tuner (also an unfinished one, which lacks its closing braces) or
// from results in the T4 format, plain or gzipped. What failed there failed here: a time that is a
// text, not finite or not positive is a failure with its cause.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/user/parameter_space.h"

namespace kindred {

struct RecordedTrial {
  std::vector<std::uint16_t> configuration;  // indices into the values of Recording::parameters
  double ms = 0;                             // 0: failed
  std::vector<double> samples_ms;
  std::string failure;
};

struct Recording {
  std::string kernel, device;  // empty where it does not say
  std::vector<TunableParameter> parameters;
  std::vector<RecordedTrial> trials;  // one per configuration: the first that is recorded
  bool truncated = false;             // the end was missing; whole entries before it are here
  std::size_t not_finite = 0;         // failures because of such a time
};

// `source` names the text in messages. Errors (kBadInput): neither of the formats, no entries, an
// entry without a value for a parameter.
Result<Recording> ParseRecording(std::string_view text, std::string_view source);

// Error kNotFound: cannot be read; kBadInput: damaged gzip data (an end that is merely missing is
// a truncated recording).
Result<Recording> ReadRecording(const std::string& path);

// The whole file, unpacked where it is gzip.
Result<std::string> ReadMaybeGzipped(const std::string& path, bool* truncated);

}  // namespace kindred
