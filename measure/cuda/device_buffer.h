// Device memory of a tensor between two guard zones.
//
//   | pattern, 64 KiB | data .......... | pattern, 64 KiB and what fills up to 256 |
//
// A device does not fault at a buffer's end: writes beside it show in the pattern, reads do not
// show. Data begin at a multiple of 256 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "measure/cuda/driver_api.h"

namespace kindred {

class DeviceBuffer {
 public:
  // `stream` orders fills; copies wait for it. The result is the driver's code.
  static CudaResult Make(const DriverApi& api, void* stream, std::string name, std::int64_t bytes,
                         DeviceBuffer* made);
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  const std::string& name() const { return name_; }
  std::int64_t bytes() const { return bytes_; }
  CudaPointer data() const { return data_; }

  CudaResult Fill(unsigned char byte) const;  // of the data
  CudaResult Mend() const;                    // writes the patterns
  CudaResult Write(std::span<const std::byte> from) const;
  CudaResult Read(std::span<std::byte> to) const;
  // Empty, or where a pattern was written: "X was written 4 bytes past its end".
  CudaResult Damage(std::string* text) const;
  // Whether the data are `as` byte for byte.
  CudaResult Equal(std::span<const std::byte> as, bool* equal) const;

 private:
  const DriverApi* api_ = nullptr;
  void* stream_ = nullptr;
  std::string name_;
  CudaPointer begin_ = 0, data_ = 0;
  std::int64_t bytes_ = 0, back_ = 0;
};

}  // namespace kindred
