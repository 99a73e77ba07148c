// Which tile register holds which part of which buffer in scope x86.tile. The code generator names registers itself:
// a schedule that unrolls the loops over tiles decides how many are in use, and none is ever spilled.
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
  std::vector<Shape> shapes;  // by register
  // By buffer and first element, as an offset in elements.
  std::map<std::pair<const loops::BufferNode*, std::int64_t>, unsigned> numbers;

  unsigned number_of(const loops::IntrinsicOperand& operand, const loops::Bounds& bounds) const;
  // What ldtilecfg reads: palette 1, and the shape of each register.
  std::array<std::byte, 64> configuration() const;
};

// Elements between neighbors of an operand along one of its axes.
std::int64_t axis_stride(const loops::IntrinsicOperand& operand, std::size_t axis);

// Errors: more tiles than registers, a tile whose place differs between iterations of a loop that is not unrolled, one
// that something else than the intrinsics of tiles uses, or that overlaps another.
Result<TileRegisters> plan_tile_registers(const loops::CoreProgram& core, const Cpu& cpu);

}  // namespace dovetail::cpu
