#include "measure/cuda/driver_api.h"

namespace kindred {

Result<std::unique_ptr<DriverApi>> DriverApi::Load() {
  const std::string names[] = {"libcuda.so.1"};
  auto api = std::make_unique<DriverApi>();
  auto library = DynamicLibrary::Open(names, "NVIDIA driver", "");
  if (!library)
    return Environment(
        "no NVIDIA driver: libcuda.so.1 was not found; a GPU needs NVIDIA's driver on this machine "
        "(in a container: pass the GPU through)");
  api->library = std::move(*library);
  const char* absent = nullptr;
  const auto find = [&]<typename R, typename... A>(R (*&function)(A...), const char* name) {
    function = api->library->Find<R(A...)>(name);
    if (function == nullptr && absent == nullptr) absent = name;
  };
  DriverApi& f = *api;
  find(f.init, "cuInit");
  find(f.driver_version, "cuDriverGetVersion");
  find(f.device_count, "cuDeviceGetCount");
  find(f.device_get, "cuDeviceGet");
  find(f.device_name, "cuDeviceGetName");
  find(f.device_uuid, "cuDeviceGetUuid_v2");
  find(f.device_attribute, "cuDeviceGetAttribute");
  find(f.device_memory, "cuDeviceTotalMem_v2");
  find(f.context_retain, "cuDevicePrimaryCtxRetain");
  find(f.context_set, "cuCtxSetCurrent");
  find(f.synchronize, "cuCtxSynchronize");
  find(f.module_load, "cuModuleLoadData");
  find(f.module_unload, "cuModuleUnload");
  find(f.module_function, "cuModuleGetFunction");
  find(f.module_global, "cuModuleGetGlobal_v2");
  find(f.function_set, "cuFuncSetAttribute");
  find(f.memory_allocate, "cuMemAlloc_v2");
  find(f.memory_free, "cuMemFree_v2");
  find(f.copy_to_device, "cuMemcpyHtoD_v2");
  find(f.copy_to_host, "cuMemcpyDtoH_v2");
  find(f.fill_async, "cuMemsetD8Async");
  find(f.stream_create, "cuStreamCreate");
  find(f.stream_synchronize, "cuStreamSynchronize");
  find(f.event_create, "cuEventCreate");
  find(f.event_record, "cuEventRecord");
  find(f.event_elapsed, "cuEventElapsedTime");
  find(f.launch, "cuLaunchKernel");
  find(f.capture_begin, "cuStreamBeginCapture_v2");
  find(f.capture_end, "cuStreamEndCapture");
  find(f.graph_instantiate, "cuGraphInstantiateWithFlags");
  find(f.graph_launch, "cuGraphLaunch");
  find(f.graph_executable_destroy, "cuGraphExecDestroy");
  find(f.graph_destroy, "cuGraphDestroy");
  find(f.error_name, "cuGetErrorName");
  find(f.error_text, "cuGetErrorString");
  if (absent != nullptr)
    return Environment("the NVIDIA driver " + f.library->path() + " has no " + absent +
                       ": a driver for CUDA 11.4 or newer is needed");
  return api;
}

std::string DriverApi::Text(CudaResult code) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(code, &name) != 0 || name == nullptr) return "CUDA error " + std::to_string(code);
  if (error_text(code, &text) != 0 || text == nullptr) return name;
  return std::string(name) + " (" + text + ")";
}

// Numbers: cuda.h, CUresult.
Status StatusOf(CudaResult code) {
  switch (code) {
    case kCudaOutOfMemory: return Status::kOutOfMemory;
    case 200:  // invalid image
    case 209:  // no binary for the device
    case 500:  // no such function
      return Status::kBuildError;
    case 1:    // invalid value: a grid, block or shared memory that the device does not have
    case 701:  // launch out of resources
      return Status::kRunError;
    case 700: return Status::kOutOfBounds;  // illegal address
    case 702: return Status::kRunTimeout;   // launch timeout
    default: return Status::kCrash;         // misaligned address, assert, ECC, launch failed, ...
  }
}

}  // namespace kindred
