// What measuring a workload takes, estimated before anything is built.
#pragma once

#include <string>

#include "schedules/target.h"
#include "schedules/workload.h"

namespace kindred {

struct WorkloadLimits {
  double memory_bytes = 0;  // of a worker; 0: no bound
  double run_s = 20;        // of one run of a candidate
  double untuned_s = 100;   // of one run of the plain program
};

// Bytes that a worker holds at once, about: all tensors, weights a second time (packed), the
// reference.
double MeasuringBytes(const Workload& workload);

// Seconds of one run of the plain program where it is slow: an operation takes a nanosecond on a
// CPU, a hundred times what the peak allows on a GPU.
double UntunedSeconds(const Workload& workload, const Target& target);

// Why no candidate can be measured within the limits; empty: it can.
std::string WhyNotTunable(const Workload& canonical, const Target& target,
                          const WorkloadLimits& limits);

// Memory that this process may use: the machine's or, where that is less, its control group's.
double MemoryBytes();

}  // namespace kindred
