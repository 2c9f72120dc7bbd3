#include "measure/internal/reference_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "measure/internal/cache_directory.h"

namespace kindred {
namespace {

constexpr std::string_view kMagic = "KDREF2\n";

template <typename T>
void Append(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
bool Take(std::string_view& bytes, std::vector<T>& values, std::size_t count) {
  if (bytes.size() / sizeof(T) < count) return false;
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
  return true;
}

bool TakeOutput(std::string_view& bytes, ExpectedOutput& output) {
  std::vector<std::uint64_t> head;
  if (!Take(bytes, head, 3)) return false;
  output.integral = head[1] != 0;
  output.integers.clear();
  output.values.clear();
  return (output.integral ? Take(bytes, output.integers, head[0])
                          : Take(bytes, output.values, head[0])) &&
         Take(bytes, output.bounds, head[0]) && Take(bytes, output.choices, head[2]);
}

}  // namespace

Result<void> ReadReference(const std::string& file, const Hash128& inputs,
                           std::vector<ExpectedOutput>& outputs) {
  std::ifstream stream(file, std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(stream), {});
  std::string_view bytes = content;
  const std::string head = std::string(kMagic) + inputs.Hex();
  if (!bytes.starts_with(head)) return NotFound("no reference of these inputs in " + file);
  bytes.remove_prefix(head.size());
  std::vector<ExpectedOutput> read = outputs;
  for (ExpectedOutput& output : read) {
    if (!TakeOutput(bytes, output)) return NotFound("the reference file " + file + " is cut short");
  }
  outputs = std::move(read);
  return {};
}

Result<void> WriteReference(const std::string& file, const Hash128& inputs,
                            const std::vector<ExpectedOutput>& outputs) {
  std::string bytes = std::string(kMagic) + inputs.Hex();
  for (const ExpectedOutput& output : outputs) {
    Append(bytes, std::vector<std::uint64_t>{output.bounds.size(), output.integral ? 1u : 0u,
                                             output.choices.size()});
    Append(bytes, output.integers);
    Append(bytes, output.values);
    Append(bytes, output.bounds);
    Append(bytes, output.choices);
  }
  const std::string unfinished = file + "." + std::to_string(getpid());
  Result<void> written = WriteFile(unfinished, bytes);
  if (written && std::rename(unfinished.c_str(), file.c_str()) != 0)
    written = Environment("cannot write " + file + ": " + std::strerror(errno));
  if (!written) unlink(unfinished.c_str());
  return written;
}

}  // namespace kindred
