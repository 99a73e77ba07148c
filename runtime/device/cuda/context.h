// A device in use: its context, a stream on which everything runs in order, memory and modules.
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

// What `dovetail doctor` says of the device, without using it.
struct DeviceFacts {
  Ordinal ordinal = 0;
  std::string name;
  std::string pci_bus;  // "0000:01:00.0", by which NVML knows it
  int capability = 0;   // 90 for sm_90
  int processors = 0;
  int threads_of_processor = 0;  // at most, at a time
  int shared_bytes = 0;          // of a block, where its launch asks for them
};
// The first device that the process sees. Error: no driver, no device.
Result<DeviceFacts> find_device(const Driver& driver);
Result<DeviceFacts> find_device();

// Whether a device of that capability (90 for sm_90) runs the image. Machine code runs on its own major version from
// its minor version on, PTX on all later ones; with a letter, on that device alone (a) or on its major version (f).
bool runs_on(const bundle::CudaImage& image, int capability);

// Planes of rows, dense, and where they go: rows, and planes of these, that lie farther apart.
struct Planes {
  Address from = 0, to = 0;  // of the first elements
  std::size_t row_bytes = 0, rows = 0, planes = 0;
  std::size_t to_row_bytes = 0, to_rows = 0;
};

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

  // The image of these that the device runs: machine code for it, else PTX that is not newer. Error: none does.
  Result<std::size_t> choose(std::span<const bundle::CudaImage> images) const;
  // That image, loaded once.
  Result<ModuleHandle> module(std::span<const bundle::CudaImage> images);
  // A kernel, ready for launches of that form. Error: a block of the device has less of what it takes.
  Result<FunctionHandle> function(ModuleHandle module, const bundle::CudaLaunch& launch) const;
  const DeviceFacts& facts() const { return facts_; }

  // Memory of the device, behind what the stream does already: what was given back before, where it fits; else new.
  // Nothing is given back to the driver before it has no more, or the context ends. `holds`: what it is for, in words.
  Result<Address> take(std::size_t bytes, std::string_view holds);
  void give_back(Address address, std::size_t bytes);

  // Behind what the stream does already, through pinned memory. The host's bytes may change as soon as copy_in returns;
  // copy_out waits until they are there.
  Result<void> copy_in(Address to, std::span<const std::byte> bytes);
  Result<void> copy_out(Address from, std::span<std::byte> bytes);
  // Within the device's memory, behind what the stream does already; a stream that captures takes both.
  Result<void> clear(Address address, std::size_t bytes) const;
  Result<void> copy_planes(const Planes& planes) const;

 private:
  Context() = default;
  // Half of the pinned memory, and when the last copy from or to it is done.
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
  std::map<const std::byte*, ModuleHandle> modules_;  // by their bytes, which the bundle keeps
  std::multimap<std::size_t, Address> unused_;        // memory that was given back, by its bytes
  std::array<Half, 2> pinned_;
};

// Memory of the device, given back when this goes.
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
  // Behind what the stream does already. copy_out waits.
  Result<void> copy_in(std::size_t offset, std::span<const std::byte> bytes) const;
  Result<void> copy_out(std::size_t offset, std::span<std::byte> bytes) const;

 private:
  std::shared_ptr<Context> context_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace dovetail::runtime::cuda
