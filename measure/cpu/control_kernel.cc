#include "measure/cpu/control_kernel.h"

#include <time.h>

namespace kindred {
namespace {

constexpr int kSteps = 6000;
volatile double g_sink;

double Ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

double NowNs() { return Ns(CLOCK_MONOTONIC); }
double ThreadRunNs() { return Ns(CLOCK_THREAD_CPUTIME_ID); }

double RunControlKernel() {
  double a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  const double start = NowNs();
  for (int i = 0; i < kSteps; ++i) {  // towards 1, far from overflow and underflow
    a = a * 0.5 + 0.5;
    b = b * 0.5 + 0.5;
    c = c * 0.5 + 0.5;
    d = d * 0.5 + 0.5;
    e = e * 0.5 + 0.5;
    f = f * 0.5 + 0.5;
    g = g * 0.5 + 0.5;
    h = h * 0.5 + 0.5;
  }
  g_sink = a + b + c + d + e + f + g + h;
  return NowNs() - start;
}

}  // namespace kindred
