// Memory of a tensor between guard zones.
//
//   | no access | pattern | data .......... | pattern (< 64 bytes) | no access |
//
// The data end as close to the no-access zone as 64-byte alignment allows: a read or write past the
// end faults at once or, within the last bytes, is seen in the pattern. In front there are at least
// 64 bytes of pattern. Large buffers ask for huge pages, as tensor libraries do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schedules/base/result.h"

namespace kindred {

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  // Error (kEnvironment): no memory; names the buffer and its size.
  static Result<GuardedBuffer> Make(std::string name, std::int64_t bytes);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  const std::string& name() const { return name_; }
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, static_cast<std::size_t>(bytes_)}; }

  void Fill(unsigned char byte);
  void SetReadOnly(bool read_only);
  // Empty, or where the pattern was written: "X was written 4 bytes past its end".
  std::string Damage() const;
  // Writes the patterns again.
  void Mend();

  // All that was reserved, no-access zones included.
  const std::byte* begin() const { return begin_; }
  const std::byte* end() const { return begin_ + reserved_; }

 private:
  std::span<std::byte> Front() const;
  std::span<std::byte> Back() const;

  std::string name_;
  std::byte* begin_ = nullptr;
  std::size_t reserved_ = 0;
  std::byte* usable_ = nullptr;  // between the no-access zones
  std::size_t usable_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace kindred
