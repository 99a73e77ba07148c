// An accelerator on a board, as a driver has it: registers, an interrupt, and memory that the processor and it share.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace dovetail::simulator {

class AxiDevice {
 public:
  virtual ~AxiDevice() = default;

  virtual std::string name() const = 0;  // for messages: "/dev/uio0 with /dev/udmabuf0"

  // 32-bit accesses at byte offsets of the register window (isa/spec/registers.h).
  virtual std::uint32_t read(std::uint32_t offset) = 0;
  virtual void write(std::uint32_t offset, std::uint32_t value) = 0;
  // Returns at an interrupt, or after `most`, or sooner. Error: the device is lost.
  virtual Result<void> wait(std::chrono::milliseconds most) = 0;

  // One physically contiguous block, from `base` on as the accelerator addresses it.
  virtual std::uint64_t base() const = 0;
  virtual std::span<std::byte> memory() = 0;
  // The processor's caches. clean: the accelerator reads what was written here. invalidate: the processor reads what
  // the accelerator wrote. Precondition: within memory(). Error: the kernel refuses.
  virtual Result<void> clean(std::uint64_t offset, std::uint64_t bytes) = 0;
  virtual Result<void> invalidate(std::uint64_t offset, std::uint64_t bytes) = 0;
};

}  // namespace dovetail::simulator
