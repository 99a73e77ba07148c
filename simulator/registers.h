// The registers of an accelerator (isa/spec/registers.h) as a driver sees them. Who owns them runs the launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "isa/config.h"
#include "isa/spec/registers.h"
#include "simulator/launch_error.h"

namespace dovetail::simulator {

class Registers {
 public:
  explicit Registers(isa::HardwareConfig config) : config_(std::move(config)) {}

  // Whether the design has a register there. Others are answered with SLVERR.
  bool has(std::uint64_t offset) const;
  // `cycles`: of the launch so far, if one runs. Precondition: has(offset).
  std::uint32_t read(std::uint32_t offset, std::uint64_t cycles = 0) const;
  // True: a launch begins, which ends with complete() or stop(). Precondition: has(offset).
  bool write(std::uint32_t offset, std::uint32_t value);

  std::uint64_t program_base() const { return program_base_; }
  std::uint32_t begin() const { return begin_; }
  std::uint32_t count() const { return count_; }
  std::uint64_t offset() const { return offset_; }
  bool busy() const { return busy_; }
  bool interrupt() const { return (interrupt_enable_ & interrupt_status_) != 0; }

  // The launch has ended after so many cycles.
  void complete(std::uint64_t cycles);
  void stop(const LaunchError& error, std::uint64_t cycles);

 private:
  void end(std::uint64_t cycles, std::uint32_t event);

  isa::HardwareConfig config_;
  bool busy_ = false, done_ = false;
  LaunchError error_;  // ErrorCode::none: there is none
  std::uint32_t interrupt_enable_ = 0, interrupt_status_ = 0, begin_ = 0, count_ = 0;
  std::uint64_t program_base_ = 0, offset_ = 0, cycles_ = 0;
};

}  // namespace dovetail::simulator
