// Scheduled loop programs to instructions. Loops around several blocks are walked; a nest around one block becomes one
// instruction where its loops fit the instruction's own (two loops and micro-ops for GEMM and ALU, rows and columns for
// LOAD and STORE), else several.
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

// Loops become loops of instructions or are walked, by their extents alone. Virtual threads take turns, a statement
// each, with their own places on chip; a pipelined loop has as many slots as stages (on_chip.h).
inline constexpr std::array kLoopKinds{loops::ForKind::vthread, loops::ForKind::pipelined};
inline constexpr LoopSupport kLoopSupport{.target = "the accelerator back end", .kinds = kLoopKinds, .slots = true};

// A program's instructions by themselves, DRAM addresses from their parameters on (StreamInstruction::parameter), and
// which parts of the SRAMs they touch, in this order.
struct Lowered {
  struct Touch {
    isa::Memory memory;
    std::int64_t begin, end, at;  // elements; after so many instructions of these
  };
  Stream stream;  // of node 0
  std::vector<Touch> touches;
};
// `placements`: of the program's buffers on chip (on_chip.h). Errors: loops that kLoopSupport does not hold.
Result<Lowered> lower(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                      const LoweringFacts& facts, const Placements& placements);

// Notes what the instructions touch after so many of the region's.
void touch(const Lowered& lowered, std::size_t before, SramHistory& history);

// Appends the instructions of `program` to `stream`, marked with `node`. `dram`: physical byte address of each
// parameter, by name, aligned to its elements. `history`: of the SRAMs by the stream so far, and then by these too.
void append(const Lowered& lowered, const loops::Program& program, const LoweringFacts& facts,
            const std::map<std::string, std::uint64_t>& dram, int node, SramHistory& history, Stream& stream);

}  // namespace dovetail::accel
