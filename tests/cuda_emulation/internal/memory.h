// The memory of an emulated launch: buffers and shared arrays at addresses far from each other, and
// for each byte who touched it last.
//
// Shared memory is one file that is mapped once per declared array, so that arrays may overlap and
// yet have bounds of their own; the history of its bytes is common to all these views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/result.h"

namespace kindred::cuda_emulation {

// A point of a thread's run. `epoch` counts the barriers of whole blocks over the launch, a block
// begins a new one; 0: never. `clock` counts the thread's synchronisations within its warp.
struct Stamp {
  std::uint32_t epoch = 0;
  std::uint16_t thread = 0;
  std::uint16_t clock = 0;
};

// One byte, or one element of a buffer.
struct Cell {
  Stamp write, read, other_read;  // the last write; the last two reads of different threads
  bool atomic = false;            // the last write was one
  bool in_flight = false;         // a cp.async will write it
};

// Where an access may go.
struct Area {
  std::string name;
  std::byte* begin = nullptr;  // of what may be touched
  std::size_t bytes = 0;
  std::size_t granule = 1;  // bytes per cell
  Cell* cells = nullptr;    // of `begin`
  bool shared = false;
  bool writable = true;

  bool Contains(const std::byte* address, std::size_t size) const {
    return address >= begin && size <= bytes &&
           static_cast<std::size_t>(address - begin) <= bytes - size;
  }
};

class Memory {
 public:
  // Error (kEnvironment): the system gives no memory.
  static Result<std::unique_ptr<Memory>> Make(std::size_t shared_bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Zeroed, at an address that is a multiple of 256 and of no larger power of two.
  Result<std::byte*> AddBuffer(std::string name, std::size_t bytes, std::size_t element_bytes,
                               bool writable);
  // A variable of the kernel's own: a static array in shared memory, or global data.
  void AddStatic(std::string name, std::byte* begin, std::size_t bytes, bool shared);
  // Element `offset` of shared memory, at `bytes` bounds; the same view for the same declaration.
  // nullptr: beyond the shared memory of the launch, or the system gives no address.
  std::byte* SharedView(std::size_t offset, std::size_t bytes, std::string_view name);

  // The area that holds all of it, else nullptr.
  const Area* Find(const std::byte* address, std::size_t size);
  // The area nearest to an address, for messages; nullptr if there are none.
  const Area* Nearest(const std::byte* address) const;

  // All bytes 0xff (NaN in every floating type), and no cp.async under way.
  void PoisonShared();

 private:
  Memory() = default;

  std::size_t shared_bytes_ = 0;
  int shared_file_ = -1;
  std::byte* shared_ = nullptr;
  std::vector<Cell> shared_cells_;
  std::vector<std::unique_ptr<std::vector<Cell>>> buffer_cells_;
  std::vector<Area> areas_;
  std::vector<std::span<std::byte>> statics_;  // in shared memory
  std::size_t last_ = 0;                       // index of the area found last
  struct Mapping {
    void* address;
    std::size_t bytes;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace kindred::cuda_emulation
