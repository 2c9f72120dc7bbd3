#include "measure/cuda/host_clock.h"

#include <chrono>
#include <thread>

namespace kindred {

double HostNow_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

TimedDevice OnHostClock(const Device& device) {
  TimedDevice timed;
  timed.now = HostNow_ns;
  timed.state = [&device] { return device.ReadState(); };
  timed.sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  return timed;
}

}  // namespace kindred
