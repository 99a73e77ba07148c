// The loops around one block, by their memory access: analyses for the generic sketch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/context.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/ir.h"

namespace dovetail::cpu {

inline constexpr std::int64_t kFewestLanes = 4;  // loops with fewer iterations stay serial

struct Nest {
  std::vector<std::string> spatial, reduce;
  std::string innermost;                 // loop with stride 1 in the written buffer; "" if there is none
  const loops::VarNode* lane = nullptr;  // the block's iterator that is exactly that loop; null: there is none
};
Nest nest_of(const schedule::Context& c, const std::string& block);

// Splits loops over iterators whose quotient and remainder by one number are indices (as for channels in blocks) by
// that number, so that every index of the block has a constant stride with every loop. No effect if that is not the
// result. For reductions: those of all elements to one, in any order. This step replaces the block. Precondition: a
// loop around the block for each iterator.
void split_into_blocks(schedule::Context& c, const std::string& block, bool any_order);

// These loops, sorted by decreasing stride in what the block reads except its result. Unchanged if an index has no
// constant stride.
std::vector<std::string> by_stride(const schedule::Context& c, const std::string& block,
                                   std::vector<std::string> loops);
// Whether `outer` continues in memory where the last iteration of `inner` ends, in everything that the block reads
// except its result.
bool follow_in_memory(const schedule::Context& c, const std::string& block, const std::string& outer,
                      const std::string& inner);

// The loop along which an operand is contiguous while lanes of the innermost loop read it with a large stride (as when
// transposing a matrix), and how many of its elements are read at once (codegen/transpose_loads.h). "": there is none.
struct Across {
  std::string loop;
  std::int64_t elements = 1, line = 1;  // line: elements per cache line
};
Across across_lanes(const schedule::Context& c, const std::string& block, const Nest& nest, const Cpu& cpu);

}  // namespace dovetail::cpu
