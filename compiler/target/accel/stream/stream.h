// The instruction stream under construction: a serially correct order of instructions whose micro-op kernels are not
// placed yet and which carry no tokens. place_uops and insert_tokens complete it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify/token_use.h"

namespace dovetail::accel {

struct StreamInstruction {
  isa::Instruction instruction;
  int kernel =
      -1;         // index into Stream::kernels for GEMM and ALU; uop_begin and uop_end are set when kernels are placed
  int node = -1;  // index into the region's nodes
  // Of a transfer: the program's parameter, by position, from whose place its DRAM address counts; -1: it is physical.
  int parameter = -1;
};

struct Stream {
  std::vector<StreamInstruction> instructions;
  std::vector<std::vector<isa::Uop>> kernels;  // each content once

  int kernel(std::vector<isa::Uop> uops);  // the index of that content

 private:
  std::map<std::vector<std::uint32_t>, int> index_;
};

// What place_uops has placed.
struct UopStatistics {
  std::size_t kernels = 0, wholes = 0;  // of different contents; of these, part of no other one
  std::size_t loads = 0;                // LOAD UOPs
  std::uint64_t loaded_uops = 0;        // by them
};
struct PlacedUops {
  std::vector<isa::Uop> uops;  // in DRAM
  UopStatistics statistics;
};
// Places kernels in the micro-op buffer and sets uop_begin and uop_end: all of them by one transfer at the start where
// they fit, else by LOADs inserted where they are missed (uop_buffer_plan.h). A kernel that is part of another one
// takes no separate place. `dram_base` is the element address of the first micro-op. Precondition: no kernel is
// larger than the buffer.
PlacedUops place_uops(Stream& stream, const isa::HardwareConfig& config, std::uint64_t dram_base);

// What insert_tokens has inserted.
struct TokenStatistics {
  std::array<std::uint64_t, isa::kTokenFifos> tokens{};  // by isa::TokenFifo
  // Orders between the load and the store queue, which share no FIFO: relayed by compute instructions that wait for the
  // one anyway, by others that were made to wait for it, and by NOPs.
  std::uint64_t relays_by_waiting = 0, relays_by_made_to_wait = 0, relays_by_nop = 0;
  std::uint64_t relay_wait_cycles = 0;  // of the compute unit, as estimated, for the latter two
  // Of a planner that lets each queue wait for the one before wherever the serial stream changes queues.
  std::uint64_t stage_order_tokens = 0;
  // Of both, by StreamInstruction::node: what its instructions wait for, and changes of queues that end at one of them.
  struct OfNode {
    std::uint64_t tokens = 0, stage_order = 0;
  };
  std::map<int, OfNode> by_node;
  // The depth of the FIFOs made tokens necessary that wait for more than they need to.
  bool limited_by_depth = false;

  std::uint64_t all_tokens() const;
};

// Sets the dependency flags so that every two conflicting accesses of different queues are ordered, as
// docs/explanation/verify.md has it, with a token only where no other one implies the order. The program ends with
// FIFOs of the configuration's depth. Near-linear in the instructions and the elements and DRAM rows that they touch.
// Precondition: no flag is set.
TokenStatistics insert_tokens(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel
