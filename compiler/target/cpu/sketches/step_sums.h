// Products of a few rows and a constant matrix inside a larger program, as in each step of a recurrence: the matrix is
// packed, and read in order. Products of bytes, as in a recurrence that quantizes its state, become dot products.
#pragma once

#include <set>
#include <string>

#include "compiler/schedule/context.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/prepare.h"

namespace dovetail::cpu {

// Stores the bytes that such sums multiply by weights in the type that the processor's dot products require.
void prepare_step_sums(Preparation& p);
// The matrix that schedule_step_sums() packs; "": it has nothing to do.
std::string weights_of_step_sums(const loops::Program& program, const Cpu& cpu);
// Packs the weights, and computes the sums in register tiles. Returns the names of these blocks.
std::set<std::string> schedule_step_sums(schedule::Context& c, const Cpu& cpu);

}  // namespace dovetail::cpu
