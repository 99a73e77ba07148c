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
#include "isa/verify/accesses.h"
#include "isa/verify/token_use.h"

namespace dovetail::accel {

struct StreamInstruction {
  isa::Instruction instruction;
  int kernel =
      -1;         // index into Stream::kernels for GEMM and ALU; uop_begin and uop_end are set when kernels are placed
  int node = -1;  // index into the region's nodes
  // For a transfer: the position of the program's parameter to which its DRAM address is relative; -1: the address is
  // physical.
  int parameter = -1;
  std::uint64_t most_offset = 0;  // of a transfer with `offset`: the largest number in the register OFFSET
};
// The bytes of DRAM that a transfer may access, whatever OFFSET is.
isa::DramAccess dram_access(const isa::HardwareConfig& config, const StreamInstruction& item);

struct Stream {
  std::vector<StreamInstruction> instructions;
  std::vector<std::vector<isa::Uop>> kernels;  // without duplicates

  int kernel(std::vector<isa::Uop> uops);  // the index of the kernel with this content

 private:
  std::map<std::vector<std::uint32_t>, int> index_;
};

// Statistics of place_uops.
struct UopStatistics {
  std::size_t kernels = 0, wholes = 0;  // different kernels; those that are not part of another one
  std::size_t loads = 0;                // LOAD UOPs
  std::uint64_t loaded_uops = 0;        // micro-ops that they load
};
struct PlacedUops {
  std::vector<isa::Uop> uops;  // in DRAM
  UopStatistics statistics;
};
// Places kernels in the micro-op buffer and sets uop_begin and uop_end. If all kernels fit, one transfer at the start
// loads them; else LOADs are inserted where kernels are missing (uop_buffer_plan.h). A kernel that is part of another
// one needs no separate place. `dram_base` is the element address of the first micro-op. Precondition: no kernel is
// larger than the buffer.
PlacedUops place_uops(Stream& stream, const isa::HardwareConfig& config, std::uint64_t dram_base);

// Statistics of insert_tokens.
struct TokenStatistics {
  std::array<std::uint64_t, isa::kTokenFifos> tokens{};  // by isa::TokenFifo
  // Orders between the load and the store queue, which do not share a FIFO: relayed by compute instructions that wait
  // anyway, by others that are made to wait, and by NOPs.
  std::uint64_t relays_by_waiting = 0, relays_by_made_to_wait = 0, relays_by_nop = 0;
  std::uint64_t relay_wait_cycles = 0;  // estimated cycles of the compute unit, for the latter two
  // For comparison: the tokens of a planner that inserts a wait wherever the serial stream changes queues.
  std::uint64_t stage_order_tokens = 0;
  // Both counts by StreamInstruction::node: tokens for which its instructions wait, and changes of queues that end at
  // one of them.
  struct OfNode {
    std::uint64_t tokens = 0, stage_order = 0;
  };
  std::map<int, OfNode> by_node;
  // Because of the depth of the FIFOs, some tokens wait for more than necessary.
  bool limited_by_depth = false;

  std::uint64_t all_tokens() const;
};

// Sets the dependency flags so that every two conflicting accesses of different queues are ordered, as in
// docs/explanation/verify.md, with a token only where other tokens do not imply the order. The program ends with
// FIFOs of the configuration's depth. Near-linear in the instructions and the elements and DRAM rows that they access.
// Precondition: no flag is set.
TokenStatistics insert_tokens(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel
