#include "tuner/service/model_store.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "schedules/base/hash.h"

namespace kindred {

namespace fs = std::filesystem;

Result<std::string> ModelStore::Put(std::string_view bytes) const {
  const std::string id = HashOf(bytes).Hex();
  std::error_code code;
  const fs::path path = fs::path(directory_) / (id + ".onnx");
  if (fs::exists(path, code)) return id;
  KINDRED_CHECK(Write(id + ".onnx", bytes));
  return id;
}

Result<std::string> ModelStore::PathOf(const std::string& id) const {
  const bool hex = id.size() == 32 && std::all_of(id.begin(), id.end(), [](unsigned char c) {
                     return std::isdigit(c) || (c >= 'a' && c <= 'f');
                   });
  std::error_code code;
  const fs::path path = fs::path(directory_) / (id + ".onnx");
  if (!hex || !fs::exists(path, code))
    return NotFound(
        fmt::format("there is no model '{}'; send it first (POST /v1/models gives its id)", id));
  return path.string();
}

void ModelStore::Remove(const std::string& id) const {
  std::error_code code;
  fs::remove(fs::path(directory_) / (id + ".onnx"), code);
}

Result<std::string> ModelStore::Write(const std::string& name, std::string_view bytes) const {
  std::error_code code;
  fs::create_directories(directory_, code);
  const fs::path path = fs::path(directory_) / name;
  const fs::path temporary = path.string() + fmt::format(".{}.part", ::getpid());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    fs::remove(temporary, code);
    return Environment(fmt::format("cannot write {}: is the disk full?", path.string()));
  }
  fs::rename(temporary, path, code);
  if (code) return Environment(fmt::format("cannot write {}: {}", path.string(), code.message()));
  return path.string();
}

}  // namespace kindred
