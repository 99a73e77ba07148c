// Operators that keep the elements in row-major order and only change the shape: Reshape, Flatten, Squeeze, Unsqueeze.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/ops/reindex.h"

namespace dovetail::ops {
namespace {

// Resolves 0 (copy the input's extent, unless allowzero) and -1 (the remaining elements) in the requested shape.
Result<Shape> resolve_shape(const Operands& operands, Shape shape) {
  const Shape& x = operands.type(0).shape;
  const std::string requested = to_string(shape);
  const bool allow_zero = graph::int_attribute(operands.node, "allowzero", 0) != 0;
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= x.size())
        return refuse(operands,
                      fmt::format("shape {} copies extent {}, but the input {} has rank {}", requested, i, to_string(x),
                                  x.size()),
                      "give the extent, or set allowzero");
      shape[i] = x[i];
    }
    if (shape[i] == -1) {
      if (open)
        return refuse(operands, fmt::format("shape {} contains -1 twice, but may contain it once", requested),
                      "replace one -1 by the extent");
      open = i;
    } else if (shape[i] < 0) {
      return refuse(operands, fmt::format("shape {} contains {}, but extents must be at least -1", requested, shape[i]),
                    "fix the exporter");
    } else {
      known *= shape[i];
    }
  }
  const std::int64_t count = element_count(x);
  if (open) {
    if (known == 0 || count % known != 0)
      return refuse(operands,
                    fmt::format("the {} elements of {} cannot be divided by the {} of shape {}", count, to_string(x),
                                known, requested),
                    "fix the shape");
    shape[*open] = count / known;
  } else if (known != count) {
    return refuse(operands,
                  fmt::format("input {} has {} elements, but shape {} has {}", to_string(x), count, requested, known),
                  "they must be equal; was the model exported for another batch size?");
  }
  return shape;
}

Result<Types> infer_reshape(const Operands& operands) {
  DOVETAIL_ASSIGN(Shape shape, resolve_shape(operands, integers_of(*operands.constant(1))));
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<Types> infer_flatten(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const std::int64_t axis = graph::int_attribute(operands.node, "axis", 1);
  if (axis < -rank || axis > rank)
    return refuse(operands, fmt::format("axis {} does not exist in a tensor of rank {}", axis, rank),
                  fmt::format("use an axis from {} to {}", -rank, rank));
  const auto middle = x.shape.begin() + static_cast<std::ptrdiff_t>(axis < 0 ? axis + rank : axis);
  return Types{{x.dtype, {element_count(Shape(x.shape.begin(), middle)), element_count(Shape(middle, x.shape.end()))}}};
}

Result<Types> infer_squeeze(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  std::vector<bool> dropped(x.shape.size());
  if (const NdArray* axes = operands.constant(1)) {
    DOVETAIL_ASSIGN(const std::vector<std::size_t> positions,
                    normalize_axes(operands, integers_of(*axes), x.shape.size()));
    for (const std::size_t axis : positions) {
      if (x.shape[axis] != 1)
        return refuse(operands,
                      fmt::format("axis {} of {} has extent {}, but only extent 1 can be squeezed", axis,
                                  to_string(x.shape), x.shape[axis]),
                      "use Reshape");
      dropped[axis] = true;
    }
  } else {
    for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] = x.shape[i] == 1;
  }
  Shape shape;
  for (std::size_t i = 0; i < dropped.size(); ++i)
    if (!dropped[i]) shape.push_back(x.shape[i]);
  return Types{{x.dtype, std::move(shape)}};
}

Result<Types> infer_unsqueeze(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  const std::vector<std::int64_t> axes = integers_of(*operands.constant(1));
  DOVETAIL_ASSIGN(std::vector<std::size_t> positions, normalize_axes(operands, axes, x.shape.size() + axes.size()));
  std::ranges::sort(positions);
  Shape shape = x.shape;
  for (const std::size_t axis : positions) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return Types{{x.dtype, std::move(shape)}};
}

Result<loops::Program> define_reshape(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    return loops::load(program.in(0), reshape_indices(operands.output(0).shape, i, operands.type(0).shape));
  });
}

OpDef reshape(std::string_view op, Result<Types> (*infer)(const Operands&), std::vector<int> compile_time_inputs,
              Signature signature) {
  return {.op = op,
          .category = Category::injective,
          .infer = infer,
          .define = define_reshape,
          .compile_time_inputs = std::move(compile_time_inputs),
          .signature = std::move(signature),
          .movement = Movement::reshapes};
}

}  // namespace

std::vector<OpDef> reshape_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {
      reshape("Flatten", infer_flatten, {}, {{{"input"}}, {{"axis", integer}}}),
      reshape("Reshape", infer_reshape, {1}, {{{"data"}, {"shape", kInt64}}, {{"allowzero", integer}}}),
      reshape("Squeeze", infer_squeeze, {1}, {{{"data"}, {"axes", kInt64, 0, Presence::optional}}}),
      reshape("Unsqueeze", infer_unsqueeze, {1}, {{{"data"}, {"axes", kInt64}}}),
  };
}

}  // namespace dovetail::ops
