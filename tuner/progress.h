// Progress of a long run on standard error: one line that is redrawn on a terminal, plain lines
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace kindred {

struct ProgressState {
  std::string phase;                 // "untuned", "tune"
  std::int64_t done = 0, total = 0;  // trials; total 0: bounded by time alone
  double elapsed_s = 0, time_limit_s = 0;
  double untuned_ns = 0, best_ns = 0;  // weighted sums over all models; 0 unknown
  std::string task;                    // what is being worked on
  std::int64_t failed = 0;
};

class Progress {
 public:
  enum class Style { kAuto, kQuiet };
  explicit Progress(Style style);
  ~Progress();  // ends a drawn line

  // Draws at most ten times a second on a terminal, every ten seconds elsewhere; `force` always
  // draws.
  void Show(const ProgressState& state, bool force = false);
  // A whole line of its own.
  void Note(const std::string& text);

 private:
  bool quiet_, terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// "12.3 ms", "640 us", "1.2 s": three digits.
std::string FormatNs(double ns);
// "1:02:03" or "2:05".
std::string FormatSeconds(double seconds);

}  // namespace kindred
