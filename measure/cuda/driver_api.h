// The CUDA driver: libcuda.so.1, opened at run time; the functions that are used, declared here.
//
// Names and types are those of the CUDA Driver API's reference manual; every function returns 0 for
// success. Only worker processes load it. Thread safety: the driver's own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "measure/cuda/dynamic_library.h"
#include "schedules/base/result.h"
#include "schedules/outcome.h"

namespace kindred {

using CudaResult = int;
using CudaPointer = unsigned long long;

struct DriverApi {
  CudaResult (*init)(unsigned flags);
  CudaResult (*driver_version)(int* version);
  CudaResult (*device_count)(int* count);
  CudaResult (*device_get)(int* device, int index);
  CudaResult (*device_name)(char* name, int length, int device);
  CudaResult (*device_uuid)(unsigned char* bytes16, int device);
  CudaResult (*device_attribute)(int* value, int attribute, int device);
  CudaResult (*device_memory)(std::size_t* bytes, int device);
  CudaResult (*context_retain)(void** context, int device);
  CudaResult (*context_set)(void* context);
  CudaResult (*synchronize)();
  CudaResult (*module_load)(void** module, const void* image);
  CudaResult (*module_unload)(void* module);
  CudaResult (*module_function)(void** function, void* module, const char* name);
  CudaResult (*module_global)(CudaPointer* at, std::size_t* bytes, void* module, const char* name);
  CudaResult (*function_set)(void* function, int attribute, int value);
  CudaResult (*memory_allocate)(CudaPointer* memory, std::size_t bytes);
  CudaResult (*memory_free)(CudaPointer memory);
  CudaResult (*copy_to_device)(CudaPointer to, const void* from, std::size_t bytes);
  CudaResult (*copy_to_host)(void* to, CudaPointer from, std::size_t bytes);
  CudaResult (*fill_async)(CudaPointer at, unsigned char byte, std::size_t bytes, void* stream);
  CudaResult (*stream_create)(void** stream, unsigned flags);
  CudaResult (*stream_synchronize)(void* stream);
  CudaResult (*event_create)(void** event, unsigned flags);
  CudaResult (*event_record)(void* event, void* stream);
  CudaResult (*event_elapsed)(float* milliseconds, void* start, void* end);
  CudaResult (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       void* stream, void** parameters, void** extra);
  CudaResult (*capture_begin)(void* stream, int mode);
  CudaResult (*capture_end)(void* stream, void** graph);
  CudaResult (*graph_instantiate)(void** executable, void* graph, unsigned long long flags);
  CudaResult (*graph_launch)(void* executable, void* stream);
  CudaResult (*graph_executable_destroy)(void* executable);
  CudaResult (*graph_destroy)(void* graph);
  CudaResult (*error_name)(CudaResult code, const char** name);
  CudaResult (*error_text)(CudaResult code, const char** text);

  std::unique_ptr<DynamicLibrary> library;

  // "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  std::string Text(CudaResult code) const;

  // Error (kEnvironment): no driver is installed, or too old; one line.
  static Result<std::unique_ptr<DriverApi>> Load();
};

inline constexpr CudaResult kCudaOutOfMemory = 2;

// What a candidate's outcome is when the driver returned `code` (not 0) for its launches or for a
// synchronisation after them.
Status StatusOf(CudaResult code);

}  // namespace kindred
