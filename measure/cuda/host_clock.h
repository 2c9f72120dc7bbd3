// What timing on a device (device_timing.h) needs of the host and of the device's sensors.
#pragma once

#include "measure/cuda/device.h"
#include "measure/cuda/device_timing.h"

namespace kindred {

double HostNow_ns();  // monotonic

// All but run_group. The device must outlive it.
TimedDevice OnHostClock(const Device& device);

}  // namespace kindred
