// Modules of the emulated device: their image is the text of the kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/result.h"
#include "tests/cuda_emulation/driver/memory.h"
#include "tests/cuda_emulation/emulation.h"

namespace kindred::cuda_emulation {

struct DeviceModule {
  std::string source;
  std::unique_ptr<Module> module;
  std::vector<std::uintptr_t> lent;  // addresses of its variables that the device's memory knows
};

struct DeviceFunction {
  const DeviceModule* module = nullptr;
  std::string entry;
  std::vector<Parameter> parameters;
  int runs = 0;              // since the last copy to the device
  std::uint64_t copies = 0;  // to the device, before these runs
  double ns = 0;             // of the last run
};

// How the emulated compiler calls the instances that it was asked for: kd_entry_0, ...
inline constexpr std::string_view kLoweredName = "kd_entry_";

// Names of the kernels that a source declares: extern "C" __global__ void NAME(..., and those of
// instances.
std::vector<std::string> EntriesOf(const std::string& source);

// Error: the text does not compile.
Result<std::unique_ptr<DeviceModule>> LoadModule(const std::string& source);

// Runs a kernel on the device's memory, at most kMostRuns times between copies to the device: what
// comes after has the effect and the time of the last run. A finding is in the report. Errors as
// Module::Run's.
inline constexpr int kMostRuns = 3;
Result<Report> RunFunction(DeviceFunction* function, const Launch& launch, void** parameters,
                           const DeviceMemory& memory);

}  // namespace kindred::cuda_emulation
