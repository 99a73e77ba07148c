// The loop nest of GEMM and ALU: for y < iter_out, x < iter_in, micro-op in [uop_begin, uop_end), in this order. A
// later step reads what an earlier one wrote.
#pragma once

#include <cstdint>
#include <span>

#include "isa/instruction.h"

namespace dovetail::isa::semantics {

// Indices are exact: no field is wide enough to overflow 64 bits, and an index beyond its memory is illegal, never
// wrapped.
constexpr std::uint64_t element_index(std::uint64_t base, std::uint64_t y, std::uint64_t x, std::uint64_t factor_out,
                                      std::uint64_t factor_in) {
  return base + y * factor_out + x * factor_in;
}

// How often the loops execute each micro-op.
constexpr std::uint64_t step_count(const UopLoop& loop) {
  return loop.uop_begin < loop.uop_end ? std::uint64_t{loop.iter_out} * loop.iter_in * (loop.uop_end - loop.uop_begin)
                                       : 0;
}

// Calls visit(uop, y, x) for each step. `uops` is the micro-op memory. Precondition: uop_end <= uops.size() unless a
// loop is zero-trip.
template <typename Visit>
constexpr void for_each_step(const UopLoop& loop, std::span<const Uop> uops, Visit&& visit) {
  for (std::uint64_t y = 0; y < loop.iter_out; ++y)
    for (std::uint64_t x = 0; x < loop.iter_in; ++x)
      for (std::uint32_t k = loop.uop_begin; k < loop.uop_end; ++k) visit(uops[k], y, x);
}

}  // namespace dovetail::isa::semantics
