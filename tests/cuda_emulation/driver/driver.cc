// libcuda.so.1 of the emulated device: those functions of the CUDA Driver API that the worker uses.
//
// Kernels are compiled for the host and run at once, one after the other; what one does wrong shows
// at the next synchronisation, as on a device. Times are made up: they follow the number of
// accesses. Results are CUresult's numbers. Thread safety: none.
#include "tests/cuda_emulation/driver/driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "tests/cuda_emulation/driver/faults.h"
#include "tests/cuda_emulation/driver/memory.h"
#include "tests/cuda_emulation/driver/modules.h"

namespace kindred::cuda_emulation {
namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialised = 3, kNoDevice = 100,
              kInvalidDevice = 101, kInvalidImage = 200, kEcc = 214, kNotFound = 500,
              kIllegalAddress = 700, kAssert = 710, kMisaligned = 716, kLaunchFailed = 719,
              kCaptureUnsupported = 900;

constexpr std::size_t kMemoryBytes = 512 << 20;
constexpr int kSharedBytes = 227 << 10, kThreadsPerBlock = 1024;
constexpr double kGap_ns = 500, kFillBytesPer_ns = 1000;
constexpr std::size_t kMostKernels = 1 << 16;

// CUdevice_attribute: a small device of compute capability 9.0.
const std::map<int, int> kAttributes = {
    {1, kThreadsPerBlock},  // threads per block
    {10, 32},               // warp
    {13, 1000000},          // clock, kHz
    {16, 2},                // multiprocessors
    {38, 64 << 10},         // L2
    {39, 2048},             // threads per multiprocessor
    {75, 9},
    {76, 0},
    {81, 228 << 10},  // shared memory per multiprocessor
    {82, 65536},      // registers per multiprocessor
    {97, kSharedBytes},
    {106, 32},  // blocks per multiprocessor
};

// A launch that was captured: its parameters are copied, eight bytes each.
struct GraphNode {
  DeviceFunction* function = nullptr;
  Launch launch;
  std::vector<std::uint64_t> values;
};
using Graph = std::vector<GraphNode>;

struct Device {
  bool started = false;
  int dead = 0;  // the sticky error
  bool hung = false;
  std::string said;  // about the last error
  DeviceMemory memory{0};
  std::deque<std::unique_ptr<DeviceModule>> modules;
  std::deque<DeviceFunction> functions;
  std::map<const void*, double> events;
  std::uint64_t copies = 0;  // to the device
  double clock_ns = 1e6;
  std::uint32_t correlation = 0;
  std::deque<KindredEmulatedKernel> kernels;
  std::unique_ptr<Graph> capturing;  // else launches run at once
};

Device& TheDevice() {
  static Device* const device = new Device;
  return *device;
}

bool Lost() {
  const std::string file = Planted("lost_file");
  return !file.empty() && access(file.c_str(), F_OK) == 0;
}

int Fail(int code, std::string said = {}) {
  TheDevice().said = std::move(said);
  return code;
}

// What every call of a context begins with.
int Alive() {
  const Device& d = TheDevice();
  if (!d.started) return kNotInitialised;
  return d.dead;
}

// The same of calls that a stream which is captured refuses.
int AliveAndNotCapturing() {
  if (const int dead = Alive(); dead != 0) return dead;
  return TheDevice().capturing ? kCaptureUnsupported : 0;
}

int CodeOf(Mistake mistake) {
  if (mistake == Mistake::kOutOfBounds || mistake == Mistake::kReadOnly) return kIllegalAddress;
  return mistake == Mistake::kMisaligned ? kMisaligned : kLaunchFailed;
}

// The sticky error that is planted for a source; 0: none.
int PlantedDeath(const std::string& source) {
  const std::pair<const char*, int> kDeaths[] = {{"illegal_address", kIllegalAddress},
                                                 {"misaligned", kMisaligned},
                                                 {"assert", kAssert},
                                                 {"ecc", kEcc},
                                                 {"launch_failed", kLaunchFailed}};
  for (const auto& [name, code] : kDeaths)
    if (PlantedIn(name, source)) return code;
  if (!PlantedIn("lost", source)) return 0;
  std::ofstream(Planted("lost_file")) << "lost\n";
  return kLaunchFailed;
}

// Turns over a bit of the last buffer that the kernel writes.
void Spoil(const DeviceFunction& function, void** parameters) {
  for (std::size_t i = function.parameters.size(); i-- > 0;) {
    if (!function.parameters[i].pointer || !function.parameters[i].writable) continue;
    std::byte* memory = nullptr;
    std::memcpy(&memory, parameters[i], sizeof memory);
    memory[3] ^= std::byte{0x40};
    return;
  }
}

// Kernels of one graph have one correlation.
int LaunchFunction(DeviceFunction* function, const Launch& launch, void** parameters,
                   std::uint32_t correlation) {
  Device& d = TheDevice();
  const std::string& source = function->module->source;
  if (PlantedIn("invalid_launch", source)) return Fail(kInvalidValue);
  if (PlantedIn("no_memory", source)) return Fail(kOutOfMemory);
  if (PlantedIn("crash", source)) std::abort();
  d.hung = d.hung || PlantedIn("hang", source);
  d.dead = PlantedDeath(source);
  if (d.dead != 0 || d.hung) return 0;  // shows when somebody waits
  if (function->copies != d.copies) {   // it may have something else to work on
    function->copies = d.copies;
    function->runs = 0;
  }
  Result<Report> report = RunFunction(function, launch, parameters, d.memory);
  if (!report) return Fail(kInvalidValue, report.error().message);
  if (report->finding) {
    d.dead = CodeOf(report->finding->mistake);
    d.said = std::string(Name(report->finding->mistake)) + ": " + report->finding->message;
    return 0;
  }
  if (PlantedIn("wrong", source)) Spoil(*function, parameters);
  KindredEmulatedKernel kernel = {};
  kernel.start = static_cast<std::uint64_t>(d.clock_ns += kGap_ns);
  kernel.end = static_cast<std::uint64_t>(d.clock_ns += function->ns);
  kernel.correlation = correlation;
  d.kernels.push_back(kernel);
  if (d.kernels.size() > kMostKernels) d.kernels.pop_front();
  return 0;
}

}  // namespace
}  // namespace kindred::cuda_emulation

using namespace kindred::cuda_emulation;

KINDRED_EXPORT unsigned kindred_emulated_kernels(KindredEmulatedKernel* kernels, unsigned room) {
  Device& d = TheDevice();
  unsigned count = 0;
  for (; count < room && !d.kernels.empty(); ++count) {
    kernels[count] = d.kernels.front();
    d.kernels.pop_front();
  }
  return count;
}

KINDRED_EXPORT int cuInit(unsigned) {
  Device& d = TheDevice();
  if (Lost()) return kNoDevice;
  if (d.started) return 0;
  const std::string bytes = Planted("memory");
  d.memory = DeviceMemory(bytes.empty() ? kMemoryBytes : std::stoull(bytes));
  d.started = true;
  return 0;
}
KINDRED_EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
KINDRED_EXPORT int cuDeviceGetCount(int* count) {
  const std::string planted = Planted("devices");
  *count = planted.empty() ? 1 : std::stoi(planted);
  return 0;
}
KINDRED_EXPORT int cuDeviceGet(int* device, int index) {
  *device = index;
  int count = 0;
  cuDeviceGetCount(&count);
  return index >= 0 && index < count ? 0 : kInvalidDevice;
}
KINDRED_EXPORT int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Kindred emulated device", static_cast<std::size_t>(length));
  return 0;
}
KINDRED_EXPORT int cuDeviceGetUuid_v2(unsigned char* bytes, int device) {
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(i + 16 * device);
  return 0;
}
KINDRED_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  const auto found = kAttributes.find(attribute);
  if (found == kAttributes.end()) return kInvalidValue;
  *value = found->second;
  return 0;
}
KINDRED_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  const std::string planted = Planted("memory");
  *bytes = planted.empty() ? kMemoryBytes : std::stoull(planted);
  return 0;
}
KINDRED_EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &TheDevice();
  return Alive();
}
KINDRED_EXPORT int cuCtxSetCurrent(void*) { return Alive(); }
KINDRED_EXPORT int cuStreamSynchronize(void*) {
  while (TheDevice().hung) pause();
  return AliveAndNotCapturing();
}
KINDRED_EXPORT int cuCtxSynchronize() { return cuStreamSynchronize(nullptr); }

KINDRED_EXPORT int cuModuleLoadData(void** module, const void* image) {
  if (const int dead = Alive(); dead != 0) return dead;
  auto loaded = LoadModule(static_cast<const char*>(image));
  if (!loaded) return Fail(kInvalidImage, loaded.error().message);
  *module = loaded->get();
  TheDevice().modules.push_back(std::move(*loaded));
  return 0;
}
KINDRED_EXPORT int cuModuleUnload(void* module) {
  Device& d = TheDevice();
  std::erase_if(d.functions, [&](const DeviceFunction& f) { return f.module == module; });
  for (const auto& m : d.modules)
    for (const std::uintptr_t address : m->lent)
      if (m.get() == module) d.memory.Forget(address);
  std::erase_if(d.modules, [&](const auto& m) { return m.get() == module; });
  return d.dead;
}
KINDRED_EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (const int dead = Alive(); dead != 0) return dead;
  auto* from = static_cast<DeviceModule*>(module);
  const auto entries = EntriesOf(from->source);
  if (std::find(entries.begin(), entries.end(), name) == entries.end()) return Fail(kNotFound);
  DeviceFunction& made = TheDevice().functions.emplace_back();
  made.module = from;
  made.entry = name;
  made.parameters = from->module->Parameters(name);
  *function = &made;
  return 0;
}
KINDRED_EXPORT int cuModuleGetGlobal_v2(unsigned long long* at, std::size_t* bytes, void* module,
                                        const char* name) {
  if (const int dead = Alive(); dead != 0) return dead;
  auto* from = static_cast<DeviceModule*>(module);
  const auto variable = from->module->Global(name);
  if (variable.empty()) return Fail(kNotFound);
  *at = reinterpret_cast<std::uintptr_t>(variable.data());
  *bytes = variable.size();
  TheDevice().memory.Lend(*at, *bytes);
  from->lent.push_back(*at);
  return 0;
}
KINDRED_EXPORT int cuFuncSetAttribute(void*, int, int value) {
  if (const int dead = Alive(); dead != 0) return dead;
  return value <= kSharedBytes ? 0 : Fail(kInvalidValue);
}
KINDRED_EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z,
                                  unsigned shared_bytes, void*, void** parameters, void**) {
  if (const int dead = Alive(); dead != 0) return dead;
  if (shared_bytes > static_cast<unsigned>(kSharedBytes)) return Fail(kInvalidValue);
  Launch launch;
  launch.grid = {grid_x, grid_y, grid_z};
  launch.block = {block_x, block_y, block_z};
  launch.shared_bytes = shared_bytes;
  auto* launched = static_cast<DeviceFunction*>(function);
  Device& d = TheDevice();
  if (!d.capturing) return LaunchFunction(launched, launch, parameters, ++d.correlation);
  GraphNode& node = d.capturing->emplace_back();
  node.function = launched;
  node.launch = launch;
  for (std::size_t i = 0; i < launched->parameters.size(); ++i)
    std::memcpy(&node.values.emplace_back(), parameters[i], sizeof(std::uint64_t));
  return 0;
}

KINDRED_EXPORT int cuStreamBeginCapture_v2(void* stream, int) {
  if (const int dead = AliveAndNotCapturing(); dead != 0) return dead;
  const std::string refused = Planted("graph");
  if (!refused.empty()) return Fail(std::stoi(refused));
  if (stream == nullptr) return Fail(kInvalidValue);
  TheDevice().capturing = std::make_unique<Graph>();
  return 0;
}
KINDRED_EXPORT int cuStreamEndCapture(void*, void** graph) {
  if (!TheDevice().capturing) return Fail(kInvalidValue);
  *graph = TheDevice().capturing.release();
  return Alive();
}
KINDRED_EXPORT int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  return Alive();
}
KINDRED_EXPORT int cuGraphLaunch(void* executable, void*) {
  if (const int dead = AliveAndNotCapturing(); dead != 0) return dead;
  const std::uint32_t correlation = ++TheDevice().correlation;
  for (GraphNode& node : *static_cast<Graph*>(executable)) {
    std::vector<void*> parameters;
    for (std::uint64_t& value : node.values) parameters.push_back(&value);
    if (const int code = LaunchFunction(node.function, node.launch, parameters.data(), correlation);
        code != 0)
      return code;
  }
  return 0;
}
KINDRED_EXPORT int cuGraphExecDestroy(void* executable) {
  delete static_cast<Graph*>(executable);
  return 0;
}
KINDRED_EXPORT int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}

KINDRED_EXPORT int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  if (const int dead = Alive(); dead != 0) return dead;
  const auto address = TheDevice().memory.Allocate(bytes);
  if (!address) return Fail(kOutOfMemory);
  *memory = *address;
  return 0;
}
KINDRED_EXPORT int cuMemFree_v2(unsigned long long memory) {
  if (const int dead = Alive(); dead != 0) return dead;
  return TheDevice().memory.Free(memory) ? 0 : Fail(kInvalidValue);
}
KINDRED_EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  if (const int dead = Alive(); dead != 0) return dead;
  if (TheDevice().memory.BytesFrom(to) < bytes) return Fail(kInvalidValue);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  ++TheDevice().copies;
  return 0;
}
KINDRED_EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  if (const int dead = Alive(); dead != 0) return dead;
  if (TheDevice().memory.BytesFrom(from) < bytes) return Fail(kInvalidValue);
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
KINDRED_EXPORT int cuMemsetD8Async(unsigned long long at, unsigned char byte, std::size_t bytes,
                                   void*) {
  Device& d = TheDevice();
  if (const int dead = AliveAndNotCapturing(); dead != 0) return dead;
  if (d.memory.BytesFrom(at) < bytes) return Fail(kInvalidValue);
  std::memset(reinterpret_cast<void*>(at), byte, bytes);
  d.clock_ns += static_cast<double>(bytes) / kFillBytesPer_ns;
  return 0;
}

KINDRED_EXPORT int cuStreamCreate(void** stream, unsigned) {
  *stream = &TheDevice();
  return Alive();
}
KINDRED_EXPORT int cuEventCreate(void** event, unsigned) {
  *event = new char;
  return Alive();
}
KINDRED_EXPORT int cuEventRecord(void* event, void*) {
  TheDevice().events[event] = TheDevice().clock_ns;
  return Alive();
}
KINDRED_EXPORT int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  Device& d = TheDevice();
  *milliseconds = static_cast<float>((d.events[end] - d.events[start]) / 1e6);
  return Alive();
}

KINDRED_EXPORT int cuGetErrorName(int code, const char** name) {
  static const std::map<int, const char*> kNames = {
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNotInitialised, "CUDA_ERROR_NOT_INITIALIZED"},
      {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
      {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
      {kEcc, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kAssert, "CUDA_ERROR_ASSERT"},
      {kMisaligned, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
  };
  const auto found = kNames.find(code);
  if (found == kNames.end()) return kInvalidValue;
  *name = found->second;
  return 0;
}
KINDRED_EXPORT int cuGetErrorString(int, const char** text) {
  const std::string& said = TheDevice().said;
  *text = said.empty() ? "planted in the emulated device" : said.c_str();
  return 0;
}
