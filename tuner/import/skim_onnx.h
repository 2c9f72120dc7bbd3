// A model file's protobuf without the data of its large tensors, read at the level of the wire
// format: what is left out is stepped over, not read, so that files of gigabytes take milliseconds
// and the memory of what is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kindred {

struct SkimmedFile {
  int problem = 0;         // errno where the file cannot be read
  std::uint64_t size = 0;  // of the file, in bytes
  // The serialized ModelProto. nullopt: not read, larger than 2 GiB, or no complete message.
  std::optional<std::string> bytes;
};

// Leaves out the elements of tensors of more than kLargestConstant elements, wherever they stand:
// initializers, attributes, bodies of control flow, functions, training information. All else is as
// it was.
SkimmedFile SkimOnnx(const std::string& path);

}  // namespace kindred
