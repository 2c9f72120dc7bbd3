#include "measure/cuda/device_buffer.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace kindred {
namespace {

constexpr std::int64_t kZone = 64 << 10;
constexpr std::int64_t kAlignment = 256;
constexpr unsigned char kPattern = 0xA5;
constexpr std::size_t kChunk = 16 << 20;

}  // namespace

CudaResult DeviceBuffer::Make(const DriverApi& api, void* stream, std::string name,
                              std::int64_t bytes, DeviceBuffer* made) {
  DeviceBuffer buffer;
  buffer.api_ = &api;
  buffer.stream_ = stream;
  buffer.name_ = std::move(name);
  buffer.bytes_ = bytes;
  buffer.back_ = kZone + (kAlignment - bytes % kAlignment) % kAlignment;
  const auto all = static_cast<std::size_t>(kZone + bytes + buffer.back_);
  if (const CudaResult code = api.memory_allocate(&buffer.begin_, all); code != 0) return code;
  buffer.data_ = buffer.begin_ + static_cast<CudaPointer>(kZone);
  *made = std::move(buffer);
  return made->Mend();
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(stream_, other.stream_);
  std::swap(name_, other.name_);
  std::swap(begin_, other.begin_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(back_, other.back_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (begin_ != 0) api_->memory_free(begin_);
}

CudaResult DeviceBuffer::Fill(unsigned char byte) const {
  if (bytes_ == 0) return 0;
  return api_->fill_async(data_, byte, static_cast<std::size_t>(bytes_), stream_);
}

CudaResult DeviceBuffer::Mend() const {
  const CudaResult front = api_->fill_async(begin_, kPattern, kZone, stream_);
  if (front != 0) return front;
  return api_->fill_async(data_ + static_cast<CudaPointer>(bytes_), kPattern,
                          static_cast<std::size_t>(back_), stream_);
}

CudaResult DeviceBuffer::Write(std::span<const std::byte> from) const {
  if (const CudaResult code = api_->stream_synchronize(stream_); code != 0) return code;
  return from.empty() ? 0 : api_->copy_to_device(data_, from.data(), from.size());
}

CudaResult DeviceBuffer::Read(std::span<std::byte> to) const {
  if (const CudaResult code = api_->stream_synchronize(stream_); code != 0) return code;
  return to.empty() ? 0 : api_->copy_to_host(to.data(), data_, to.size());
}

CudaResult DeviceBuffer::Damage(std::string* text) const {
  text->clear();
  if (const CudaResult code = api_->stream_synchronize(stream_); code != 0) return code;
  std::vector<unsigned char> zone(kZone);
  if (const CudaResult code = api_->copy_to_host(zone.data(), begin_, zone.size()); code != 0)
    return code;
  const auto damaged = [](unsigned char byte) { return byte != kPattern; };
  const auto before = std::find_if(zone.rbegin(), zone.rend(), damaged);  // nearest first
  if (before != zone.rend()) {
    *text = name_ + " was written " + std::to_string(before - zone.rbegin() + 1) +
            " bytes before its start";
    return 0;
  }
  zone.resize(static_cast<std::size_t>(back_));
  const CudaPointer end = data_ + static_cast<CudaPointer>(bytes_);
  if (const CudaResult code = api_->copy_to_host(zone.data(), end, zone.size()); code != 0)
    return code;
  const auto after = std::find_if(zone.begin(), zone.end(), damaged);
  if (after != zone.end())
    *text = name_ + " was written " + std::to_string(after - zone.begin()) + " bytes past its end";
  return 0;
}

CudaResult DeviceBuffer::Equal(std::span<const std::byte> as, bool* equal) const {
  *equal = true;
  if (const CudaResult code = api_->stream_synchronize(stream_); code != 0) return code;
  std::vector<std::byte> chunk(std::min(as.size(), kChunk));
  for (std::size_t at = 0; at < as.size() && *equal; at += chunk.size()) {
    const std::size_t bytes = std::min(chunk.size(), as.size() - at);
    if (const CudaResult code = api_->copy_to_host(chunk.data(), data_ + at, bytes); code != 0)
      return code;
    *equal = std::memcmp(chunk.data(), as.data() + at, bytes) == 0;
  }
  return 0;
}

}  // namespace kindred
