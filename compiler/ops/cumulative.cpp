// CumSum and CumProd: prefix sums or products along an axis. Each is computed from the previous one, in order.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"
#include "loops/verify.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

Result<std::size_t> axis_input(const Operands& operands) {
  const NdArray& axis = *operands.constant(1);
  if (axis.count() != 1)
    return refuse(operands, fmt::format("axis has shape {}, expected one element", to_string(axis.shape())),
                  "give a scalar");
  return normalize_axis(operands, axis.as_int64(0), operands.type(0).shape.size());
}

Result<Types> infer_cumulative(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const std::size_t axis, axis_input(operands));
  return Types{operands.type(0)};
}

// running[.., k + 1, ..] = running[.., k, ..] combined with element k; the value before the first is the identity.
loops::Buffer running(Naive& program, const Operands& operands, DType wide, std::size_t axis, bool reverse) {
  const Shape& shape = operands.type(0).shape;
  const bool product = operands.node.op == "CumProd";
  Shape longer = shape;
  ++longer[axis];
  const loops::Buffer buffer = loops::make_buffer("running", wide, longer);
  loops::Block block;
  block.name = "running";
  Indices element;
  std::vector<loops::Var> vars;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    vars.push_back(loops::make_var(fmt::format("running.d{}", d)));
    block.iterators.push_back({loops::make_var(fmt::format("d{}", d)), shape[d],
                               d == axis ? loops::IterKind::ordered : loops::IterKind::spatial, loops::ref(vars[d])});
    element.push_back(loops::ref(block.iterators[d].var));
  }
  const Expr k = element[axis];
  const Expr place = reverse ? loops::int_imm(shape[axis] - 1) - k : k;
  const Expr x = loops::cast(wide, loops::load(program.in(0), with_index(element, axis, place)));
  const Expr before = loops::select(tensor::equal(k, tensor::index(0)), loops::constant(product ? 1 : 0, wide),
                                    loops::load(buffer, element));
  block.body = loops::store(buffer, with_index(element, axis, k + 1), product ? before * x : before + x);
  loops::BlockRegions regions = loops::infer_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  loops::Stmt stmt = loops::make_stmt(std::move(block));
  for (std::size_t d = shape.size(); d-- > 0;)
    stmt = loops::make_stmt(loops::For{vars[d], shape[d], loops::ForKind::serial, {}, {}, std::move(stmt)});
  program.statement(std::move(stmt), {buffer});
  return buffer;
}

Result<loops::Program> define_cumulative(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_input(operands));
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const bool exclusive = graph::int_attribute(operands.node, "exclusive", 0) != 0,
             reverse = graph::int_attribute(operands.node, "reverse", 0) != 0;
  Naive program(operands);
  const bool empty = element_count(x.shape) == 0;
  const loops::Buffer sums = empty ? program.in(0) : running(program, operands, wide, axis, reverse);
  return program.finish({program.compute(program.block(), x.dtype, tensor_axes(x.shape), [&](const Indices& i) {
    const Expr k = reverse ? loops::int_imm(x.shape[axis] - 1) - i[axis] : i[axis];
    const Expr inclusive = loops::cast(x.dtype, loops::load(sums, with_index(i, axis, k + 1)));
    if (!exclusive) return inclusive;
    return loops::select(tensor::equal(k, tensor::index(0)),
                         loops::constant(operands.node.op == "CumProd" ? 1 : 0, x.dtype),
                         loops::cast(x.dtype, loops::load(sums, with_index(i, axis, k))));
  })});
}

OpDef cumulative(std::string_view op) {
  constexpr auto integer = AttributeKind::integer;
  return {op,
          Category::opaque,
          infer_cumulative,
          define_cumulative,
          {1},
          {{{"x", kFloat | kIndex | only(DType::uint32) | only(DType::uint64)}, {"axis", kIndex}},
           {{"exclusive", integer}, {"reverse", integer}}}};
}

}  // namespace

std::vector<OpDef> cumulative_ops() { return {cumulative("CumProd"), cumulative("CumSum")}; }

}  // namespace dovetail::ops
