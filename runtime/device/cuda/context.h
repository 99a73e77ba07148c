// A device in use: its context, a stream on which all work runs in order, memory and modules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/code/cuda.h"
#include "runtime/device/cuda/driver.h"

namespace dovetail::runtime::cuda {

// What `dovetail doctor` reports about the device, without using it.
struct DeviceFacts {
  Ordinal ordinal = 0;
  std::string name;
  std::string pci_bus;  // "0000:01:00.0", its identifier in NVML
  int capability = 0;   // 90 for sm_90
  int processors = 0;
  int threads_of_processor = 0;  // maximum resident at a time
  int shared_bytes = 0;          // maximum per block that a launch can request
};
// The first device visible to the process. Error: no driver, no device.
Result<DeviceFacts> find_device(const Driver& driver);
Result<DeviceFacts> find_device();

// Whether a device of that capability (90 for sm_90) runs the image. Machine code runs on its own major version from
// its minor version on, PTX on all later ones; with a letter, only on that device (a) or on its major version (f).
bool runs_on(const bundle::CudaImage& image, int capability);

// A copy of dense planes of rows to a destination with larger strides between rows and planes.
struct Planes {
  Address from = 0, to = 0;  // of the first elements
  std::size_t row_bytes = 0, rows = 0, planes = 0;
  std::size_t to_row_bytes = 0, to_rows = 0;
};

class Context {
 public:
  // The first device visible to the process (CUDA_VISIBLE_DEVICES).
  static Result<std::shared_ptr<Context>> open();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return *driver_; }
  StreamHandle stream() const { return stream_; }
  const std::string& name() const { return facts_.name; }

  // Makes the context current in this thread. Must precede any other call of the driver.
  Result<void> make_current() const;
  // Waits for all work that was started. An error may come from any of it.
  Result<void> synchronize() const;

  // The image that the device runs: machine code for it, else PTX that is not newer. Error: there is none.
  Result<std::size_t> choose(std::span<const bundle::CudaImage> images) const;
  // The module of that image, loaded once.
  Result<ModuleHandle> module(std::span<const bundle::CudaImage> images);
  // A kernel, checked for launches of that form. Error: a block of the device lacks the required resources.
  Result<FunctionHandle> function(ModuleHandle module, const bundle::CudaLaunch& launch) const;
  const DeviceFacts& facts() const { return facts_; }

  // Device memory for work after that already on the stream: released memory if it fits, else new memory. Memory is
  // returned to the driver only when the driver has no more, or the context ends. `holds`: its purpose, for
  // diagnostics.
  Result<Address> take(std::size_t bytes, std::string_view holds);
  void give_back(Address address, std::size_t bytes);

  // Copies ordered after the work already on the stream, through pinned memory. The host's bytes may change as soon as
  // copy_in returns; copy_out waits until they have arrived.
  Result<void> copy_in(Address to, std::span<const std::byte> bytes);
  Result<void> copy_out(Address from, std::span<std::byte> bytes);
  // Operations within the device's memory, ordered after the work already on the stream; a stream that captures accepts
  // both.
  Result<void> clear(Address address, std::size_t bytes) const;
  Result<void> copy_planes(const Planes& planes) const;

 private:
  Context() = default;
  // One of two halves of the pinned memory, and the event after the last copy from or to it.
  struct Half {
    std::byte* bytes = nullptr;
    EventHandle done = nullptr;
  };
  Result<void> need_pinned();
  void free_unused();

  std::shared_ptr<const Driver> driver_;
  DeviceFacts facts_;
  bool retained_ = false;
  ContextHandle context_ = nullptr;
  StreamHandle stream_ = nullptr;
  std::map<const std::byte*, ModuleHandle> modules_;  // by their bytes, which the bundle owns
  std::multimap<std::size_t, Address> unused_;        // released memory, by its size
  std::array<Half, 2> pinned_;
};

// Device memory, released by the destructor.
class Allocation {
 public:
  static Result<Allocation> make(std::shared_ptr<Context> context, std::size_t bytes,
                                 std::string_view holds = "a buffer");
  Allocation() = default;
  Allocation(Allocation&& other) noexcept { *this = std::move(other); }
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation();

  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  // Ordered after the work already on the stream. copy_out waits.
  Result<void> copy_in(std::size_t offset, std::span<const std::byte> bytes) const;
  Result<void> copy_out(std::size_t offset, std::span<std::byte> bytes) const;

 private:
  std::shared_ptr<Context> context_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace dovetail::runtime::cuda
