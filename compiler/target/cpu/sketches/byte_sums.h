// Sums of products of bytes inside a larger program, such as a recurrence that quantizes its state: dot products.
#pragma once

#include <set>
#include <string>

#include "compiler/schedule/context.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/prepare.h"

namespace dovetail::cpu {

// Stores the bytes that such sums multiply by weights in the type that the processor's dot products require.
void prepare_byte_sums(Preparation& p);
// Packs the weights, and computes the sums by dot products in register tiles. Returns the names of these blocks.
std::set<std::string> schedule_byte_sums(schedule::Context& c, const Cpu& cpu);

}  // namespace dovetail::cpu
