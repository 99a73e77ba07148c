#include "compiler/target/accel/programs/core.h"

#include <algorithm>

#include "compiler/target/accel/programs/layout.h"

namespace dovetail::accel {

Core::Core(const isa::HardwareConfig& config, std::int64_t dram_block)
    : isa::HardwareConfig(config), dram_block(std::max(dram_block, own_block())) {}

std::int64_t Core::own_block() const { return std::max({block_in, block_out, kLeastBlock}); }

}  // namespace dovetail::accel
