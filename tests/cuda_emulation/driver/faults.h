// What goes wrong with the emulated device, from the environment variable KINDRED_FAKE_CUDA:
// NAME=VALUE, separated by commas.
//
//   illegal_address, misaligned, assert, ecc, launch_failed = TEXT
//                   a kernel whose source contains TEXT leaves the context dead (sticky errors)
//   invalid_launch, no_memory = TEXT    its launch is refused; the context lives on
//   hang = TEXT     it never ends
//   crash = TEXT    the process aborts in its launch
//   wrong = TEXT    a bit of what it wrote is turned over
//   graph = CODE    capturing a graph is refused with this result
//   lost = TEXT     the device is gone, from then on for every process: lost_file must be given
//   lost_file = PATH   made when the device is lost
//   cupti = CODE    CUPTI refuses with this result
//   cupti_drops = 1 CUPTI gives no records
//   profiler = CODE   CUPTI's range profiler refuses with this result
//   throttled = N   the first N readings of a process say that the device is too hot
//   memory = BYTES  of the device
//   devices = N     how many there are; 1
#pragma once

#include <string>

namespace kindred::cuda_emulation {

// Empty: nothing of that name.
std::string Planted(const std::string& name);
// Whether `source` contains what is planted under the name.
bool PlantedIn(const std::string& name, const std::string& source);

}  // namespace kindred::cuda_emulation
