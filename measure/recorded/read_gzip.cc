#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "measure/recorded/recording.h"

namespace kindred {

Result<std::string> ReadMaybeGzipped(const std::string& path, bool* truncated) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return NotFound(path + ": is a folder, not a recording");
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (!file) return NotFound(path + ": cannot be read");
  std::string text;
  std::string part(1 << 20, '\0');
  for (;;) {
    const int got = gzread(file.get(), part.data(), static_cast<unsigned>(part.size()));
    if (got > 0) text.append(part, 0, static_cast<std::size_t>(got));
    if (got == static_cast<int>(part.size())) continue;
    int error = Z_OK;
    const char* const message = gzerror(file.get(), &error);
    if (error == Z_BUF_ERROR) *truncated = true;
    if (error != Z_OK && error != Z_BUF_ERROR) return BadInput(path + ": is damaged: " + message);
    return text;
  }
}

Result<Recording> ReadRecording(const std::string& path) {
  bool truncated = false;
  KINDRED_TRY(const std::string text, ReadMaybeGzipped(path, &truncated));
  KINDRED_TRY(Recording recording, ParseRecording(text, path));
  recording.truncated |= truncated;
  return recording;
}

}  // namespace kindred
