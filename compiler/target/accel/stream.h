// The instruction stream under construction: a serially correct order of instructions whose micro-op kernels are not
// placed yet and which carry no tokens. place_uops and insert_tokens complete it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::accel {

struct StreamInstruction {
  isa::Instruction instruction;
  int kernel =
      -1;         // index into Stream::kernels for GEMM and ALU; uop_begin and uop_end are set when kernels are placed
  int node = -1;  // index into the region's nodes
};

struct Stream {
  std::vector<StreamInstruction> instructions;
  std::vector<std::vector<isa::Uop>> kernels;  // each content once

  int kernel(std::vector<isa::Uop> uops);  // the index of that content

 private:
  std::map<std::vector<std::uint32_t>, int> index_;
};

// Places kernels in the micro-op buffer and sets uop_begin and uop_end: all of them by one transfer at the start where
// they fit, else by LOADs inserted before first use, in a ring that evicts the oldest. Returns the micro-ops in DRAM
// order; `dram_base` is the element address of the first. Precondition: no kernel is larger than the buffer.
std::vector<isa::Uop> place_uops(Stream& stream, const isa::HardwareConfig& config, std::uint64_t dram_base);

// Sets the dependency flags so that every two conflicting accesses of different queues are ordered, with as few tokens
// as the serial order allows; load and store queues are ordered through compute instructions, by inserted NOPs where
// none suits.
void insert_tokens(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel
