// Calls of warp operations: the code of one lane.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "compiler/target/cuda/codegen/emitter.h"
#include "compiler/target/cuda/intrinsics.h"
#include "loops/rewrite.h"
#include "loops/threads/neighbors.h"

namespace dovetail::cuda {

using namespace loops;

// Indices of the element that lane `lane` holds at position `number` of its registers.
std::vector<Expr> Emitter::lane_element(const IntrinsicOperand& operand, const LaneMap& map, const Expr& lane,
                                        const Expr& number) const {
  std::vector<Expr> element(operand.steps.size(), int_imm(0));
  const auto add = [&](const std::vector<LaneMap::Part>& parts, const Expr& of) {
    std::int64_t stride = 1;
    for (std::size_t i = parts.size(); i-- > 0;) {
      const Expr value = floor_mod(floor_div(of, stride), parts[i].extent);
      element[parts[i].axis] = element[parts[i].axis] + value * parts[i].divisor;
      stride *= parts[i].extent;
    }
  };
  add(map.lanes, lane);
  add(map.registers, number);
  std::vector<Expr> indices = operand.indices;
  for (std::size_t axis = 0; axis < element.size(); ++axis)
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (operand.steps[axis][d] != 0) indices[d] = indices[d] + element[axis] * operand.steps[axis][d];
  for (Expr& index : indices) index = simplify(index, bounds_);
  return indices;
}

Expr Emitter::coordinate(const char* axis) const {
  return ref(std::ranges::find(kernel_.axes, axis, &BoundAxis::axis)->var);
}
std::vector<Expr> Emitter::lane_element(const IntrinsicOperand& operand, const LaneMap& map,
                                        std::int64_t number) const {
  return lane_element(operand, map, coordinate("thread.y") * kLanesInX + coordinate("thread.x"), int_imm(number));
}

// Whether ldmatrix can load the operand: its registers are matrices of 8 rows of 16 contiguous, 16-byte-aligned bytes.
// A lane holds four bytes of a row, or with `turned`, two halves of a column in consecutive rows. Empty: not possible;
// else the row, of matrix lane / 8, whose address this lane provides.
std::string Emitter::matrix_row(const IntrinsicOperand& operand, const LaneMap& map, bool turned) {
  const BufferNode& buffer = *operand.buffer;
  const std::int64_t packed = 4 / size_bytes(buffer.dtype), in_row = 16 / size_bytes(buffer.dtype);
  const std::int64_t matrices = LaneMap::count(map.registers) / packed;
  if (std::ranges::find(kernel_.shared, operand.buffer) == kernel_.shared.end() || (turned && packed != 2)) return "";
  const Expr lane_row = coordinate("thread.y");
  // Neighbor `n` of a row of matrix `matrix`; with `turned`, `row` selects one of the two rows.
  const auto element = [&](std::int64_t matrix, std::int64_t row, std::int64_t n) {
    const Expr lane = turned ? int_imm(n * kLanesInX + row / packed) : lane_row * kLanesInX + n / packed;
    return offset_of(buffer, lane_element(operand, map, lane, int_imm(matrix * packed + (turned ? row : n) % packed)),
                     bounds_);
  };
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix)
    for (std::int64_t row = 0; row < (turned ? kLanesInY : 1); ++row) {
      const Linear first = element(matrix, row, 0);
      bool joined = first.constant % in_row == 0;
      for (const LinearTerm& term : first.terms) joined &= term.coefficient % in_row == 0;
      for (std::int64_t n = 1; n < in_row && joined; ++n) {
        Linear distance = element(matrix, row, n);
        distance.add(first, -1);
        joined = distance.terms.empty() && distance.constant == n;
      }
      if (!joined) return "";
    }
  const Expr y = coordinate("thread.y");
  const Expr row = floor_mod(y, 2) * kLanesInX + coordinate("thread.x"), matrix = floor_mod(floor_div(y, 2), matrices);
  const Expr lane = turned ? floor_div(row, packed) : row * kLanesInX;
  const Expr number = turned ? matrix * packed + floor_mod(row, packed) : matrix * packed;
  return place(operand.buffer, lane_element(operand, map, lane, number));
}

// The elements that fill 32 bits: one load if they are contiguous, else one by one.
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

namespace {

bool mentions(const IntrinsicOperand& operand, const VarNode* var) {
  bool found = false;
  for (const Expr& index : operand.indices)
    visit_exprs(index, [&](const Expr& e) {
      const auto* n = std::get_if<VarRef>(&e->node);
      found |= n != nullptr && n->var.get() == var;
    });
  return found;
}

}  // namespace

void Emitter::emit_node(const CoreCall& n) { emit_products({}, n); }

bool Emitter::emit_unrolled_products(const CoreLoop& outermost) {
  std::vector<const CoreLoop*> loops;
  const CoreLoop* loop = &outermost;
  for (; loop != nullptr && loop->kind == ForKind::unrolled; loop = std::get_if<CoreLoop>(&loop->body->node)) {
    loops.push_back(loop);
    if (const auto* call = std::get_if<CoreCall>(&loop->body->node)) {
      emit_products(loops, *call);
      return true;
    }
  }
  return false;
}

// A nest of unrolled loops around a call. Operands shared by several products are loaded once, before them, in separate
// loops inside those that both factors depend on.
void Emitter::emit_products(const std::vector<const CoreLoop*>& loops, const CoreCall& n) {
  const auto mma = find_matrix_multiply(n.intrinsic);
  DOVETAIL_CHECK(mma.has_value(), "the CUDA back end must have an instruction for " + n.intrinsic);
  const WarpOperation& operation = *find_operation(warp_operations(), n.intrinsic);
  const std::int64_t packed = 4 / size_bytes(mma->left);
  std::vector<std::string> names;
  for (const CoreLoop* loop : loops) names.push_back(vars_[loop->var.get()] = name_for(loop->var->name));
  const auto open = [&](const CoreLoop& loop) {
    const std::string& name = vars_[loop.var.get()];
    line("#pragma unroll");
    line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", name, loop.extent));
    ++indent_;
  };
  const auto close = [&](std::size_t count) {
    for (; count > 0; --count) --indent_, line("}");
  };
  if (n.later) {
    for (const CoreLoop* loop : loops) open(*loop);
    emit_later_call(n);
    close(loops.size());
    for (const std::string& name : names) taken_.erase(name);
    return;
  }
  std::size_t common = 0;
  while (common < loops.size() && mentions(n.operands[1], loops[common]->var.get()) &&
         mentions(n.operands[2], loops[common]->var.get()))
    ++common;
  for (std::size_t i = 0; i < common; ++i) open(*loops[i]);
  line("{"), ++indent_;

  std::vector<std::string> factors;
  for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
    const LaneMap& map = operation.operands[operand];
    const std::int64_t count = LaneMap::count(map.registers) / packed;
    std::string row = matrix_row(n.operands[operand], map, false);
    const bool turned = row.empty();
    if (turned) row = matrix_row(n.operands[operand], map, true);
    if (row.empty()) {
      for (std::int64_t i = 0; i < count; ++i) factors.push_back(packed_register(n.operands[operand], map, i));
      continue;
    }
    std::string place = "0";
    std::int64_t all = 1;
    std::vector<const CoreLoop*> own;
    for (std::size_t i = common; i < loops.size(); ++i) {
      if (!mentions(n.operands[operand], loops[i]->var.get())) continue;
      own.push_back(loops[i]);
      const std::string& name = vars_[loops[i]->var.get()];
      place = all == 1 ? name : fmt::format("({}) * {} + {}", place, loops[i]->extent, name);
      all *= loops[i]->extent;
    }
    names.push_back(name_for(operand == 1 ? "a" : "b"));
    line(fmt::format("unsigned {}[{}][{}];", names.back(), all, count));
    for (const CoreLoop* loop : own) open(*loop);
    line(fmt::format("load_matrices<{}>({}[{}], &{}, {});", turned, names.back(), place, row, after_));
    close(own.size());
    for (std::int64_t i = 0; i < count; ++i) factors.push_back(fmt::format("{}[{}][{}]", names.back(), place, i));
  }
  for (std::size_t i = common; i < loops.size(); ++i) open(*loops[i]);
  std::vector<std::string> arguments;
  for (std::int64_t i = 0; i < LaneMap::count(operation.operands[0].registers); ++i)
    arguments.push_back(place(n.operands[0].buffer, lane_element(n.operands[0], operation.operands[0], i)));
  arguments.insert(arguments.end(), factors.begin(), factors.end());
  line(fmt::format("mma_{}({});", mma->kind, fmt::join(arguments, ", ")));
  close(loops.size() + 1);
  for (const std::string& name : names) taken_.erase(name);
}

// The unit reads the operands through a descriptor of each matrix; the sums are in the lane's registers.
void Emitter::emit_later_call(const CoreCall& n) {
  const MatrixMultiply mma = find_matrix_multiply(n.intrinsic).value();
  const WarpOperation& operation = *find_operation(warp_operations(), n.intrinsic);
  std::vector<std::string> arguments, turned;
  for (std::size_t i = 1; i < n.operands.size(); ++i) {
    const CoreMatrix& matrix = n.matrices.at(i).value();
    arguments.push_back(fmt::format("matrix_at<{}, {}, {}>(&{})", matrix.leading, matrix.stride, matrix.swizzle,
                                    place(n.operands[i].buffer, n.operands[i].indices)));
    turned.emplace_back(matrix.depth_inner ? "false" : "true");
  }
  for (std::int64_t i = 0; i < LaneMap::count(operation.operands[0].registers); ++i)
    arguments.push_back(
        place(n.operands[0].buffer, lane_element(n.operands[0], operation.operands[0], int_imm(0), int_imm(i))));
  line(
      fmt::format("wgmma_{}<{}, {}>({});", mma.kind, mma.columns, fmt::join(turned, ", "), fmt::join(arguments, ", ")));
}

}  // namespace dovetail::cuda
