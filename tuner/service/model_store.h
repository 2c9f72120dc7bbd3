// Models that clients sent, kept beside the log by the hash of their bytes.
#pragma once

#include <string>
#include <string_view>

#include "tuner/import/import.h"

namespace kindred {

class ModelStore {
 public:
  // `directory` is made when the first model comes.
  explicit ModelStore(std::string directory) : directory_(std::move(directory)) {}

  // Writes the model's bytes, once for equal ones, and gives its id (32 hexadecimal digits).
  Result<std::string> Put(std::string_view bytes) const;
  // The file of a model. Error kNotFound: there is none with this id.
  Result<std::string> PathOf(const std::string& id) const;
  void Remove(const std::string& id) const;
  // A file of these bytes under `name` in the store's folder, replaced as a whole.
  Result<std::string> Write(const std::string& name, std::string_view bytes) const;

 private:
  std::string directory_;
};

}  // namespace kindred
