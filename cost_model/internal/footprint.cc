#include "cost_model/internal/footprint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace kindred {
namespace {

struct Progression {
  double stride, count;
};

// Distinct bytes, in lines, of the sum of arithmetic progressions (sorted by stride).
double Bytes(std::span<const Progression> sorted, double element_bytes) {
  double pieces = 1;
  double run = element_bytes;  // bytes of one piece
  double stride = 1, count = 1;
  const auto close = [&] {
    const double extent = (count - 1) * stride * element_bytes;
    if (stride * element_bytes < kCacheLineBytes)
      run += extent;
    else
      pieces *= count;
  };
  for (const Progression& next : sorted) {
    if (next.stride <= stride * count * 1.0001) {  // continues the current chain
      count += next.stride / stride * (next.count - 1);
      continue;
    }
    close();
    stride = next.stride;
    count = next.count;
  }
  close();
  // A piece begins anywhere in a line, unless it is aligned: on average half a line more.
  const double lines = run <= kCacheLineBytes ? 1 : run / kCacheLineBytes + (pieces > 1 ? 0.5 : 0);
  return pieces * lines * kCacheLineBytes;
}

}  // namespace

double Footprint::BytesOf(int access, int depth) const {
  return bytes_[static_cast<std::size_t>(std::min(depth, kMaxNestDepth)) * buffer_of_.size() +
                static_cast<std::size_t>(access)];
}

void Footprint::Build(const Nest& nest) {
  nest_ = &nest;
  const Program& program = nest.program();
  const auto& accesses = nest.accesses();
  const auto& loops = nest.loops();
  buffer_.resize(program.buffers.size());
  for (std::size_t i = 0; i < buffer_.size(); ++i)
    buffer_[i] = std::max(kCacheLineBytes, static_cast<double>(program.buffers[i].elements) *
                                               ByteSize(program.buffers[i].type));
  bytes_.resize(accesses.size() * (kMaxNestDepth + 1));
  buffer_of_.resize(accesses.size());
  twin_.assign(accesses.size(), -1);
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    const NestAccess& access = accesses[a];
    const NestStatement& statement = nest.statements()[static_cast<std::size_t>(access.statement)];
    const auto buffer = static_cast<std::size_t>(access.buffer);
    buffer_of_[a] = buffer;
    const double element = ByteSize(program.buffers[buffer].type);
    for (std::size_t b = a; b-- > 0;) {
      const NestAccess& other = accesses[b];
      if (nest.statements()[static_cast<std::size_t>(other.statement)].loop != statement.loop)
        break;
      if (other.buffer == access.buffer && other.index.stride == access.index.stride &&
          std::abs(other.index.constant - access.index.constant) * element < kCacheLineBytes) {
        twin_[a] = static_cast<int>(b);
        break;
      }
    }
    // From the innermost loop outwards the list of progressions grows; it stays sorted by
    // insertion.
    std::array<Progression, kMaxNestDepth> list;
    std::size_t length = 0;
    int loop = statement.loop;
    double times = 1;
    double distinct = Bytes({}, element);
    for (int depth = access.depth; depth >= 0; --depth) {
      if (depth < access.depth) {
        const NestLoop& around = loops[static_cast<std::size_t>(loop)];
        loop = around.parent;
        times *= std::max(1.0, around.extent);
        const double stride = depth < kMaxNestDepth
                                  ? std::abs(access.index.stride[static_cast<std::size_t>(depth)])
                                  : 0;
        if (stride > 0 && around.extent > 1) {
          std::size_t at = length++;
          while (at > 0 && list[at - 1].stride > stride) {
            list[at] = list[at - 1];
            --at;
          }
          list[at] = {stride, around.extent};
          distinct = Bytes({list.data(), length}, element);
        }
      }
      if (depth > kMaxNestDepth) continue;
      bytes_[static_cast<std::size_t>(depth) * accesses.size() + a] =
          std::min(access.index.indirect ? times * kCacheLineBytes : distinct,
                   buffer_[buffer] + kCacheLineBytes);
    }
  }
  iteration_.resize(loops.size());
  per_buffer_.assign(buffer_.size(), 0);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const NestLoop& loop = loops[i];
    iteration_[i] = Union(loop.first_access, loop.end_access, loop.depth + 1);
  }
  whole_ = Union(0, static_cast<int>(accesses.size()), 0);
}

double Footprint::Union(int first_access, int end_access, int depth) const {
  double total = 0;
  for (int a = first_access; a < end_access; ++a) {
    if (twin_[static_cast<std::size_t>(a)] >= first_access) continue;
    const std::size_t buffer = buffer_of_[static_cast<std::size_t>(a)];
    const double before = per_buffer_[buffer];
    per_buffer_[buffer] = std::min(before + BytesOf(a, depth), buffer_[buffer]);
    total += per_buffer_[buffer] - before;
  }
  for (int a = first_access; a < end_access; ++a)
    per_buffer_[buffer_of_[static_cast<std::size_t>(a)]] = 0;
  return total;
}

void Footprint::AddRange(int first_access, int end_access, int depth, double times,
                         Traffic& traffic) const {
  for (int a = first_access; a < end_access; ++a) {
    if (twin_[static_cast<std::size_t>(a)] >= first_access) continue;
    const std::size_t buffer = buffer_of_[static_cast<std::size_t>(a)];
    const double before = per_buffer_[buffer];
    per_buffer_[buffer] = std::min(before + BytesOf(a, depth), buffer_[buffer]);
    const double moved = (per_buffer_[buffer] - before) * times;
    switch (nest_->program().buffers[buffer].scope) {
      case Scope::kArgument: traffic.arguments += moved; break;
      case Scope::kPrepared: traffic.prepared += moved; break;
      default: traffic.scratch += moved; break;
    }
  }
  for (int a = first_access; a < end_access; ++a)
    per_buffer_[buffer_of_[static_cast<std::size_t>(a)]] = 0;
}

void Footprint::AddTraffic(int id, double capacity, Traffic& traffic) const {
  const auto& loops = nest_->loops();
  const NestLoop& loop = loops[static_cast<std::size_t>(id)];
  if (iteration_[static_cast<std::size_t>(id)] <= capacity || loop.end_loop == id + 1) {
    // What one iteration touches may still not fit where there is no loop left: then every
    // iteration pays.
    if (iteration_[static_cast<std::size_t>(id)] <= capacity)
      AddRange(loop.first_access, loop.end_access, loop.depth, loop.entries, traffic);
    else
      AddRange(loop.first_access, loop.end_access, loop.depth + 1, loop.entries * loop.extent,
               traffic);
    return;
  }
  int access = loop.first_access;
  for (int child = id + 1; child < loop.end_loop;
       child = loops[static_cast<std::size_t>(child)].end_loop) {
    const NestLoop& inner = loops[static_cast<std::size_t>(child)];
    AddRange(access, inner.first_access, loop.depth + 1, loop.entries * loop.extent, traffic);
    AddTraffic(child, capacity, traffic);
    access = inner.end_access;
  }
  AddRange(access, loop.end_access, loop.depth + 1, loop.entries * loop.extent, traffic);
}

Footprint::Traffic Footprint::TrafficBeyond(double capacity) const {
  Traffic traffic;
  if (whole_ <= capacity) return traffic;
  const auto& loops = nest_->loops();
  int access = 0;
  for (int id = 0; id < static_cast<int>(loops.size());
       id = loops[static_cast<std::size_t>(id)].end_loop) {
    AddRange(access, loops[static_cast<std::size_t>(id)].first_access, 0, 1, traffic);
    AddTraffic(id, capacity, traffic);
    access = loops[static_cast<std::size_t>(id)].end_access;
  }
  AddRange(access, static_cast<int>(nest_->accesses().size()), 0, 1, traffic);
  return traffic;
}

}  // namespace kindred
