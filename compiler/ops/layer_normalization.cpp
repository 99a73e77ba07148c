// Operators that normalize by the mean and variance of parts of the tensor: LayerNormalization (the last axes of each
// row), InstanceNormalization (each image and channel), GroupNormalization (each image and group of channels),
// MeanVarianceNormalization (the axes that it lists). All treat the input as rows: statistics are over the axes of a
// row. RMSNormalization has no mean: it divides by the root of the mean square of the last axes.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

double epsilon_of(const Operands& operands) { return graph::float_attribute(operands.node, "epsilon", 1e-5); }

struct Statistics {
  loops::Buffer mean, inverse_deviation;  // one element per row
};

// Blocks sum, mean, squares, inverse_deviation: 1 / (sqrt(variance + epsilon) + added). `row_axes` index the rows,
// `along` the elements of a row; `element` loads in type `wide`.
Statistics statistics(Naive& program, DType wide, const Axes& row_axes, const Axes& along,
                      const std::function<Expr(const Indices&, const Indices&)>& element, double epsilon,
                      double added = 0) {
  double count = 1;
  for (const Axis& axis : along) count *= static_cast<double>(axis.extent);
  const loops::Buffer sum = program.reduce("sum", wide, row_axes, along, tensor::sum_reducer(), element);
  const loops::Buffer mean = program.compute("mean", wide, row_axes, [&](const Indices& i) {
    return tensor::divide(loops::load(sum, i), loops::constant(count, wide));
  });
  const loops::Buffer squares = program.reduce(
      "squares", wide, row_axes, along, tensor::product_sum_reducer(),
      [&](const Indices& i, const Indices& r) { return tensor::square(element(i, r) - loops::load(mean, i)); });
  return {mean, program.compute("inverse_deviation", wide, row_axes, [&](const Indices& i) {
            const Expr variance = tensor::divide(loops::load(squares, i), loops::constant(count, wide));
            Expr deviation = tensor::square_root(epsilon == 0 ? variance : variance + loops::constant(epsilon, wide));
            if (added != 0) deviation = deviation + loops::constant(added, wide);
            return tensor::divide(loops::constant(1, wide), deviation);
          })};
}

// ---- LayerNormalization

// Axes before the first normalized one keep their extent in the statistics, the others have extent 1.
Axes layer_rows(const Shape& shape, std::size_t axis) {
  Axes rows = tensor_axes(shape);
  for (std::size_t i = axis; i < rows.size(); ++i) rows[i].extent = 1;
  return rows;
}

Result<void> check_stash_type(const Operands& operands) {
  const std::int64_t stash = graph::int_attribute(operands.node, "stash_type", 1);
  if (stash == info(DType::float32).onnx) return {};
  return refuse(operands,
                fmt::format("stash_type is {}, but only {} (float32) is supported", stash, info(DType::float32).onnx),
                "remove the attribute");
}

// The normalized axes of one row.
Axes layer_elements(const Shape& shape, std::size_t axis) {
  Axes along;
  for (std::size_t i = axis; i < shape.size(); ++i) along.push_back({fmt::format("k{}", i), shape[i]});
  return along;
}

// The indices of the input element at `place` of `row`.
Indices layer_element(const Indices& row, const Indices& place) {
  Indices element(row.begin(), row.end() - static_cast<std::ptrdiff_t>(place.size()));
  element.insert(element.end(), place.begin(), place.end());
  return element;
}

Indices layer_row(Indices element, std::size_t axis) {
  for (std::size_t k = axis; k < element.size(); ++k) element[k] = tensor::index(0);
  return element;
}

Result<Types> infer_layer(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  DOVETAIL_TRY(require_broadcastable(operands, 1, x.shape));
  if (operands.has(2)) DOVETAIL_TRY(require_broadcastable(operands, 2, x.shape));
  DOVETAIL_TRY(check_stash_type(operands));
  Types types{x};
  Shape rows;
  for (const Axis& row : layer_rows(x.shape, axis)) rows.push_back(row.extent);
  while (types.size() < operands.node.outputs.size())
    types.push_back({accumulator(x.dtype), rows});  // mean, inverse deviation
  return types;
}

Result<loops::Program> define_layer(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  Naive program(operands);
  const Statistics stats = statistics(
      program, wide, layer_rows(x.shape, axis), layer_elements(x.shape, axis),
      [&](const Indices& i, const Indices& r) {
        return loops::cast(wide, loops::load(program.in(0), layer_element(i, r)));
      },
      epsilon_of(operands));
  const loops::Buffer y = program.compute(program.block(), x.dtype, tensor_axes(x.shape), [&](const Indices& i) {
    const Indices row = layer_row(i, axis);
    Expr value = (loops::cast(wide, loops::load(program.in(0), i)) - loops::load(stats.mean, row)) *
                 loops::load(stats.inverse_deviation, row);
    value = value * loops::cast(wide, load_broadcast(program.in(1), i));
    if (operands.has(2)) value = value + loops::cast(wide, load_broadcast(program.in(2), i));
    return loops::cast(x.dtype, value);
  });
  std::vector<loops::Buffer> outputs{y, stats.mean, stats.inverse_deviation};
  outputs.resize(operands.node.outputs.size());
  return program.finish(outputs);
}

// ---- RMSNormalization

Result<Types> infer_rms(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  DOVETAIL_TRY(require_broadcastable(operands, 1, x.shape));
  DOVETAIL_TRY(check_stash_type(operands));
  return Types{{operands.type(1).dtype, x.shape}};
}

Result<loops::Program> define_rms(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype), dtype = operands.output(0).dtype;
  const Axes rows = layer_rows(x.shape, axis), along = layer_elements(x.shape, axis);
  double count = 1;
  for (const Axis& each : along) count *= static_cast<double>(each.extent);
  Naive program(operands);
  const loops::Buffer squares = program.reduce(
      "squares", wide, rows, along, tensor::product_sum_reducer(), [&](const Indices& i, const Indices& r) {
        return tensor::square(loops::cast(wide, loops::load(program.in(0), layer_element(i, r))));
      });
  const double epsilon = epsilon_of(operands);
  const loops::Buffer inverse = program.compute("inverse_root", wide, rows, [&](const Indices& i) {
    const Expr mean_square = tensor::divide(loops::load(squares, i), loops::constant(count, wide));
    return tensor::divide(loops::constant(1, wide), tensor::square_root(mean_square + loops::constant(epsilon, wide)));
  });
  return program.finish({program.compute(program.block(), dtype, tensor_axes(x.shape), [&](const Indices& i) {
    const Expr normalized = loops::cast(wide, loops::load(program.in(0), i)) * loops::load(inverse, layer_row(i, axis));
    return loops::cast(dtype, loops::cast(accumulator(dtype), normalized) *
                                  loops::cast(accumulator(dtype), load_broadcast(program.in(1), i)));
  })});
}

// ---- MeanVarianceNormalization

Result<std::vector<std::size_t>> normalized_axes(const Operands& operands) {
  const std::vector<std::int64_t> axes = graph::ints_attribute(operands.node, "axes", {0, 2, 3});
  return normalize_axes(operands, axes, operands.type(0).shape.size());
}

Result<Types> infer_mean_variance(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const std::vector<std::size_t> axes, normalized_axes(operands));
  return Types{operands.type(0)};
}

// (x - mean) / (deviation + 1e-9).
Result<loops::Program> define_mean_variance(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<std::size_t> axes, normalized_axes(operands));
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  Axes rows = tensor_axes(x.shape), along;
  for (const std::size_t axis : axes) {
    rows[axis].extent = 1;
    along.push_back({fmt::format("k{}", axis), x.shape[axis]});
  }
  const auto row_of = [&](Indices i) {
    for (const std::size_t axis : axes) i[axis] = tensor::index(0);
    return i;
  };
  Naive program(operands);
  const Statistics stats = statistics(
      program, wide, rows, along,
      [&](Indices i, const Indices& r) {
        for (std::size_t k = 0; k < axes.size(); ++k) i[axes[k]] = r[k];
        return loops::cast(wide, loops::load(program.in(0), i));
      },
      0, 1e-9);
  return program.finish({program.compute(program.block(), x.dtype, tensor_axes(x.shape), [&](const Indices& i) {
    const Indices row = row_of(i);
    return loops::cast(x.dtype, (loops::cast(wide, loops::load(program.in(0), i)) - loops::load(stats.mean, row)) *
                                    loops::load(stats.inverse_deviation, row));
  })});
}

// ---- InstanceNormalization, GroupNormalization

std::int64_t groups_of(const Operands& operands) {
  return operands.node.op == "GroupNormalization" ? graph::int_attribute(operands.node, "num_groups", 1)
                                                  : operands.type(0).shape[1];
}

Result<Types> infer_group(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  if (x.shape.size() < 3)
    return refuse(
        operands,
        fmt::format("input of shape {} has rank {}, but at least 3 is required", to_string(x.shape), x.shape.size()),
        "the input must be [batch, channels, spatial...]");
  const std::int64_t groups = groups_of(operands);
  if (groups < 1 || x.shape[1] % groups != 0)
    return refuse(operands, fmt::format("{} channels are not a multiple of num_groups {}", x.shape[1], groups),
                  "choose a divisor");
  DOVETAIL_TRY(check_stash_type(operands));
  DOVETAIL_TRY(require_per_channel(operands, 1, "scale", x.shape[1]));
  DOVETAIL_TRY(require_per_channel(operands, 2, "bias", x.shape[1]));
  return Types{x};
}

Result<loops::Program> define_group(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const std::int64_t groups = groups_of(operands), members = x.shape[1] / groups;
  Naive program(operands);
  Axes along{{"c", members}};
  for (Axis& axis : spatial_axes(Shape(x.shape.begin() + 2, x.shape.end()))) along.push_back(std::move(axis));
  const Statistics stats = statistics(
      program, wide, {{"n", x.shape[0]}, {"g", groups}}, along,
      [&](const Indices& i, const Indices& r) {
        Indices element{i[0], members == 1 ? i[1] + r[0] : i[1] * members + r[0]};
        element.insert(element.end(), r.begin() + 1, r.end());
        return loops::cast(wide, loops::load(program.in(0), element));
      },
      epsilon_of(operands));
  return program.finish({program.compute(program.block(), x.dtype, image_axes(x.shape), [&](const Indices& i) {
    const Indices row{i[0], members == 1 ? i[1] : loops::floor_div(i[1], members)};
    const auto channel = [&](std::size_t position) {
      return loops::cast(wide, loops::load(program.in(position), {i[1]}));
    };
    const Expr centered = loops::cast(wide, loops::load(program.in(0), i)) - loops::load(stats.mean, row);
    return loops::cast(x.dtype, centered * loops::load(stats.inverse_deviation, row) * channel(1) + channel(2));
  })});
}

}  // namespace

std::vector<OpDef> layer_normalization_ops() {
  constexpr auto integer = AttributeKind::integer, real = AttributeKind::real;
  return {
      {"GroupNormalization",
       Category::opaque,
       infer_group,
       define_group,
       {},
       {{{"X", kFloat, 'T'}, {"scale", kFloat, 'T'}, {"bias", kFloat, 'T'}},
        {{"epsilon", real}, {"num_groups", integer, Presence::required}, {"stash_type", integer}}}},
      {"InstanceNormalization",
       Category::opaque,
       infer_group,
       define_group,
       {},
       {{{"input", kFloat, 'T'}, {"scale", kFloat, 'T'}, {"B", kFloat, 'T'}}, {{"epsilon", real}}}},
      {.op = "LayerNormalization",
       .category = Category::opaque,
       .infer = infer_layer,
       .define = define_layer,
       .signature = {{{"X", kFloat, 'T'}, {"Scale", kFloat, 'T'}, {"B", kFloat, 'T', Presence::optional}},
                     {{"axis", integer}, {"epsilon", real}, {"stash_type", integer}},
                     3},
       .takes_prologue = true},
      {"MeanVarianceNormalization",
       Category::opaque,
       infer_mean_variance,
       define_mean_variance,
       {},
       {{{"X", kFloat}}, {{"axes", AttributeKind::integers}}}},
      {.op = "RMSNormalization",
       .category = Category::opaque,
       .infer = infer_rms,
       .define = define_rms,
       .signature = {{{"X", kFloat}, {"scale", kFloat}},
                     {{"axis", integer}, {"epsilon", real}, {"stash_type", integer}}},
       .takes_prologue = true},
  };
}

}  // namespace dovetail::ops
