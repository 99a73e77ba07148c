// PROGRAM.bin: raw instructions.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::cli {

Result<std::vector<isa::Instruction>> read_program(const std::string& path, const isa::HardwareConfig& config);

// A raw memory image (or the elements of a .npy) whose first byte is at `base`. Error: it exceeds the configuration's
// address space.
Result<std::vector<std::byte>> read_image(const std::string& path, std::uint64_t base,
                                          const isa::HardwareConfig& config);

}  // namespace dovetail::cli
