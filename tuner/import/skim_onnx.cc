#include "tuner/import/skim_onnx.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tuner/import/constant.h"

namespace kindred {
namespace {

// Reads anywhere in a file through one buffer. Not thread safe.
class FileBytes {
 public:
  // O_NONBLOCK: a pipe is refused, not waited for.
  explicit FileBytes(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat info = {};
    if (file_ < 0 || ::fstat(file_, &info) != 0) {
      problem_ = errno;
    } else if (!S_ISREG(info.st_mode)) {
      problem_ = S_ISDIR(info.st_mode) ? EISDIR : ESPIPE;
    } else {
      size_ = static_cast<std::uint64_t>(info.st_size);
    }
  }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() {
    if (file_ >= 0) ::close(file_);
  }

  int problem() const { return problem_; }
  std::uint64_t size() const { return size_; }

  // The byte at `place`; nullptr past the end, or where the file cannot be read.
  const unsigned char* At(std::uint64_t place) {
    if (place < first_ || place >= first_ + filled_) Fill(place);
    return place >= first_ && place < first_ + filled_ ? buffer_ + (place - first_) : nullptr;
  }

  bool Append(std::uint64_t from, std::uint64_t to, std::string& bytes) {
    while (from < to) {
      const unsigned char* start = At(from);
      if (start == nullptr) return false;
      const std::uint64_t count = std::min(to - from, first_ + filled_ - from);
      bytes.append(reinterpret_cast<const char*>(start), count);
      from += count;
    }
    return true;
  }

 private:
  void Fill(std::uint64_t place) {
    first_ = place;
    const ::ssize_t read = ::pread(file_, buffer_, sizeof buffer_, static_cast<::off_t>(place));
    filled_ = read > 0 ? static_cast<std::uint64_t>(read) : 0;
  }

  int file_, problem_ = 0;
  std::uint64_t size_ = 0, first_ = 0, filled_ = 0;
  unsigned char buffer_[1 << 16];
};

// The messages of onnx.proto3 that lead to tensors, with the numbers of those fields.
enum class Message { kModel, kGraph, kNode, kAttribute, kFunction, kTraining, kSparse, kTensor };

struct Inside {
  Message message;
  std::uint64_t field;
  Message inner;
};
constexpr Inside kInside[] = {
    {Message::kModel, 7, Message::kGraph},         {Message::kModel, 20, Message::kTraining},
    {Message::kModel, 25, Message::kFunction},     {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},        {Message::kGraph, 15, Message::kSparse},
    {Message::kNode, 5, Message::kAttribute},      {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},     {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},    {Message::kAttribute, 22, Message::kSparse},
    {Message::kAttribute, 23, Message::kSparse},   {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 11, Message::kAttribute}, {Message::kTraining, 1, Message::kGraph},
    {Message::kTraining, 2, Message::kGraph},      {Message::kSparse, 1, Message::kTensor},
    {Message::kSparse, 2, Message::kTensor},
};

constexpr std::uint64_t kTensorDims = 1;
// float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data
constexpr std::uint64_t kTensorData[] = {4, 5, 6, 7, 9, 10, 11};

enum WireType : std::uint64_t { kVarint, kFixed64, kBytes, kGroupStart, kGroupEnd, kFixed32 };

struct Field {
  std::uint64_t number = 0, type = 0;
  std::uint64_t start = 0;  // of the tag
  std::uint64_t body = 0;   // of the value; of kBytes: behind the length
  std::uint64_t end = 0;
};

constexpr int kDeepest = 100;  // protobuf's own limit

class Skimmer {
 public:
  explicit Skimmer(FileBytes& file) : file_(file) {}

  // Appends the message in [from, to), skimmed. False: malformed.
  bool Copy(Message message, std::uint64_t from, std::uint64_t to, int depth, std::string& out) {
    if (depth > kDeepest) return false;
    if (message == Message::kTensor) return CopyTensor(from, to, out);
    for (std::uint64_t at = from; at < to;) {
      Field field;
      if (!Read(at, to, field)) return false;
      const Inside* inside = std::find_if(std::begin(kInside), std::end(kInside), [&](auto& one) {
        return one.message == message && one.field == field.number && field.type == kBytes;
      });
      if (inside == std::end(kInside)) {
        if (!file_.Append(field.start, field.end, out)) return false;
      } else {
        std::string inner;
        if (!Copy(inside->inner, field.body, field.end, depth + 1, inner)) return false;
        AppendVarint(field.number << 3 | kBytes, out);
        AppendVarint(inner.size(), out);
        out += inner;
      }
      at = field.end;
    }
    return true;
  }

 private:
  static void AppendVarint(std::uint64_t value, std::string& out) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }

  bool ReadVarint(std::uint64_t& at, std::uint64_t to, std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const unsigned char* byte = at < to ? file_.At(at) : nullptr;
      if (byte == nullptr) return false;
      ++at;
      if (shift < 64) value |= static_cast<std::uint64_t>(*byte & 0x7f) << shift;
      if (*byte < 0x80) return true;
    }
    return false;
  }

  // The field at `at`, which ends at or before `to`.
  bool Read(std::uint64_t at, std::uint64_t to, Field& field, int depth = 0) {
    field.start = at;
    std::uint64_t tag = 0, length = 0;
    if (!ReadVarint(at, to, tag)) return false;
    field.number = tag >> 3;
    field.type = tag & 7;
    field.body = at;
    if (field.number == 0 || tag > UINT32_MAX) return false;
    switch (field.type) {
      case kVarint:
        if (!ReadVarint(at, to, length)) return false;
        field.end = at;
        return true;
      case kBytes:
        if (!ReadVarint(at, to, length)) return false;
        field.body = at;
        break;
      case kFixed64: length = 8; break;
      case kFixed32: length = 4; break;
      case kGroupStart: return SkipGroup(at, to, field, depth);
      default: return false;
    }
    if (length > to - at) return false;
    field.end = at + length;
    return true;
  }

  bool SkipGroup(std::uint64_t at, std::uint64_t to, Field& group, int depth) {
    if (depth > kDeepest) return false;
    for (;;) {
      std::uint64_t behind = at, tag = 0;
      if (!ReadVarint(behind, to, tag)) return false;
      if ((tag & 7) == kGroupEnd) {
        group.end = behind;
        return tag >> 3 == group.number;
      }
      Field inner;
      if (!Read(at, to, inner, depth + 1)) return false;
      at = inner.end;
    }
  }

  bool CopyTensor(std::uint64_t from, std::uint64_t to, std::string& out) {
    std::vector<Field> fields;  // runs of neighbours that are kept or left out together
    Shape shape;
    for (std::uint64_t at = from; at < to;) {
      Field field;
      if (!Read(at, to, field)) return false;
      if (field.number == kTensorDims && !ReadDims(field, shape)) return false;
      if (!fields.empty() && IsData(fields.back()) == IsData(field)) {
        fields.back().end = field.end;
      } else {
        fields.push_back(field);
      }
      at = field.end;
    }
    const bool large = PossibleShape(shape) && ElementCount(shape) > kLargestConstant;
    for (const Field& field : fields)
      if (!(large && IsData(field)) && !file_.Append(field.start, field.end, out)) return false;
    return true;
  }

  static bool IsData(const Field& field) {
    return std::find(std::begin(kTensorData), std::end(kTensorData), field.number) !=
           std::end(kTensorData);
  }

  // One extent, or several packed ones.
  bool ReadDims(const Field& field, Shape& shape) {
    std::uint64_t at = field.body, extent = 0;
    if (field.type != kVarint && field.type != kBytes) return true;
    while (at < field.end) {
      if (!ReadVarint(at, field.end, extent)) return false;
      shape.push_back(static_cast<std::int64_t>(extent));
    }
    return true;
  }

  FileBytes& file_;
};

}  // namespace

SkimmedFile SkimOnnx(const std::string& path) {
  FileBytes file(path);
  SkimmedFile skimmed{file.problem(), file.size(), std::nullopt};
  std::string bytes;
  if (skimmed.problem == 0 && skimmed.size > 0 && skimmed.size <= INT_MAX &&
      Skimmer(file).Copy(Message::kModel, 0, skimmed.size, 0, bytes))
    skimmed.bytes = std::move(bytes);
  return skimmed;
}

}  // namespace kindred
