#include "tests/cuda_emulation/internal/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace kindred::cuda_emulation {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBufferAlignment = 256;       // of what cudaMalloc gives
constexpr std::size_t kGap = std::size_t{1} << 20;  // no-man's-land on both sides of an area

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Result<std::unique_ptr<Memory>> Memory::Make(std::size_t shared_bytes) {
  std::unique_ptr<Memory> memory(new Memory);
  memory->shared_bytes_ = shared_bytes;
  if (shared_bytes == 0) return memory;
  const std::size_t mapped = RoundUp(shared_bytes, kPage);
  memory->shared_file_ = memfd_create("kindred-shared-memory", MFD_CLOEXEC);
  if (memory->shared_file_ < 0 || ftruncate(memory->shared_file_, static_cast<off_t>(mapped)) != 0)
    return Environment("CUDA emulation: the system gives no memory file");
  void* all = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, memory->shared_file_, 0);
  if (all == MAP_FAILED) return Environment("CUDA emulation: the system gives no memory");
  memory->mappings_.push_back({all, mapped});
  memory->shared_ = static_cast<std::byte*>(all);
  memory->shared_cells_.resize(shared_bytes);
  return memory;
}

Memory::~Memory() {
  for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.bytes);
  if (shared_file_ >= 0) close(shared_file_);
}

Result<std::byte*> Memory::AddBuffer(std::string name, std::size_t bytes, std::size_t element_bytes,
                                     bool writable) {
  // The gap grows with the buffer, so that a wrong stride does not reach the next one.
  const std::size_t gap = RoundUp(std::max(kGap, bytes), kPage);
  const std::size_t inner = RoundUp(bytes + kBufferAlignment, kPage);
  void* reserved =
      mmap(nullptr, inner + 2 * gap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED ||
      mprotect(static_cast<std::byte*>(reserved) + gap, inner, PROT_READ | PROT_WRITE) != 0)
    return Environment(fmt::format("CUDA emulation: no memory for a buffer of {} bytes", bytes));
  mappings_.push_back({reserved, inner + 2 * gap});
  const std::size_t granule = std::max<std::size_t>(element_bytes, 1);
  auto cells = std::make_unique<std::vector<Cell>>((bytes + granule - 1) / granule);
  std::byte* begin = static_cast<std::byte*>(reserved) + gap + kBufferAlignment;
  areas_.push_back({std::move(name), begin, bytes, granule, cells->data(), false, writable});
  buffer_cells_.push_back(std::move(cells));
  return begin;
}

void Memory::AddStatic(std::string name, std::byte* begin, std::size_t bytes, bool shared) {
  auto cells = std::make_unique<std::vector<Cell>>(bytes);
  areas_.push_back({std::move(name), begin, bytes, 1, cells->data(), shared, true});
  buffer_cells_.push_back(std::move(cells));
  if (shared) statics_.push_back({begin, bytes});
}

std::byte* Memory::SharedView(std::size_t offset, std::size_t bytes, std::string_view name) {
  if (offset > shared_bytes_ || bytes > shared_bytes_ - offset) return nullptr;
  for (const Area& area : areas_)
    if (area.shared && area.cells == shared_cells_.data() + offset && area.bytes == bytes &&
        area.name == name)
      return area.begin;
  const std::size_t inner = RoundUp(shared_bytes_, kPage);
  void* reserved = mmap(nullptr, inner + 2 * kGap, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  mappings_.push_back({reserved, inner + 2 * kGap});
  std::byte* view = static_cast<std::byte*>(reserved) + kGap;
  if (mmap(view, inner, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, shared_file_, 0) ==
      MAP_FAILED)
    return nullptr;
  areas_.push_back(
      {std::string(name), view + offset, bytes, 1, shared_cells_.data() + offset, true, true});
  return view + offset;
}

const Area* Memory::Find(const std::byte* address, std::size_t size) {
  if (last_ < areas_.size() && areas_[last_].Contains(address, size)) return &areas_[last_];
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    if (!areas_[i].Contains(address, size)) continue;
    last_ = i;
    return &areas_[i];
  }
  return nullptr;
}

const Area* Memory::Nearest(const std::byte* address) const {
  const auto distance = [address](const Area& area) {
    if (address < area.begin) return area.begin - address;
    return std::max<std::ptrdiff_t>(
        address - area.begin - static_cast<std::ptrdiff_t>(area.bytes) + 1, 0);
  };
  const auto nearest =
      std::min_element(areas_.begin(), areas_.end(),
                       [&](const Area& a, const Area& b) { return distance(a) < distance(b); });
  return nearest == areas_.end() ? nullptr : &*nearest;
}

void Memory::PoisonShared() {
  if (shared_bytes_ > 0) std::memset(shared_, 0xff, shared_bytes_);
  for (Cell& cell : shared_cells_) cell.in_flight = false;
  for (const std::span<std::byte> array : statics_) std::memset(array.data(), 0xff, array.size());
}

}  // namespace kindred::cuda_emulation
