// The loops around one block, by what they do in memory: what the generic sketch asks of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/context.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/ir.h"

namespace dovetail::cpu {

inline constexpr std::int64_t kFewestLanes = 4;  // iterations below which a loop is left serial

struct Nest {
  std::vector<std::string> spatial, reduce;
  std::string innermost;                 // goes from neighbor to neighbor in what is written; "" where no loop does
  const loops::VarNode* lane = nullptr;  // the block's iterator over that loop alone; null: there is none
};
Nest nest_of(const schedule::Context& c, const std::string& block);

// Loops over iterators of which memory holds quotient and remainder by one number, as of channels in blocks, are split
// by it, so that every index of the block moves by a constant step with every loop. Nothing where that does not come of
// it. Of reductions those of all elements to one, in any order. A step that replaces the block. Precondition: a loop
// around the block for each iterator.
void split_into_blocks(schedule::Context& c, const std::string& block, bool any_order);

// These loops, those first that move farthest in what the block reads besides what it writes. As they are where indices
// move by no constant step.
std::vector<std::string> by_stride(const schedule::Context& c, const std::string& block,
                                   std::vector<std::string> loops);
// Whether an iteration of `outer` goes on in memory where the last one of `inner` ends, in all that the block reads
// besides what it writes.
bool follow_in_memory(const schedule::Context& c, const std::string& block, const std::string& outer,
                      const std::string& inner);

// The loop along which an operand lies in memory while neighboring lanes of the innermost loop read it far apart, as
// where a matrix is transposed, and how many of its elements are read at once (codegen/transpose_loads.h). "": there is
// none.
struct Across {
  std::string loop;
  std::int64_t elements = 1, line = 1;  // line: those in a line of memory
};
Across across_lanes(const schedule::Context& c, const std::string& block, const Nest& nest, const Cpu& cpu);

}  // namespace dovetail::cpu
