// Scheduled loop programs to instructions. Loops around several blocks are walked; a nest around one block becomes one
// instruction where its loops fit the instruction's own (two loops and micro-ops for GEMM and ALU, rows and columns for
// LOAD and STORE), else several.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "compiler/target/accel/on_chip.h"
#include "compiler/target/accel/stream.h"
#include "compiler/target/loop_support.h"
#include "isa/config.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::accel {

// Loops become loops of instructions or are walked, by their extents alone. Virtual threads take turns, a statement
// each, with places of their own on chip; a pipelined loop has as many slots as stages (on_chip.h).
inline constexpr std::array kLoopKinds{loops::ForKind::vthread, loops::ForKind::pipelined};
inline constexpr LoopSupport kLoopSupport{"the accelerator back end", kLoopKinds};

// Appends the instructions of `program` to `stream`, marked with `node`. `dram`: physical byte address of each
// parameter, by name. `placements`: of its buffers on chip (on_chip.h); `history`: of the SRAMs by the stream so far,
// and then by the program too. Errors: loops that kLoopSupport does not hold.
Result<void> lower(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                   const isa::HardwareConfig& config, const std::map<std::string, std::uint64_t>& dram,
                   const Placements& placements, int node, SramHistory& history, Stream& stream);

}  // namespace dovetail::accel
