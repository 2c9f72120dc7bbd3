#include "measure/internal/guarded_buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace kindred {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kNoAccess = 64 << 10;
constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kHugeFrom = 4 << 20;
constexpr unsigned char kPattern = 0xA5;

constexpr std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Result<GuardedBuffer> GuardedBuffer::Make(std::string name, std::int64_t bytes) {
  const std::size_t padded = RoundUp(static_cast<std::size_t>(bytes), kAlignment);
  const std::size_t usable = RoundUp(padded + kAlignment, kPage);
  const bool huge = usable >= kHugeFrom;
  const std::size_t reserved = usable + 2 * kNoAccess + (huge ? kHugePage : 0);
  void* memory =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  GuardedBuffer buffer;
  buffer.name_ = std::move(name);
  buffer.bytes_ = bytes;
  if (memory != MAP_FAILED) {
    buffer.begin_ = static_cast<std::byte*>(memory);
    buffer.reserved_ = reserved;
    const auto lowest = reinterpret_cast<std::uintptr_t>(memory) + kNoAccess;
    buffer.usable_ = buffer.begin_ + kNoAccess + (huge ? RoundUp(lowest, kHugePage) - lowest : 0);
    buffer.usable_bytes_ = usable;
    buffer.data_ = buffer.usable_ + usable - padded;
  }
  if (memory == MAP_FAILED || mprotect(buffer.usable_, usable, PROT_READ | PROT_WRITE) != 0)
    return Environment("no memory for buffer " + buffer.name_ + " of " + std::to_string(bytes) +
                       " bytes");
  if (huge) madvise(buffer.usable_, usable, MADV_HUGEPAGE);
  buffer.Mend();
  return buffer;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(begin_, other.begin_);
  std::swap(reserved_, other.reserved_);
  std::swap(usable_, other.usable_);
  std::swap(usable_bytes_, other.usable_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (begin_ != nullptr) munmap(begin_, reserved_);
}

void GuardedBuffer::Fill(unsigned char byte) {
  std::memset(data_, byte, static_cast<std::size_t>(bytes_));
}

void GuardedBuffer::SetReadOnly(bool read_only) {
  mprotect(usable_, usable_bytes_, read_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

// At most a page in front is filled and checked.
std::span<std::byte> GuardedBuffer::Front() const {
  const std::size_t length = static_cast<std::size_t>(data_ - usable_);
  const std::size_t checked = length < kPage ? length : kPage;
  return {data_ - checked, checked};
}

std::span<std::byte> GuardedBuffer::Back() const {
  std::byte* const end = data_ + bytes_;
  return {end, static_cast<std::size_t>(usable_ + usable_bytes_ - end)};
}

void GuardedBuffer::Mend() {
  std::memset(Front().data(), kPattern, Front().size());
  std::memset(Back().data(), kPattern, Back().size());
}

std::string GuardedBuffer::Damage() const {
  const std::span<std::byte> front = Front();
  for (std::size_t i = front.size(); i-- > 0;) {  // nearest first
    if (front[i] != std::byte{kPattern})
      return name_ + " was written " + std::to_string(front.size() - i) + " bytes before its start";
  }
  const std::span<std::byte> back = Back();
  for (std::size_t i = 0; i < back.size(); ++i) {
    if (back[i] != std::byte{kPattern})
      return name_ + " was written " + std::to_string(i) + " bytes past its end";
  }
  return {};
}

}  // namespace kindred
