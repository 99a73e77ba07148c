// The accelerators of one system: their configurations, which may differ, and the launches that each of them runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::isa {

// A part of a program that runs to its FINISH. A system of several accelerators may run parts of one program together.
struct Launch {
  std::size_t begin = 0;  // instruction index
  std::size_t count = 0;
  std::size_t accelerator = 0;  // which one runs it
  bool together = false;        // begins with the launch before it, not when that has ended
};

// The configuration of each accelerator, by its number. Without others, any number of accelerators have the first one.
class AcceleratorConfigs {
 public:
  AcceleratorConfigs() = default;
  AcceleratorConfigs(HardwareConfig first, std::vector<HardwareConfig> others = {})  // NOLINT: implicit by design
      : first_(std::move(first)), others_(std::move(others)) {}

  bool same() const { return others_.empty(); }
  // Whether there is an accelerator of this number.
  bool has(std::size_t accelerator) const { return same() || accelerator <= others_.size(); }
  // Precondition: has(accelerator).
  const HardwareConfig& operator[](std::size_t accelerator) const {
    return same() || accelerator == 0 ? first_ : others_[accelerator - 1];
  }
  const HardwareConfig& first() const { return first_; }
  const std::vector<HardwareConfig>& others() const { return others_; }
  // The number of configurations: of accelerators, unless all are the same; then 1.
  std::size_t size() const { return others_.size() + 1; }
  // The first accelerator with the configuration of this one.
  std::size_t kind(std::size_t accelerator) const;

  bool operator==(const AcceleratorConfigs&) const = default;

 private:
  HardwareConfig first_;
  std::vector<HardwareConfig> others_;
};

// Error: the configurations differ in something that accelerators share when they divide a program in one memory: the
// rows of an element, the width of the port, the address space, the form of instructions.
Result<void> check_common(const AcceleratorConfigs& configs);

// The accelerator of each instruction: that of the first launch that has it; without one, the first accelerator.
std::vector<std::size_t> accelerators_of(std::size_t program_size, std::span<const Launch> launches);

// Codec's functions and at_offset() (isa/offset.h) for a program whose launches are those of accelerators that may
// differ. Precondition: each launch has an accelerator, and configurations pass check_common().
Result<std::vector<std::byte>> encode_program(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                                              std::span<const Launch> launches);
Result<std::vector<Instruction>> decode_program(const AcceleratorConfigs& configs, std::span<const std::byte> bytes,
                                                std::span<const Launch> launches, std::string_view where);
std::vector<Instruction> at_offset(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                                   std::span<const Launch> launches, std::uint64_t offset);

}  // namespace dovetail::isa
