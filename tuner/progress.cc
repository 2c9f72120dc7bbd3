#include "tuner/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace kindred {
namespace {

using Clock = std::chrono::steady_clock;

int TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 100;
}

std::string Bar(double share, int width) {
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < filled ? "\u2588" : "\u2591";
  return bar;
}

std::string Figures(const ProgressState& s) {
  std::string text = fmt::format("{}", s.done);
  if (s.total > 0) text += fmt::format("/{}", s.total);
  text += " trials";
  if (s.elapsed_s > 1 && s.done > 0)
    text += fmt::format("  {:.1f}/s", static_cast<double>(s.done) / s.elapsed_s);
  if (s.best_ns > 0) {
    text += "  best " + FormatNs(s.best_ns);
    if (s.untuned_ns > 0) text += fmt::format(" ({:.1f}x)", s.untuned_ns / s.best_ns);
  }
  if (s.failed > 0) text += fmt::format("  {} failed", s.failed);
  double left = -1;
  if (s.total > 0 && s.done > 0)
    left = s.elapsed_s / static_cast<double>(s.done) * static_cast<double>(s.total - s.done);
  if (s.time_limit_s > 0)
    left = left < 0 ? s.time_limit_s - s.elapsed_s : std::min(left, s.time_limit_s - s.elapsed_s);
  if (left >= 0) text += "  " + FormatSeconds(left) + " left";
  return text;
}

}  // namespace

Progress::Progress(Style style)
    : quiet_(style == Style::kQuiet), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\n", stderr);
}

void Progress::Show(const ProgressState& state, bool force) {
  if (quiet_) return;
  const auto now = Clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000);
  if (!force && last_ != Clock::time_point{} && now - last_ < pause) return;
  last_ = now;
  if (!terminal_) {
    fmt::print(stderr, "{}: {}  {}\n", state.phase, Figures(state), state.task);
    return;
  }
  const double share = state.total > 0
                           ? static_cast<double>(state.done) / static_cast<double>(state.total)
                       : state.time_limit_s > 0 ? state.elapsed_s / state.time_limit_s
                                                : 0;
  std::string tail = " " + Figures(state) + "  ";
  const int room = TerminalWidth() - 21 - static_cast<int>(tail.size());
  if (room > 8) tail += state.task.substr(0, static_cast<std::size_t>(room));
  fmt::print(stderr, "\r\x1b[2K{}{}", Bar(share, 20), tail);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::Note(const std::string& text) {
  if (quiet_) return;
  if (drawn_) std::fputs("\r\x1b[2K", stderr);
  drawn_ = false;
  fmt::print(stderr, "{}\n", text);
}

std::string FormatNs(double ns) {
  if (!(ns > 0)) return "-";
  static constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  while (ns >= 999.5 && unit < 3) ns /= 1000, ++unit;
  const int digits = ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", ns, digits, kUnits[unit]);
}

std::string FormatSeconds(double seconds) {
  const auto s = static_cast<std::int64_t>(std::max(0.0, seconds + 0.5));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace kindred
