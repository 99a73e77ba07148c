// Accelerators and their memory as a driver sees them: registers, and bytes at physical addresses. Each launch runs on
// an engine when CONTROL is written, and has ended when the write returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "isa/codec.h"
#include "isa/config.h"
#include "simulator/registers.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

class DrivenMachine {
 public:
  // Memory of `bytes` from the physical address `base` on, all zeros; accelerators read and write it alone. Errors:
  // those of `make_simulator`, and memory beyond the address space.
  static Result<std::unique_ptr<DrivenMachine>> make(
      std::span<const isa::HardwareConfig> accelerators, std::uint64_t base, std::uint64_t bytes,
      const std::function<Result<std::unique_ptr<Simulator>>(const isa::HardwareConfig&)>& make_simulator);

  std::size_t accelerators() const { return accelerators_.size(); }
  std::span<std::byte> memory() { return std::span(dram_.bytes).subspan(base_ - dram_.base); }  // aligned to 64 bytes
  // Error: no accelerator of that number, or no register there.
  Result<std::uint32_t> read(std::size_t accelerator, std::uint32_t offset) const;
  // Errors also: why a launch that the write began has failed. The registers report it too, unless the launch would
  // never end; then it is busy from now on.
  Result<void> write(std::size_t accelerator, std::uint32_t offset, std::uint32_t value);

 private:
  struct Accelerator {
    isa::HardwareConfig config;
    isa::Codec codec;
    Registers registers;
    std::unique_ptr<Simulator> simulator;
  };

  DrivenMachine(std::uint64_t base, std::uint64_t bytes);
  Result<void> check(std::size_t accelerator, std::uint32_t offset) const;
  Result<void> launch(Accelerator& accelerator);
  Result<std::vector<isa::Instruction>> fetch(Accelerator& accelerator, LaunchError& error) const;

  std::vector<Accelerator> accelerators_;
  Dram dram_;
  std::uint64_t base_;
};

}  // namespace dovetail::simulator
