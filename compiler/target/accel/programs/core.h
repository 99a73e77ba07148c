// An accelerator that a program is compiled for.
#pragma once

#include <cstdint>

#include "isa/config.h"

namespace dovetail::accel {

// Its configuration, and the layout of the DRAM that it may share with others.
struct Core : isa::HardwareConfig {
  // `dram_block`: of all accelerators on the memory; 0: that of this one alone.
  Core(const isa::HardwareConfig& config = {}, std::int64_t dram_block = 0);  // NOLINT: implicit by design

  // Channels of a block of a tensor in DRAM (TensorLayout): at least those of an element of INP or OUT.
  std::int64_t dram_block;
  bool operator==(const Core&) const = default;

  // The block of this accelerator alone.
  std::int64_t own_block() const;
  bool has_own_blocks() const { return dram_block == own_block(); }
};

}  // namespace dovetail::accel
