// Lowers scheduled loop programs to instructions. Loops around several blocks are walked. A nest around one block
// becomes one instruction if its loops fit those of the instruction (two loops and micro-ops for GEMM and ALU, rows and
// columns for LOAD and STORE), else several.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/target/accel/lower/lowering_facts.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/stream/stream.h"
#include "compiler/target/support/loop_support.h"
#include "isa/config.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::accel {

// Whether loops become loops of instructions or are walked depends only on their extents. Virtual threads take turns
// after each statement, with their own places on chip; a pipelined loop has as many slots as stages (on_chip.h).
inline constexpr std::array kLoopKinds{loops::ForKind::vthread, loops::ForKind::pipelined};
inline constexpr LoopSupport kLoopSupport{.target = "the accelerator back end", .kinds = kLoopKinds, .slots = true};

// A program's instructions alone, with DRAM addresses relative to their parameters (StreamInstruction::parameter), and
// the parts of the SRAMs that they access, in order.
struct Lowered {
  struct Touch {
    isa::Memory memory;
    std::int64_t begin, end, at;  // elements; `at`: number of instructions before the access
  };
  Stream stream;  // all instructions have node 0
  std::vector<Touch> touches;
};
// `placements`: on-chip places of the program's buffers (on_chip.h). Errors: loops that kLoopSupport does not support;
// blocks that are not instructions; too many instructions.
Result<Lowered> lower(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                      const LoweringFacts& facts, const Placements& placements);

// Records the accesses of the instructions, which follow `before` instructions of the region.
void touch(const Lowered& lowered, std::size_t before, SramHistory& history);

// Where a parameter is in DRAM.
struct DramPlace {
  std::uint64_t address = 0;  // physical byte address, aligned to its elements
  bool int4 = false;          // weights of 4 bits: LOADs of WGT become LOADs of WGT4
  // The largest number in the register OFFSET, which is added to the address; 0: none is.
  std::uint64_t most_offset = 0;
  DramPlace() = default;
  DramPlace(std::uint64_t at, bool is_int4 = false, std::uint64_t offset = 0)  // NOLINT(google-explicit-constructor)
      : address(at), int4(is_int4), most_offset(offset) {}
};
using DramPlaces = std::map<std::string, DramPlace>;  // by parameter of a program

// Appends the instructions of `program` to `stream`, marked with `node`. `dram`: the place of each parameter.
// `history`: the history of the SRAMs, updated by these instructions.
void append(const Lowered& lowered, const loops::Program& program, const LoweringFacts& facts, const DramPlaces& dram,
            int node, SramHistory& history, Stream& stream);

}  // namespace dovetail::accel
