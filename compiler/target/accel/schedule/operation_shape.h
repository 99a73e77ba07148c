// The shape of a task's operation, from its program, and its division into tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/context.h"
#include "compiler/target/accel/programs/layout.h"
#include "loops/ir.h"

namespace dovetail::accel {

// Extents of a tile: n in batch blocks, o and c in channel blocks (TensorLayout::block), y and x in output pixels.
struct Tile {
  std::int64_t o = 1, c = 1, n = 1, y = 1, x = 1;
  std::int64_t results() const { return o * n * y * x; }
  auto operator<=>(const Tile&) const = default;
};

// The parameter with the weights of a convolution.
inline constexpr const char* kWeights = "W";
// Blocks that copy constants of the epilogue into ACC, and the buffers that they write.
bool is_constants(std::string_view block);
// The block that copies the parameters of an epilogue into WGT, and the buffer that it writes.
bool is_parameters(std::string_view block);
// The block that copies a table into TAB, and the buffer that it writes.
bool is_table(std::string_view block);
// Blocks of the program that copy into INP or WGT.
bool is_copy(std::string_view block);
// Blocks that LOAD or STORE executes.
bool is_transfer(std::string_view block);
// Blocks that GEMM executes.
bool is_product(std::string_view block);
// Weights that widen an operand, or select its channels, and stay on chip.
bool is_identity(std::string_view buffer);
// Blocks that are products of a convolution: one for each place in the windows of a pooling after it, else one.
bool is_convolution(std::string_view block);
std::vector<std::string> convolutions_of(const loops::Program& program);

// Whether some stages reduce rows of channels (normalization.h), so that a tile has all channels.
bool has_rows(const loops::Program& program);

// An int8 operand that is widened to int32 in ACC.
struct WidenedOperand {
  std::string prefix, parameter;
  bool by_gemm;                                            // false: by LOAD, in the compute queue
  std::string copy() const { return parameter + ".inp"; }  // its copy in INP
};

struct OperationShape {
  // Precondition: no schedule step was taken.
  OperationShape(const schedule::Context& context, const BlockSizes& sizes);

  BlockSizes sizes;
  TensorLayout layout;                    // of all activations, except for extents and borders
  std::vector<std::string> blocks;        // blocks of the operator's program
  std::vector<std::string> convolutions;  // products among the blocks, which share their tiles of channels
  std::int64_t groups = 1;  // convolutions: block groups (block_groups.h). A tile is within one, or covers whole ones
  Tile whole;

  std::int64_t group_blocks() const { return whole.o / groups; }
  Tile trips(const Tile& tile) const;  // number of tiles along each axis
};

// The widened operand in the program before any schedule step.
WidenedOperand widened_operand(const schedule::Context& context, const std::string& prefix,
                               const std::string& parameter);
// The operand that is added to a product's result.
std::optional<WidenedOperand> added_operand(const schedule::Context& context);
// The copies of the operands that GEMM widens.
std::vector<std::string> copies_of(const std::vector<WidenedOperand>& operands);

}  // namespace dovetail::accel
