// A reference's results in a file: "KDREF2\n", the hash of the inputs (32 hexadecimal digits), then
// for each output three u64 (elements; 1 for integers; choices), of 8 bytes each the values and
// their bounds, and of one byte each the choices.
#pragma once

#include <string>
#include <vector>

#include "measure/internal/validate.h"
#include "schedules/base/hash.h"
#include "schedules/base/result.h"

namespace kindred {

// Fills values, integers and bounds of each output, or of none. Error (kNotFound): no such file,
// made from other inputs, or cut short.
Result<void> ReadReference(const std::string& file, const Hash128& inputs,
                           std::vector<ExpectedOutput>& outputs);

// Error (kEnvironment): the file cannot be written. It appears whole or not at all.
Result<void> WriteReference(const std::string& file, const Hash128& inputs,
                            const std::vector<ExpectedOutput>& outputs);

}  // namespace kindred
