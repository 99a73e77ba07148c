// A device in use: its context, a stream on which everything runs in order, memory and modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/code/cuda.h"
#include "runtime/device/cuda/driver.h"

namespace dovetail::runtime::cuda {

// What `dovetail doctor` says of the device, without using it.
struct DeviceFacts {
  Ordinal ordinal = 0;
  std::string name;
  std::string pci_bus;  // "0000:01:00.0", by which NVML knows it
  int capability = 0;   // 90 for sm_90
};
// The first device that the process sees. Error: no driver, no device.
Result<DeviceFacts> find_device(const Driver& driver);
Result<DeviceFacts> find_device();

class Context {
 public:
  // The first device that the process sees (CUDA_VISIBLE_DEVICES).
  static Result<std::shared_ptr<Context>> open();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return *driver_; }
  StreamHandle stream() const { return stream_; }
  const std::string& name() const { return facts_.name; }

  // Of this thread. Before any other call of the driver.
  Result<void> make_current() const;
  // Waits for all that was begun. An error may be of any of it.
  Result<void> synchronize() const;

  // The image of these that the device runs: machine code for it, else PTX that is not newer. Loaded once.
  Result<ModuleHandle> module(std::span<const bundle::CudaImage> images);
  Result<FunctionHandle> function(ModuleHandle module, const bundle::CudaLaunch& launch) const;

 private:
  Context() = default;

  std::shared_ptr<const Driver> driver_;
  DeviceFacts facts_;
  bool retained_ = false;
  ContextHandle context_ = nullptr;
  StreamHandle stream_ = nullptr;
  std::map<const std::byte*, ModuleHandle> modules_;  // by their bytes, which the bundle keeps
};

// Memory of the device, given back when this goes.
class Allocation {
 public:
  static Result<Allocation> make(std::shared_ptr<const Context> context, std::size_t bytes);
  Allocation() = default;
  Allocation(Allocation&& other) noexcept { *this = std::move(other); }
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation();

  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  // Behind what the stream does already. copy_out waits.
  Result<void> copy_in(std::size_t offset, std::span<const std::byte> bytes) const;
  Result<void> copy_out(std::size_t offset, std::span<std::byte> bytes) const;

 private:
  std::shared_ptr<const Context> context_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace dovetail::runtime::cuda
