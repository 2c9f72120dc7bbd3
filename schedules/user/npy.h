// The header of a NumPy array file (.npy): what its data are, and where they begin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/data_type.h"

namespace kindred {

struct NpyHeader {
  DataType type = DataType::kF32;  // uint32 and uint64 as their signed kin
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  // bytes

  std::int64_t Elements() const;
};

// `begin` is the file's beginning, 64 KiB or all of it. Error (kBadInput): names `source`; no such
// file, its type is none of ours, or it is not in C order and little-endian.
Result<NpyHeader> ParseNpyHeader(std::string_view begin, std::string_view source);

// Of a vector.
std::string NpyHeaderText(DataType type, std::int64_t elements);

}  // namespace kindred
