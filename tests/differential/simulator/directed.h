// Hand-written programs on the design, the functional and the cycle simulator: every byte of DRAM, every defined
// element of SRAM, every event and class.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/simulator.h"
#include "simulator/trace/trace.h"
#include "tests/torture/torture.h"

namespace dovetail::test {

// The configuration `tiny` (queues of 4, tokens of 2, bursts of 4 beats, buffers of 8) with another bus.
isa::HardwareConfig tiny(std::int64_t bus_bytes = 8);

// Runs under memories that answer at once, late, in small pieces and at random, and with two AXI4 slaves. Returns the
// traces with the first memory, `at once`, with a latency of 1 and a beat per cycle. The program has its tokens
// already.
std::vector<simulator::LaunchTrace> agree(const isa::HardwareConfig& config,
                                          const std::vector<isa::Instruction>& program, const simulator::Dram& dram,
                                          std::vector<isa::Launch> launches = {});
// The same for a program without tokens, which are computed; one launch.
simulator::LaunchTrace agree_in_order(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
                                      const simulator::Dram& dram);

}  // namespace dovetail::test
