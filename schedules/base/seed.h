// Explicit seeds: every random choice in Kindred derives from the run's one seed.
//
// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) gives independent streams from (seed, purpose).
// Random satisfies UniformRandomBitGenerator; its sequence is the same on every platform, and so
// are Below() and Uniform(), unlike the distributions of <random>.
#pragma once

#include <cstdint>
#include <string_view>

namespace kindred {

class Random {
 public:
  using result_type = std::uint64_t;
  explicit Random(std::uint64_t seed) : state_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  result_type operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound); bound > 0.
  std::uint64_t Below(std::uint64_t bound) {
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<std::uint64_t>((static_cast<Wide>((*this)()) * bound) >> 64);
  }

  // Uniform in [0, 1).
  double Uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

// The seed of a sub-stream: DeriveSeed(run_seed, "mcts", task_index).
inline std::uint64_t DeriveSeed(std::uint64_t seed, std::string_view purpose,
                                std::uint64_t index = 0) {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  Random mix(seed ^ hash);
  return mix() ^ Random(mix() + index)();
}

}  // namespace kindred
