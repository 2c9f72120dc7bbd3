#include "measure/internal/cache_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "measure/internal/subprocess.h"

namespace kindred {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScratchPrefix = "scratch.";

}  // namespace

void RemoveTree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

Result<void> WriteFile(const std::string& path, std::string_view bytes) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  int error = file ? 0 : errno;
  while (error == 0 && !bytes.empty()) {
    const ssize_t wrote = write(file.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) error = errno;
    if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (error == 0) return {};
  return Environment("cannot write " + path + ": " + std::strerror(error));
}

Result<CacheDirectory> CacheDirectory::Open(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return Environment("cannot make the cache directory " + path + ": " + error.message() +
                       "; name one that can be written");
  CacheDirectory directory(fs::absolute(path).string());
  KINDRED_TRY(const std::string scratch, directory.MakeScratch());
  RemoveTree(scratch);
  return directory;
}

bool CacheDirectory::Contains(const std::string& name) const {
  return utimensat(AT_FDCWD, PathOf(name).c_str(), nullptr, 0) == 0;
}

std::optional<std::string> CacheDirectory::Read(const std::string& name) const {
  if (!Contains(name)) return std::nullopt;
  std::ifstream file(PathOf(name), std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<void> CacheDirectory::Write(const std::string& name, std::string_view bytes) const {
  static std::atomic<std::uint64_t> counter{0};
  const std::string unfinished = PathOf(std::string(kScratchPrefix) + std::to_string(getpid()) +
                                        "." + std::to_string(counter++) + ".file");
  const Result<void> written = WriteFile(unfinished, bytes);
  if (written && rename(unfinished.c_str(), PathOf(name).c_str()) == 0) return {};
  const int error = errno;
  unlink(unfinished.c_str());
  if (!written) return written.error();
  return Environment("cannot write " + PathOf(name) + ": " + std::strerror(error));
}

Result<std::string> CacheDirectory::MakeScratch() const {
  std::string path = PathOf(std::string(kScratchPrefix) + "XXXXXX");
  if (mkdtemp(path.data()) == nullptr)
    return Environment("cannot write in the cache directory " + path_ + ": " +
                       std::strerror(errno) + "; name one that can be written");
  return path;
}

void CacheDirectory::Shrink(std::int64_t limit) const {
  struct Entry {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(path_, error)) {
    std::error_code gone;
    const auto used = file.last_write_time(gone);
    if (gone) continue;
    if (file.path().filename().string().starts_with(kScratchPrefix)) {
      if (now - used > std::chrono::hours(1)) RemoveTree(file.path().string());
    } else if (file.is_regular_file(gone)) {
      const auto links = std::max<std::uintmax_t>(1, file.hard_link_count(gone));
      const auto bytes = static_cast<std::int64_t>(file.file_size(gone) / links);
      if (gone) continue;
      entries.push_back({used, bytes, file.path()});
      total += bytes;
    }
  }
  if (total <= limit) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  // Down to nine tenths, so that the next file does not start this again.
  for (const Entry& entry : entries) {
    if (total <= limit / 10 * 9) break;
    if (fs::remove(entry.path, error)) total -= entry.bytes;
  }
}

}  // namespace kindred
