// Calls of a warp's operations: what one lane does of each.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "compiler/target/cuda/codegen/emitter.h"
#include "compiler/target/cuda/intrinsics.h"
#include "loops/threads/neighbours.h"

namespace dovetail::cuda {

using namespace loops;

// Indices of the element that the lane has at place `number` of its registers.
std::vector<Expr> Emitter::lane_element(const IntrinsicOperand& operand, const LaneMap& map,
                                        std::int64_t number) const {
  const auto coordinate = [&](const char* axis) {
    return ref(std::ranges::find(kernel_.axes, axis, &BoundAxis::axis)->var);
  };
  std::vector<Expr> element(operand.steps.size(), int_imm(0));
  const auto add = [&](const std::vector<LaneMap::Part>& parts, const Expr& of) {
    std::int64_t stride = 1;
    for (std::size_t i = parts.size(); i-- > 0;) {
      const Expr value = floor_mod(floor_div(of, stride), parts[i].extent);
      element[parts[i].axis] = element[parts[i].axis] + value * parts[i].divisor;
      stride *= parts[i].extent;
    }
  };
  add(map.lanes, coordinate("thread.y") * kLanesInX + coordinate("thread.x"));
  add(map.registers, int_imm(number));
  std::vector<Expr> indices = operand.indices;
  for (std::size_t axis = 0; axis < element.size(); ++axis)
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (operand.steps[axis][d] != 0) indices[d] = indices[d] + element[axis] * operand.steps[axis][d];
  for (Expr& index : indices) index = simplify(index, bounds_);
  return indices;
}

// So many elements as fill 32 bits: in one load where they are neighbours, else one by one.
std::string Emitter::packed_register(const IntrinsicOperand& operand, const LaneMap& map, std::int64_t number) {
  const BufferNode& buffer = *operand.buffer;
  const std::int64_t packed = 4 / size_bytes(buffer.dtype);
  const std::vector<Expr> first = lane_element(operand, map, number * packed);
  const Linear offset = offset_of(buffer, first, bounds_);
  bool joined = offset.constant % packed == 0;
  for (const LinearTerm& term : offset.terms) joined &= term.coefficient % packed == 0;
  std::vector<std::string> elements;
  for (std::int64_t i = 0; i < packed; ++i) {
    const std::vector<Expr> next = lane_element(operand, map, number * packed + i);
    Linear distance = offset_of(buffer, next, bounds_);
    distance.add(offset, -1);
    joined &= distance.terms.empty() && distance.constant == i;
    elements.push_back(place(operand.buffer, next));
  }
  return joined ? fmt::format("load_register(&{})", elements[0])
                : fmt::format("pack_register({})", fmt::join(elements, ", "));
}

void Emitter::emit_node(const CoreCall& n) {
  const auto mma = find_matrix_multiply(n.intrinsic);
  DOVETAIL_CHECK(mma.has_value(), "the CUDA back end has no instruction for " + n.intrinsic);
  const WarpOperation& operation = *find_operation(warp_operations(), n.intrinsic);
  std::vector<std::string> arguments;
  for (std::int64_t i = 0; i < LaneMap::count(operation.operands[0].registers); ++i)
    arguments.push_back(place(n.operands[0].buffer, lane_element(n.operands[0], operation.operands[0], i)));
  const std::int64_t packed = 4 / size_bytes(mma->factor);
  for (const std::size_t operand : {std::size_t{1}, std::size_t{2}})
    for (std::int64_t i = 0; i < LaneMap::count(operation.operands[operand].registers) / packed; ++i)
      arguments.push_back(packed_register(n.operands[operand], operation.operands[operand], i));
  line(fmt::format("mma_{}({});", mma->kind, fmt::join(arguments, ", ")));
}

}  // namespace dovetail::cuda
