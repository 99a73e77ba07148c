#include "compiler/target/cpu/codegen/tile_registers.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/target/cpu/intrinsics.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

bool in_tiles(const BufferNode& buffer) { return buffer.scope == kTileScope; }

std::vector<std::int64_t> strides_of(const BufferNode& buffer) {
  std::vector<std::int64_t> strides(buffer.shape.size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * buffer.shape[d];
  return strides;
}

std::optional<std::int64_t> constant_offset(const IntrinsicOperand& operand, const Bounds& bounds) {
  const std::vector<std::int64_t> strides = strides_of(*operand.buffer);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < operand.indices.size(); ++d) {
    const Expr index = simplify(operand.indices[d], bounds);
    const auto* constant = std::get_if<IntImm>(&index->node);
    if (constant == nullptr) return std::nullopt;
    offset += constant->value * strides[d];
  }
  return offset;
}

// The elements of an operand with extents `shape` along its axes, as offsets from its first element.
std::set<std::int64_t> elements_of(const IntrinsicOperand& operand, const std::vector<std::int64_t>& shape) {
  std::set<std::int64_t> elements{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::set<std::int64_t> wider;
    for (const std::int64_t element : elements)
      for (std::int64_t i = 0; i < shape[axis]; ++i) wider.insert(element + i * axis_stride(operand, axis));
    elements = std::move(wider);
  }
  return elements;
}

class Planner {
 public:
  Planner(const CoreProgram& core, const Cpu& cpu) : core_(core), cpu_(cpu) {}

  Result<TileRegisters> plan() {
    walk(core_.body, nullptr);
    if (static_cast<int>(result_.shapes.size()) > cpu_.tile_registers)
      refuse(fmt::format("the tiles need {} registers, but the processor has {}", result_.shapes.size(),
                         cpu_.tile_registers),
             "use tiles with fewer rows or columns");
    if (around_.size() > 1)
      refuse("tiles are used in several parallel loops, or both inside and outside one", "use one parallel loop");
    if (!errors_.empty()) return errors_;
    return std::move(result_);
  }

 private:
  void refuse(std::string why, std::string hint) {
    if (errors_.empty()) errors_.push_back({"cannot place tiles in registers", "", std::move(why), std::move(hint)});
  }

  void walk(const Core& core, const CoreNode* parallel) {
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      walk(loop->body, parallel == nullptr && loop->kind == ForKind::parallel ? core.get() : parallel);
    } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
      no_tiles_in(condition->condition);
      walk(condition->then_body, parallel);
      walk(condition->else_body, parallel);
    } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& part : sequence->body) walk(part, parallel);
    } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
      for (const StoreTarget& target : store->targets) {
        if (in_tiles(*target.buffer)) used_otherwise(*target.buffer);
        no_tiles_in(target.value);
      }
    } else if (const auto* call = std::get_if<CoreCall>(&core->node)) {
      const auto tile = find_tile_intrinsic(call->intrinsic);
      if (tile) around_.insert(parallel);
      for (std::size_t i = 0; i < call->operands.size(); ++i)
        if (in_tiles(*call->operands[i].buffer)) place(call->operands[i], shape_of(*tile, i));
      if (tile && tile->operation == TileOperation::load) require_rows(call->operands[1], {tile->quads, kDotBytes});
      if (tile && tile->operation == TileOperation::store) require_rows(call->operands[0], {kTileLanes});
    }
  }

  // Extents along the axes of operand `position`.
  static std::vector<std::int64_t> shape_of(const TileIntrinsic& tile, std::size_t position) {
    if (tile.operation == TileOperation::load) return {tile.rows, tile.quads, kDotBytes};
    if (tile.operation == TileOperation::multiply && position == 1) return {tile.rows, tile.quads, kDotBytes};
    if (tile.operation == TileOperation::multiply && position == 2) return {tile.quads, kTileLanes, kDotBytes};
    return {tile.rows, kTileLanes};
  }

  void place(const IntrinsicOperand& operand, const std::vector<std::int64_t>& shape) {
    const auto offset = constant_offset(operand, core_.bounds);
    if (!offset)
      return refuse(
          fmt::format("the address of a tile of {} differs between iterations of a loop", operand.buffer->name),
          "unroll the loops over tiles");
    const auto key = std::pair(static_cast<const BufferNode*>(operand.buffer.get()), *offset);
    std::set<std::int64_t> elements;
    for (const std::int64_t element : elements_of(operand, shape)) elements.insert(*offset + element);
    for (const auto& [known, number] : result_.numbers) {
      if (known.first != key.first) continue;
      const std::set<std::int64_t>& others = elements_[number];
      const bool overlap = std::ranges::any_of(others, [&](std::int64_t at) { return elements.contains(at); });
      if (known == key ? others != elements : overlap)
        return refuse(fmt::format("tiles of {} overlap", operand.buffer->name),
                      "divide the buffer into tiles of one shape");
    }
    if (result_.numbers.contains(key)) return;
    result_.numbers[key] = static_cast<unsigned>(result_.shapes.size());
    const std::int64_t row =
        std::int64_t{size_bytes(operand.buffer->dtype)} * static_cast<std::int64_t>(elements.size());
    result_.shapes.push_back({shape[0], row / shape[0]});
    elements_.push_back(std::move(elements));
  }

  // A row must be contiguous in memory. `shape`: of a row.
  void require_rows(const IntrinsicOperand& operand, const std::vector<std::int64_t>& shape) {
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis])
      if (shape[axis] > 1 && axis_stride(operand, axis + 1) != stride)
        refuse(fmt::format("the rows of a tile of {} are not contiguous", operand.buffer->name),
               "apply transform_layout to the buffer");
  }

  void no_tiles_in(const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* load = std::get_if<LoadExpr>(&e->node); load != nullptr && in_tiles(*load->buffer))
        used_otherwise(*load->buffer);
    });
  }
  void used_otherwise(const BufferNode& buffer) {
    refuse(fmt::format("{} is in scope {}, but is not only used by tile intrinsics", buffer.name, kTileScope),
           "tensorize all blocks that use it");
  }

  const CoreProgram& core_;
  const Cpu& cpu_;
  TileRegisters result_;
  std::vector<std::set<std::int64_t>> elements_;  // elements of each register, as offsets in its buffer
  std::set<const CoreNode*> around_;              // the outermost parallel loops around calls; null: none
  Diagnostics errors_;
};

}  // namespace

std::int64_t axis_stride(const IntrinsicOperand& operand, std::size_t axis) {
  const std::vector<std::int64_t> strides = strides_of(*operand.buffer);
  std::int64_t stride = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) stride += operand.steps[axis][d] * strides[d];
  return stride;
}

unsigned TileRegisters::number_of(const IntrinsicOperand& operand, const Bounds& bounds) const {
  const auto offset = constant_offset(operand, bounds);
  DOVETAIL_CHECK(offset.has_value(), "tile of " + operand.buffer->name + " must have a place");
  return numbers.at({operand.buffer.get(), *offset});
}

std::array<std::byte, 64> TileRegisters::configuration() const {
  constexpr std::size_t kRowBytes = 16, kRows = 48;  // offsets; Intel SDM volume 1, 18.2
  std::array<std::byte, 64> bytes{};
  bytes[0] = std::byte{1};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    bytes[kRowBytes + 2 * i] = static_cast<std::byte>(shapes[i].row_bytes);
    bytes[kRows + i] = static_cast<std::byte>(shapes[i].rows);
  }
  return bytes;
}

Result<TileRegisters> plan_tile_registers(const CoreProgram& core, const Cpu& cpu) { return Planner(core, cpu).plan(); }

}  // namespace dovetail::cpu
