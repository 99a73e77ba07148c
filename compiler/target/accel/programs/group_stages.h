// Orders the blocks of an operation. A change between kinds of instructions empties the pipe of the compute unit
// (timing.md, section 9), so stages of the same kind are grouped as far as dependences allow.
#pragma once

#include "loops/ir.h"

namespace dovetail::accel {

// The instruction that executes a block of an operation's program (programs.h).
enum class StageKind {
  transfer,  // LOAD or STORE
  gemm,      // products, and fills with 0
  alu,
  alu_long,  // products by elements of ACC, REQUANT
};
StageKind stage_kind(const loops::Block& block);

// Returns the program with its blocks reordered, with the same meaning, also for stages that work in place: readers of
// a buffer keep their order. A program that is not a sequence of blocks is returned unchanged.
loops::Program group_stages(loops::Program program);

}  // namespace dovetail::accel
