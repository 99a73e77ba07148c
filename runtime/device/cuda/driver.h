// NVIDIA's driver, loaded at run time when a bundle has steps for it, not linked. Declares the functions of cuda.h that
// are used, with its signatures and the symbols that its macros expand to (CUDA 11.4 and later).
// https://docs.nvidia.com/cuda/cuda-driver-api
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::runtime::cuda {

using Status = int;                  // CUresult
using Ordinal = int;                 // CUdevice
using Address = unsigned long long;  // CUdeviceptr
using ContextHandle = struct CudaContext*;
using ModuleHandle = struct CudaModule*;
using FunctionHandle = struct CudaFunction*;
using StreamHandle = struct CudaStream*;
using EventHandle = struct CudaEvent*;
using GraphHandle = struct CudaGraph*;
using GraphExecHandle = struct CudaGraphExec*;

// The CUresult values that the code distinguishes.
namespace status {
inline constexpr Status kSuccess = 0, kOutOfMemory = 2, kStubLibrary = 34, kNoDevice = 100, kInvalidImage = 200,
                        kNoBinaryForGpu = 209, kInvalidPtx = 218, kUnsupportedPtxVersion = 222, kDriverMismatch = 803;
// After one of these the process can no longer use the device: every later call returns the same.
bool is_sticky(Status status);
}  // namespace status

// CUdevice_attribute, CUfunction_attribute.
inline constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76, kProcessors = 16, kMostThreadsOfProcessor = 39,
                     kMostSharedBytesOfBlock = 97;  // maximum that a launch may request
inline constexpr int kMostThreadsOfFunction = 0, kSharedBytesOfFunction = 1, kLocalBytesOfFunction = 3,
                     kRegistersOfFunction = 4, kMostGivenSharedBytesOfFunction = 8;
// CUstream_flags, CUevent_flags, CUevent_record_flags, CUstreamCaptureMode.
inline constexpr unsigned kNonBlocking = 1, kDefaultEvent = 0, kExternalEvent = 1;
inline constexpr int kThreadLocalCapture = 1;

// CUDA_MEMCPY3D, restricted to copies within the device's memory.
struct Copy3d {
  static constexpr int kDevice = 2;  // CUmemorytype
  std::size_t from_x = 0, from_y = 0, from_z = 0, from_level = 0;
  int from_type = kDevice;
  const void* from_host = nullptr;
  Address from = 0;
  void *from_array = nullptr, *reserved = nullptr;
  std::size_t from_pitch = 0, from_height = 0;
  std::size_t to_x = 0, to_y = 0, to_z = 0, to_level = 0;
  int to_type = kDevice;
  void* to_host = nullptr;
  Address to = 0;
  void *to_array = nullptr, *also_reserved = nullptr;
  std::size_t to_pitch = 0, to_height = 0;
  std::size_t width = 0, height = 0, depth = 0;
};

struct Driver {
  Status (*init)(unsigned);
  Status (*driver_version)(int*);
  Status (*error_name)(Status, const char**);
  Status (*device_count)(int*);
  Status (*device)(Ordinal*, int);
  Status (*device_name)(char*, int, Ordinal);
  Status (*device_pci_bus)(char*, int, Ordinal);
  Status (*device_attribute)(int*, int attribute, Ordinal);
  Status (*retain_context)(ContextHandle*, Ordinal);
  Status (*release_context)(Ordinal);
  Status (*set_context)(ContextHandle);
  Status (*load_module)(ModuleHandle*, const void* image);
  Status (*unload_module)(ModuleHandle);
  Status (*function)(FunctionHandle*, ModuleHandle, const char*);
  Status (*function_attribute)(int*, int attribute, FunctionHandle);
  Status (*set_function_attribute)(FunctionHandle, int attribute, int value);
  Status (*allocate)(Address*, std::size_t);
  Status (*free)(Address);
  Status (*allocate_pinned)(void**, std::size_t, unsigned flags);
  Status (*free_pinned)(void*);
  Status (*memory_info)(std::size_t* free, std::size_t* total);
  Status (*fill)(Address, unsigned char, std::size_t, StreamHandle);
  Status (*copy_in)(Address, const void*, std::size_t, StreamHandle);
  Status (*copy_out)(void*, Address, std::size_t, StreamHandle);
  Status (*copy_3d)(const Copy3d*, StreamHandle);
  Status (*create_stream)(StreamHandle*, unsigned);
  Status (*destroy_stream)(StreamHandle);
  Status (*synchronize_stream)(StreamHandle);
  Status (*create_event)(EventHandle*, unsigned);
  Status (*destroy_event)(EventHandle);
  Status (*record_event)(EventHandle, StreamHandle);
  Status (*record_event_with_flags)(EventHandle, StreamHandle, unsigned flags);
  Status (*synchronize_event)(EventHandle);
  Status (*elapsed)(float* milliseconds, EventHandle, EventHandle);
  Status (*launch)(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
                   StreamHandle, void** parameters, void** extra);
  Status (*occupancy)(int* blocks, FunctionHandle, int threads, std::size_t shared);
  // A captured sequence of stream operations that can be launched again.
  Status (*begin_capture)(StreamHandle, int mode);
  Status (*end_capture)(StreamHandle, GraphHandle*);
  Status (*instantiate)(GraphExecHandle*, GraphHandle, unsigned long long flags);
  Status (*launch_graph)(GraphExecHandle, StreamHandle);
  Status (*destroy_graph)(GraphHandle);
  Status (*destroy_graph_exec)(GraphExecHandle);
  // Since CUDA 12.0; null for an older driver.
  Status (*encode_tensor_map)(void* map, int type, unsigned rank, void* address, const unsigned long long* extents,
                              const unsigned long long* strides, const unsigned* box, const unsigned* steps,
                              int interleave, int swizzle, int promotion, int fill);

  // Loads the file that DOVETAIL_LIBCUDA names, else libcuda.so.1 in the dynamic linker's path. It is never unloaded.
  // Error: there is none, or it is too old.
  static Result<std::shared_ptr<const Driver>> find();

  // Error: the status's meaning, for an action described in words.
  Result<void> check(Status status, std::string_view action) const;
};

}  // namespace dovetail::runtime::cuda
