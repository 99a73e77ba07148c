// The order of an operation's blocks. A change between kinds of instructions empties the pipe of the compute unit
// (timing.md, section 9), so stages of a kind follow each other as far as what they need allows.
#pragma once

#include "loops/ir.h"

namespace dovetail::accel {

// What executes a block of an operation's program (programs.h).
enum class StageKind {
  transfer,  // LOAD or STORE
  gemm,      // products, and what is filled with 0
  alu,
  alu_long,  // products by elements of ACC, REQUANT
};
StageKind stage_kind(const loops::Block& block);

// The program with its blocks in another order of the same meaning, also where stages work in place: what reads a
// buffer does so in the order given. A program whose blocks are not one after another stays as it is.
loops::Program group_stages(loops::Program program);

}  // namespace dovetail::accel
