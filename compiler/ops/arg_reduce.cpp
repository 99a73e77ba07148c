// ArgMax and ArgMin: the position of the first, or with select_last_index the last, extreme element along an axis. NaN
// is more extreme than any number, as in NumPy.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

bool keeps_axis(const Operands& operands) { return graph::int_attribute(operands.node, "keepdims", 1) != 0; }

Result<Types> infer_arg_reduce(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  Shape shape = operands.type(0).shape;
  if (shape[axis] == 0)
    return refuse(operands,
                  fmt::format("axis {} of {} has extent 0, so no element can be chosen", axis, to_string(shape)),
                  "remove the node");
  if (keeps_axis(operands)) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return Types{{DType::int64, std::move(shape)}};
}

Result<loops::Program> define_arg_reduce(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  const graph::TensorType& x = operands.type(0);
  const std::int64_t extent = x.shape[axis];
  const bool last = graph::int_attribute(operands.node, "select_last_index", 0) != 0;
  const tensor::Reducer& reducer = operands.node.op == "ArgMax" ? tensor::arg_max_reducer() : tensor::arg_min_reducer();
  // The reducers prefer the smaller index; counting from the end makes that the last element.
  const auto number = [&](const loops::Expr& position) {
    return last ? loops::int_imm(extent - 1) - position : position;
  };
  Naive program(operands);
  const Axes axes = tensor_axes(operands.output(0).shape);
  const std::vector<loops::Buffer> best =
      program.reduce_tuple({"value", "position"}, {x.dtype, DType::int64}, axes, {{"k", extent}}, reducer,
                           [&](const Indices& i, const Indices& r) {
                             Indices element = i;
                             if (keeps_axis(operands)) {
                               element[axis] = r[0];
                             } else {
                               element.insert(element.begin() + static_cast<std::ptrdiff_t>(axis), r[0]);
                             }
                             return std::vector<loops::Expr>{loops::load(program.in(0), element), number(r[0])};
                           });
  if (!last) return program.finish({best[1]});
  return program.finish({program.compute("index", DType::int64, axes,
                                         [&](const Indices& i) { return number(loops::load(best[1], i)); })});
}

OpDef arg_reduce(std::string_view op) {
  constexpr auto integer = AttributeKind::integer;
  return {op,
          Category::reduction,
          infer_arg_reduce,
          define_arg_reduce,
          {},
          {{{"data", kNumber}}, {{"axis", integer}, {"keepdims", integer}, {"select_last_index", integer}}}};
}

}  // namespace

std::vector<OpDef> arg_reduce_ops() { return {arg_reduce("ArgMax"), arg_reduce("ArgMin")}; }

}  // namespace dovetail::ops
