#include "runtime/device/cuda/driver.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/shared_library.h"
#include "base/user_folder.h"

namespace dovetail::runtime::cuda {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

Diagnostic no_driver(std::string why) {
  return {"cannot run on the GPU", "driver", std::move(why),
          "install NVIDIA's driver (`nvidia-smi` shows it), or compile for another target: --target cpu"};
}

// Empty, or the first missing function.
std::string bind_all(const SharedLibrary& library, Driver& driver) {
  std::string missing;
  const auto bind = [&](auto& pointer, const char* symbol) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(library.find(symbol));
    if (pointer == nullptr && missing.empty()) missing = symbol;
  };
  bind(driver.init, "cuInit");
  bind(driver.driver_version, "cuDriverGetVersion");
  bind(driver.error_name, "cuGetErrorName");
  bind(driver.device_count, "cuDeviceGetCount");
  bind(driver.device, "cuDeviceGet");
  bind(driver.device_name, "cuDeviceGetName");
  bind(driver.device_pci_bus, "cuDeviceGetPCIBusId");
  bind(driver.device_attribute, "cuDeviceGetAttribute");
  bind(driver.retain_context, "cuDevicePrimaryCtxRetain");
  bind(driver.release_context, "cuDevicePrimaryCtxRelease_v2");
  bind(driver.set_context, "cuCtxSetCurrent");
  bind(driver.load_module, "cuModuleLoadData");
  bind(driver.unload_module, "cuModuleUnload");
  bind(driver.function, "cuModuleGetFunction");
  bind(driver.function_attribute, "cuFuncGetAttribute");
  bind(driver.set_function_attribute, "cuFuncSetAttribute");
  bind(driver.allocate, "cuMemAlloc_v2");
  bind(driver.free, "cuMemFree_v2");
  bind(driver.allocate_pinned, "cuMemHostAlloc");
  bind(driver.free_pinned, "cuMemFreeHost");
  bind(driver.memory_info, "cuMemGetInfo_v2");
  bind(driver.fill, "cuMemsetD8Async");
  bind(driver.copy_in, "cuMemcpyHtoDAsync_v2");
  bind(driver.copy_out, "cuMemcpyDtoHAsync_v2");
  bind(driver.copy_3d, "cuMemcpy3DAsync_v2");
  bind(driver.create_stream, "cuStreamCreate");
  bind(driver.destroy_stream, "cuStreamDestroy_v2");
  bind(driver.synchronize_stream, "cuStreamSynchronize");
  bind(driver.create_event, "cuEventCreate");
  bind(driver.destroy_event, "cuEventDestroy_v2");
  bind(driver.record_event, "cuEventRecord");
  bind(driver.record_event_with_flags, "cuEventRecordWithFlags");
  bind(driver.synchronize_event, "cuEventSynchronize");
  bind(driver.elapsed, "cuEventElapsedTime");
  bind(driver.launch, "cuLaunchKernel");
  bind(driver.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  bind(driver.begin_capture, "cuStreamBeginCapture_v2");
  bind(driver.end_capture, "cuStreamEndCapture");
  bind(driver.instantiate, "cuGraphInstantiateWithFlags");
  bind(driver.launch_graph, "cuGraphLaunch");
  bind(driver.destroy_graph, "cuGraphDestroy");
  bind(driver.destroy_graph_exec, "cuGraphExecDestroy");
  const std::string needed = missing;
  bind(driver.encode_tensor_map, "cuTensorMapEncodeTiled");
  return needed;
}

}  // namespace

bool status::is_sticky(Status status) {
  // CUDA_ERROR_ECC_UNCORRECTABLE, CONTAINED, ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, ASSERT, HARDWARE_STACK_ERROR,
  // ILLEGAL_INSTRUCTION, MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED, TENSOR_MEMORY_LEAK,
  // EXTERNAL_DEVICE.
  constexpr std::array<Status, 13> kSticky{214, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911};
  return std::ranges::find(kSticky, status) != kSticky.end();
}

Result<std::shared_ptr<const Driver>> Driver::find() {
  const std::string path = environment("DOVETAIL_LIBCUDA").value_or(kLibrary);
  auto library = SharedLibrary::open(path);
  if (!library.ok())
    return no_driver(fmt::format("there is no NVIDIA driver on this machine: {}", library.errors().front().why));
  auto driver = std::make_shared<Driver>();
  if (const std::string missing = bind_all(*library, *driver); !missing.empty())
    return no_driver(fmt::format("{} has no function {}: the driver is older than CUDA 11.4", path, missing));
  library->keep();  // unloading is not safe
  return std::shared_ptr<const Driver>(std::move(driver));
}

Result<void> Driver::check(Status status, std::string_view action) const {
  if (status == status::kSuccess) return {};
  const char* word = nullptr;
  if (error_name(status, &word) != status::kSuccess || word == nullptr) word = "an unknown error";
  Diagnostic problem{"the GPU reports an error", std::string(action), fmt::format("{} ({})", word, status), ""};
  switch (status) {
    case status::kOutOfMemory:
      problem.hint =
          "close other programs that use the device, run fewer samples at once, or use another target for some nodes: "
          "--place NODE=cpu";
      problem.cause = Cause::resource;
      break;
    case status::kNoDevice:
      problem.why += ": the driver sees no device";
      problem.hint = "look at `nvidia-smi` and CUDA_VISIBLE_DEVICES, or compile for another target: --target cpu";
      break;
    case status::kStubLibrary:
      problem.why += ": the library found is a stub for linking, not the driver";
      problem.hint = "remove the toolkit's stubs from LD_LIBRARY_PATH";
      break;
    case status::kDriverMismatch:
      problem.why += ": the driver's library and the kernel's module are of different versions";
      problem.hint = "restart the machine after the driver's update";
      break;
    // The code's compiler is newer than the driver supports; the first of these errors is for machine code.
    case status::kInvalidImage:
    case status::kNoBinaryForGpu:
    case status::kInvalidPtx:
    case status::kUnsupportedPtxVersion:
      problem.hint =
          "compile for this device with --gpu, or update the driver: it must be as new as the NVRTC that compiled "
          "(`dovetail doctor` shows the installed version)";
      break;
    default:
      problem.hint = status::is_sticky(status)
                         ? "a kernel failed, and this process can no longer use the device: run it again with "
                           "CUDA_LAUNCH_BLOCKING=1 to find the kernel"
                         : "look at `nvidia-smi`; if it persists, report it with `dovetail doctor`";
      break;
  }
  return problem;
}

}  // namespace dovetail::runtime::cuda
