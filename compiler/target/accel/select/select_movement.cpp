// Operators that move values. Their definitions give the source of each element, so that a row needs only the pattern.
#include <algorithm>

#include "compiler/target/accel/select/selection.h"
#include "compiler/target/support/element_sources.h"

namespace dovetail::accel {

using graph::ValueId;

namespace {

Operation operation_of(const Context& c, std::vector<ValueId> inputs, std::vector<MoveSpec> parts) {
  for (MoveSpec& part : parts) {
    part.name = c.node().name;
    part.widening = cheapest_widening(c.config);
  }
  std::vector<BorderNeed> borders(inputs.size());
  return {c.found.nodes, std::move(inputs), c.node().outputs[0], std::move(borders),
          MoveOperation{std::move(parts), {}}};
}

}  // namespace

Result<Operation> select_clip(const Context& c) {
  if (!share_form(c, {c.node().inputs[0], c.node().outputs[0]}))
    return c.refuse("its operand and its result have different layouts");
  const ImageShape shape = image_of(c, c.node().inputs[0]);
  const Positions rows{0, 1, shape.h}, columns{0, 1, shape.w};
  MoveSpec spec;
  spec.blocks = layout_of(c, shape).padded_c() / layout_of(c, shape).block;
  spec.rows = rows;
  spec.columns = columns;
  spec.terms.emplace_back();
  spec.terms[0].rows = rows;
  spec.terms[0].columns = columns;
  spec.y_min = c.attribute("y_min", -128);
  spec.y_max = c.attribute("y_max", 127);
  return operation_of(c, {c.node().inputs[0]}, {std::move(spec)});
}

Result<Operation> select_movement(const Context& c) {
  const graph::TensorType& y = c.graph.value(c.node().outputs[0]).type;
  if (y.dtype != DType::int8)
    return c.refuse(fmt::format("it moves {}, and the accelerator moves int8", name(y.dtype)));
  if (c.found.inputs.empty()) return c.refuse("all of its operands are constant");
  std::vector<ImageShape> inputs;
  for (const ValueId input : c.found.inputs) {
    const graph::TensorType& type = c.graph.value(input).type;
    if (type.dtype != DType::int8)
      return c.refuse(fmt::format("its operand {} is not an int8 tensor", c.graph.value(input).name));
    inputs.push_back(image_of(c, input));
  }
  const auto sources = element_sources(c.graph, c.found.nodes, c.found.inputs);
  if (!sources) return c.refuse(sources.errors().front().why);
  const ImageShape shape = image_of(c, c.node().outputs[0]);
  auto parts = plan_moves(sources->data<std::int32_t>(), inputs, shape, layout_of(c, shape).block);
  if (!parts) return c.refuse(parts.errors().front().why);
  Operation operation = operation_of(c, c.found.inputs, *std::move(parts));
  std::get<MoveOperation>(operation.body).folds = folds_of_move(sources->data<std::int32_t>(), inputs, shape);
  return operation;
}

// Other reshapes move elements between channels and pixels; between operators of the host they move nothing.
Result<Operation> select_reshape(const Context& c) {
  const ValueId x = c.node().inputs[0], y = c.node().outputs[0];
  const Shape &from = c.graph.value(x).type.shape, &to = c.graph.value(y).type.shape;
  if (!rows_are_pixels(c.graph, x) || !rows_are_pixels(c.graph, y) || from.back() != to.back())
    return c.refuse(
        fmt::format("{} becomes {}, and the accelerator keeps rows of matrices", to_string(from), to_string(to)));
  return select_movement(c);
}

}  // namespace dovetail::accel
