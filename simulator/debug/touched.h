// The accesses of one instruction, computed before it runs: elements on chip, and rows of bytes in DRAM.
#pragma once

#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/accesses.h"
#include "simulator/sram_reader.h"

namespace dovetail::simulator {

struct Touched {
  std::vector<isa::SramAccess> sram;
  isa::DramAccess dram;
};

// The accesses of GEMM and ALU depend on the micro-ops currently in `sram`.
Touched touched_by(const isa::HardwareConfig& config, const isa::Instruction& instruction, const SramReader& sram);

}  // namespace dovetail::simulator
