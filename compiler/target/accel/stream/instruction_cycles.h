// The cycles for which an instruction occupies its unit, by docs/reference/timing.md, with a memory that answers at
// once.
#pragma once

#include <cstdint>

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

std::uint64_t instruction_cycles(const isa::HardwareConfig& config, const Stream& stream,
                                 const StreamInstruction& item);

}  // namespace dovetail::accel
