// The function on tensors of one loop program. Internal to mlir/tensors.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loops/ir.h"
#include "mlir/meanings.h"
#include "mlir/text.h"

namespace dovetail::mlir {

std::string tensor_type(DType dtype, const Shape& shape);

// A block that defines whole buffers.
struct TensorBlock {
  const loops::Block* block;
  std::vector<loops::StoreTarget> targets, init;  // init: empty, or a value for each target
  std::vector<const loops::Iterator*> dims;       // of the targets' dimensions; null: a dimension of one element
  std::vector<const loops::Iterator*> reduce;
};
// In order; or why there is no such form.
struct TensorBlocks {
  std::vector<TensorBlock> blocks;
  std::optional<std::string> problem;
};
TensorBlocks tensor_blocks(const loops::Program& program);

// Precondition: tensor_blocks(program) has no problem.
std::string tensor_function(const loops::Program& program, const std::string& symbol, Meanings& meanings);

}  // namespace dovetail::mlir
