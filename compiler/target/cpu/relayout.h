// Copies between layouts, as loop programs.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "loops/ir.h"

namespace dovetail::cpu {

// Parameters: the value in layout `from`, then in layout `to` (index maps of compiler/schedule/index_map.h, empty: the model's own).
loops::Program relayout_program(const graph::TensorType& type, const std::string& from, const std::string& to);

// Arithmetic operations of a program, a multiply-add counted as two: additions, subtractions, multiplications, divisions, minima and maxima of
// stored values times the iterations of their blocks. Moves count nothing.
struct Operations {
  std::uint64_t floating = 0, integer = 0;
};
Operations count_operations(const loops::Program& program);

}  // namespace dovetail::cpu
