// A directory of files named by their content's key, bounded in size.
//
// Files appear by rename or hard link, so a reader sees a whole file or none. Several processes may
// use the same directory. No state of its own beside the path: safe from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schedules/base/result.h"

namespace kindred {

class CacheDirectory {
 public:
  // Makes the directory and a file in it. Error (kEnvironment): names the directory and the cause.
  static Result<CacheDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  // Whether the file is there; marks it as used now.
  bool Contains(const std::string& name) const;
  std::optional<std::string> Read(const std::string& name) const;
  // Error (kEnvironment): the disk is full, ...
  Result<void> Write(const std::string& name, std::string_view bytes) const;
  // A fresh directory below it for unfinished files; remove it with RemoveTree.
  Result<std::string> MakeScratch() const;
  // Removes the least recently used files until at most `limit` bytes are left; scratch directories
  // of processes that died (older than an hour) go as well.
  void Shrink(std::int64_t limit) const;

 private:
  explicit CacheDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

void RemoveTree(const std::string& path);
// Error (kEnvironment): names the file and the cause (disk full, permissions).
Result<void> WriteFile(const std::string& path, std::string_view bytes);

}  // namespace kindred
