#include "compiler/target/accel/schedule/operation_shape.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/programs/normalization.h"

namespace dovetail::accel {

bool is_constants(std::string_view block) { return block.ends_with("constants"); }
bool is_parameters(std::string_view block) { return block == "parameters"; }
bool is_table(std::string_view block) { return block == "table"; }
bool is_copy(std::string_view block) { return block == "pad" || block.ends_with(".copy"); }
bool is_transfer(std::string_view block) {
  return block == "out" || is_copy(block) || is_constants(block) || is_parameters(block) || is_table(block) ||
         block.ends_with("load");
}
bool is_product(std::string_view block) {
  return block == "product" || block == "taps" || is_convolution(block) || block.ends_with("widen") ||
         block.ends_with(".sums");
}
bool is_identity(std::string_view buffer) { return buffer.starts_with("I"); }
bool is_convolution(std::string_view block) { return block.ends_with("conv"); }

std::vector<std::string> convolutions_of(const loops::Program& program) {
  std::vector<std::string> blocks;
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    if (const std::string& block = schedule::as_block(path.back())->name; is_convolution(block))
      blocks.push_back(block);
  return blocks;
}

bool has_rows(const loops::Program& program) {
  return std::ranges::any_of(schedule::blocks_below(program.body), [](const schedule::Path& path) {
    return is_of_lanes(schedule::as_block(path.back())->name);
  });
}

OperationShape::OperationShape(const schedule::Context& context, const BlockSizes& block_sizes)
    : sizes(block_sizes),
      layout(make_layout(block_sizes, 1, 1, 1, 1)),
      blocks(context.blocks()),
      convolutions(convolutions_of(context.task.program)) {
  whole = {context.extent("out.o") / layout.block, 1, context.extent("out.n") / layout.batch, context.extent("out.y"),
           context.extent("out.x")};
  if (convolutions.empty()) return;
  const std::int64_t channels = context.extent(convolutions.front() + ".c");
  whole.c = channels / layout.block;
  groups = context.buffer("X")->shape[1] / channels;
}

Tile OperationShape::trips(const Tile& tile) const {
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  return {ceil_div(whole.o, tile.o), ceil_div(whole.c, tile.c), ceil_div(whole.n, tile.n), ceil_div(whole.y, tile.y),
          ceil_div(whole.x, tile.x)};
}

WidenedOperand widened_operand(const schedule::Context& context, const std::string& prefix,
                               const std::string& parameter) {
  return {prefix, parameter, context.block(prefix + "widen") != nullptr};
}

std::optional<WidenedOperand> added_operand(const schedule::Context& context) {
  return context.buffer("B") ? std::optional(widened_operand(context, "b.", "B")) : std::nullopt;
}

std::vector<std::string> copies_of(const std::vector<WidenedOperand>& operands) {
  std::vector<std::string> copies;
  for (const WidenedOperand& operand : operands)
    if (operand.by_gemm) copies.push_back(operand.copy());
  return copies;
}

}  // namespace dovetail::accel
