// Operators that move values. Their definitions give the source of each element, so that a row needs only the pattern.
#include <algorithm>

#include "compiler/target/accel/select/selection.h"
#include "compiler/target/support/element_sources.h"

namespace dovetail::accel {

using graph::NodeId;
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

// Other reshapes move single elements between channels and pixels; between operators of the host they move nothing.
Result<Operation> select_reshape(const Context& c) {
  const ValueId x = c.node().inputs[0], y = c.node().outputs[0];
  const Shape &from = c.graph.value(x).type.shape, &to = c.graph.value(y).type.shape;
  const std::int64_t block = make_layout(c.config, 1, 1, 1, 1).block;
  const bool moves_blocks = from.back() == to.back() || (from.back() % block == 0 && to.back() % block == 0);
  if (!rows_are_pixels(c.graph, x) || !rows_are_pixels(c.graph, y) || !moves_blocks)
    return c.refuse(
        fmt::format("{} becomes {}, and the accelerator moves whole rows of matrices, or whole blocks of {}",
                    to_string(from), to_string(to), block));
  return select_movement(c);
}

// The rows are stored over those of the first operand, at a position that is added to the address of each STORE. So one
// program writes any row, and the other rows stay as they are.
Result<Operation> select_writing(const Context& c) {
  const ValueId x = c.node().inputs[0], rows = c.node().inputs[1], position = c.node().inputs[2];
  const Shape &whole = c.type(0).shape, &part = c.type(1).shape;
  const std::size_t rank = whole.size();
  const std::int64_t axis = c.attribute("axis", -2);
  if (c.type(0).dtype != DType::int8)
    return c.refuse(fmt::format("it moves {}, and the accelerator moves int8", name(c.type(0).dtype)));
  if (rank < 3 || (axis + 2 != 0 && axis + 2 != static_cast<std::int64_t>(rank)))
    return c.refuse(fmt::format("it writes along axis {}, and the accelerator writes rows", axis));
  if (graph::string_attribute(c.node(), "mode", "linear") != "linear") return c.refuse("it wraps around");
  if (!share_form(c, {x, rows, c.node().outputs[0]}) || !rows_are_pixels(c.graph, x)) return c.refuse(kLayoutsDiffer);
  if (element_count(c.type(2).shape) != 1)
    return c.refuse(fmt::format("it has {} positions, and the accelerator adds one to its addresses",
                                element_count(c.type(2).shape)));
  if (c.config.batch != 1) return c.refuse("a STORE writes the rows of a batch together");
  if (!comes_from_host(c.graph, x) || c.graph.is_constant(x))
    return c.refuse(fmt::format("{} is written in place, so the host must compute it, for this operator alone",
                                c.graph.value(x).name));
  for (const NodeId node : c.graph.topological_order())
    if (c.graph.node(node).op == "TensorScatter" && c.graph.node(node).inputs.size() > 2 &&
        c.graph.node(node).inputs[2] != position)
      return c.refuse(fmt::format("{} writes at another position, and a program has one", c.graph.node(node).name));
  const std::int64_t length = whole[rank - 2], count = part[rank - 2],
                     matrices = element_count(whole) / length / whole[rank - 1];
  MoveSpec spec;
  const ImageShape shape = image_of(c, x);
  spec.blocks = layout_of(c, shape).padded_c() / layout_of(c, shape).block;
  spec.terms.emplace_back().input = 1;
  spec.rows = spec.terms[0].rows = {0, 1, 1};
  std::vector<MoveSpec> parts;
  if (count == 1) {  // a row of each matrix
    spec.columns = {0, length, matrices};
    spec.terms[0].columns = {0, 1, matrices};
    parts.push_back(spec);
  } else {
    for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
      spec.columns = {matrix * length, 1, count};
      spec.terms[0].columns = {matrix * count, 1, count};
      parts.push_back(spec);
    }
  }
  Operation operation = operation_of(c, {x, rows}, std::move(parts));
  std::get<MoveOperation>(operation.body).position = {position, length - count};
  return operation;
}

}  // namespace dovetail::accel
