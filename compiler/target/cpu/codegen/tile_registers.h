// Assigns tile registers to parts of buffers in scope x86.tile. The code generator numbers registers explicitly: a
// schedule that unrolls the loops over tiles determines how many are used, and registers are never spilled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/core/core.h"

namespace dovetail::cpu {

struct TileRegisters {
  struct Shape {
    std::int64_t rows, row_bytes;
  };
  std::vector<Shape> shapes;  // shape of each register
  // Register number by buffer and first element (an offset in elements).
  std::map<std::pair<const loops::BufferNode*, std::int64_t>, unsigned> numbers;

  unsigned number_of(const loops::IntrinsicOperand& operand, const loops::Bounds& bounds) const;
  // The operand of ldtilecfg: palette 1, and the shape of each register.
  std::array<std::byte, 64> configuration() const;
};

// Distance in elements between neighbors of an operand along one of its axes.
std::int64_t axis_stride(const loops::IntrinsicOperand& operand, std::size_t axis);

// Errors: more tiles than registers, a tile whose place differs between iterations of a loop that is not unrolled, or a
// tile that is used by other code than tile intrinsics or overlaps another tile.
Result<TileRegisters> plan_tile_registers(const loops::CoreProgram& core, const Cpu& cpu);

}  // namespace dovetail::cpu
