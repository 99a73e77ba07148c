// Recognizes LayerNormalization and Softmax that are written as several operators. A mean is ReduceMean, or ReduceSum
// with a factor or quotient; a variance is the mean of squared distances, or the mean of squares minus the square of
// the mean, clamped at 0 or not. Softmax is recognized only with subtraction of the maximum, so that it is equal for
// large numbers too.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

// The value before nodes that keep the order of elements, and before Expand nodes.
ValueId before_reshapes(const Graph& graph, ValueId value) {
  while (true) {
    const NodeId id = graph.value(value).producer;
    if (!id.valid()) return value;
    const graph::Node& node = graph.node(id);
    if (node.op != "Reshape" && node.op != "Unsqueeze" && node.op != "Squeeze" && node.op != "Flatten" &&
        node.op != "Expand")
      return value;
    value = node.inputs[0];
  }
}

// The axes of a reduction, sorted.
std::optional<Ints> reduced_axes(const Graph& graph, const graph::Node& node) {
  const auto rank = static_cast<std::int64_t>(shape_of(graph, node.inputs[0]).size());
  Ints axes;
  if (has_input(node, 1)) {
    const auto given = integers(graph, node.inputs[1]);
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (axes.empty()) {
    if (graph::int_attribute(node, "noop_with_empty_axes", 0) != 0) return std::nullopt;
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += rank;
  std::sort(axes.begin(), axes.end());
  return axes;
}

// The mean of `of` along adjacent axes.
struct Mean {
  ValueId of;
  Ints axes;
};
std::optional<Mean> along_axes(const Graph& graph, const graph::Node& node) {
  auto axes = reduced_axes(graph, node);
  if (!axes || axes->empty() || axes->back() - axes->front() != static_cast<std::int64_t>(axes->size()) - 1)
    return std::nullopt;
  return Mean{node.inputs[0], *std::move(axes)};
}
std::optional<Mean> mean(const Graph& graph, ValueId value) {
  value = before_reshapes(graph, value);
  if (const auto reduce = produced_by(graph, value, "ReduceMean")) return along_axes(graph, graph.node(*reduce));
  for (const char* op : {"Mul", "Div"}) {
    const auto scaled = produced_by(graph, value, op);
    if (!scaled) continue;
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      const auto factor = uniform(graph, graph.node(*scaled).inputs[i]);
      const auto sum = produced_by(graph, before_reshapes(graph, graph.node(*scaled).inputs[1 - i]), "ReduceSum");
      if (!factor || !sum || (graph.node(*scaled).op == "Div" && i == 0)) continue;
      const auto found = along_axes(graph, graph.node(*sum));
      if (!found) return std::nullopt;
      double count = 1;
      const Shape& shape = shape_of(graph, found->of);
      for (const std::int64_t d : found->axes) count *= static_cast<double>(shape[static_cast<std::size_t>(d)]);
      const double expected = graph.node(*scaled).op == "Div" ? count : 1 / count;
      if (std::abs(*factor - expected) > 1e-6 * expected) return std::nullopt;
      return found;
    }
  }
  return std::nullopt;
}

// Whether the value has one number per row: x's shape with extents of 1 at `axes`.
bool is_per_row(const Graph& graph, ValueId value, ValueId x, const Ints& axes) {
  Shape rows = shape_of(graph, x);
  for (const std::int64_t axis : axes) rows[static_cast<std::size_t>(axis)] = 1;
  return shape_of(graph, value) == rows;
}

// The base x of a square, x * x or x ^ 2.
std::optional<ValueId> squared(const Graph& graph, ValueId value) {
  value = before_reshapes(graph, value);
  if (const auto product = produced_by(graph, value, "Mul");
      product && graph.node(*product).inputs[0] == graph.node(*product).inputs[1])
    return graph.node(*product).inputs[0];
  if (const auto power = produced_by(graph, value, "Pow"); power && uniform(graph, graph.node(*power).inputs[1]) == 2.0)
    return graph.node(*power).inputs[0];
  return std::nullopt;
}

// The mean of squares minus the square of the mean loses common digits; the operator does not. This is the tolerance
// for their difference.
constexpr double kCancellation = 1e-3;

// The form of the variance of the rows of x; `distance` is x minus its mean.
enum class Variance { none, of_distances, of_squares };
Variance variance(const Graph& graph, ValueId value, ValueId x, ValueId distance, const Ints& axes) {
  value = before_reshapes(graph, value);
  const auto of_squares = [&](ValueId candidate, ValueId base) {
    const auto found = mean(graph, candidate);
    if (!found || found->axes != axes || shape_of(graph, found->of) != shape_of(graph, x)) return false;
    return squared(graph, found->of) == base;
  };
  if (of_squares(value, distance)) return Variance::of_distances;
  // The form with the mean of squares.
  if (const auto relu = produced_by(graph, value, "Relu")) value = before_reshapes(graph, graph.node(*relu).inputs[0]);
  const auto difference = produced_by(graph, value, "Sub");
  if (!difference) return Variance::none;
  const auto base = squared(graph, graph.node(*difference).inputs[1]);
  const auto base_mean = base ? mean(graph, *base) : std::nullopt;
  const bool found =
      base_mean && base_mean->of == x && base_mean->axes == axes && of_squares(graph.node(*difference).inputs[0], x);
  return found ? Variance::of_squares : Variance::none;
}

// (x - mean) / root(variance + epsilon), possibly times a factor.
struct Normalized {
  ValueId x;
  Ints axes;
  double epsilon;
  std::optional<ValueId> scale;
  Variance variance;
};
std::optional<std::pair<double, Variance>> epsilon_of_deviation(const Graph& graph, ValueId deviation, ValueId x,
                                                                ValueId distance, const Ints& axes) {
  deviation = before_reshapes(graph, deviation);
  const auto root = produced_by(graph, deviation, "Sqrt");
  const auto sum = root ? produced_by(graph, before_reshapes(graph, graph.node(*root).inputs[0]), "Add") : std::nullopt;
  if (!sum) return std::nullopt;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}})
    if (const auto epsilon = uniform(graph, graph.node(*sum).inputs[i]); epsilon && *epsilon >= 0)
      if (const Variance kind = variance(graph, graph.node(*sum).inputs[1 - i], x, distance, axes);
          kind != Variance::none)
        return std::pair{*epsilon, kind};
  return std::nullopt;
}
std::optional<Normalized> normalized(const Graph& graph, const graph::Node& node) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ValueId distance = node.inputs[i], other = node.inputs[1 - i];
    const auto difference = produced_by(graph, distance, "Sub");
    if (!difference || (node.op == "Div" && i == 1)) continue;
    const ValueId x = graph.node(*difference).inputs[0], center = graph.node(*difference).inputs[1];
    const auto found = mean(graph, center);
    if (!found || found->of != x || !is_per_row(graph, center, x, found->axes)) continue;
    const auto finish = [&](ValueId deviation, ValueId used,
                            std::optional<ValueId> scale) -> std::optional<Normalized> {
      const auto epsilon = epsilon_of_deviation(graph, deviation, x, distance, found->axes);
      if (!epsilon || !is_per_row(graph, used, x, found->axes)) return std::nullopt;
      return Normalized{x, found->axes, epsilon->first, scale, epsilon->second};
    };
    if (node.op == "Div") return finish(other, other, std::nullopt);
    // The factor is the reciprocal deviation, alone or multiplied by the scale.
    if (const auto reciprocal = produced_by(graph, before_reshapes(graph, other), "Reciprocal"))
      return finish(graph.node(*reciprocal).inputs[0], other, std::nullopt);
    if (const auto quotient = produced_by(graph, other, "Div"))
      return finish(graph.node(*quotient).inputs[1], graph.node(*quotient).inputs[1], graph.node(*quotient).inputs[0]);
    if (const auto product = produced_by(graph, other, "Mul"))
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
        if (const auto reciprocal =
                produced_by(graph, before_reshapes(graph, graph.node(*product).inputs[k]), "Reciprocal"))
          return finish(graph.node(*reciprocal).inputs[0], graph.node(*product).inputs[k],
                        graph.node(*product).inputs[1 - k]);
  }
  return std::nullopt;
}

// Whether the value is broadcast within a row: one number per element of the row, or fewer.
bool fits_row(const Graph& graph, ValueId value, const Shape& x, const Ints& axes) {
  const Shape& shape = shape_of(graph, value);
  if (shape.size() > x.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t d = x.size() - shape.size() + i;
    const bool inside = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
    if (shape[i] != 1 && (!inside || shape[i] != x[d])) return false;
  }
  return true;
}

bool layer_normalization(Graph& graph, NodeId id, double& tolerance) {
  const graph::Node node = graph.node(id);
  if (node.op != "Div" && node.op != "Mul") return false;
  const auto found = normalized(graph, node);
  if (!found || graph.value(found->x).type != graph.value(node.outputs[0]).type) return false;
  const graph::TensorType type = graph.value(found->x).type;
  const auto rank = static_cast<std::int64_t>(type.shape.size());
  if (found->scale && !fits_row(graph, *found->scale, type.shape, found->axes)) return false;
  Shape row;
  for (const std::int64_t axis : found->axes) row.push_back(type.shape[static_cast<std::size_t>(axis)]);
  const bool last = found->axes.back() == rank - 1;
  if (found->variance == Variance::of_squares) tolerance = kCancellation;
  ValueId scale = found->scale.value_or(ValueId{});
  if (!scale.valid()) {
    NdArray ones(type.dtype, row);
    for (std::int64_t i = 0; i < ones.count(); ++i) ones.set_double(i, 1);
    scale = graph.add_constant(node.name + "/ones", std::move(ones));
  } else if (!last) {
    if (element_count(shape_of(graph, scale)) != element_count(row)) return false;
    scale =
        insert(graph, "Reshape", node.name + "/scale", {scale, add_integers(graph, node.name + "/row", row)}, {}, {});
  }
  graph::Attributes attributes{{"axis", rank - static_cast<std::int64_t>(row.size())}, {"epsilon", found->epsilon}};
  if (last) return become(graph, id, "LayerNormalization", {found->x, scale}, attributes);
  // The operator normalizes the last axes, so the axes are transposed to the end and back.
  Ints there, back(type.shape.size());
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (axis < found->axes.front() || axis > found->axes.back()) there.push_back(axis);
  there.insert(there.end(), found->axes.begin(), found->axes.end());
  for (std::size_t i = 0; i < there.size(); ++i)
    back[static_cast<std::size_t>(there[i])] = static_cast<std::int64_t>(i);
  const ValueId rows = insert(graph, "Transpose", node.name + "/rows", {found->x}, {{"perm", there}}, node.origins);
  const ValueId done = insert(graph, "LayerNormalization", node.name + "/normalized", {rows, scale},
                              std::move(attributes), node.origins);
  return become(graph, id, "Transpose", {done}, {{"perm", back}});
}

// Adds the product with a scale and the sum with a shift to the LayerNormalization before them, which has none, perhaps
// with a Transpose between them.
bool scale_and_shift(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "Mul" && node.op != "Add") return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!used_once(graph, node.inputs[i])) continue;
    const auto back = produced_by(graph, node.inputs[i], "Transpose");
    const ValueId result = back ? graph.node(*back).inputs[0] : node.inputs[i];
    const auto norm_id = produced_by(graph, result, "LayerNormalization");
    if (!norm_id || !used_once(graph, result) || graph.node(*norm_id).outputs.size() != 1) continue;
    const graph::Node norm = graph.node(*norm_id);
    const ValueId x = norm.inputs[0];
    const auto rank = static_cast<std::int64_t>(shape_of(graph, x).size());
    const std::int64_t given = graph::int_attribute(norm, "axis", -1);
    Ints axes(static_cast<std::size_t>(given < 0 ? -given : rank - given));
    std::iota(axes.begin(), axes.end(), rank - static_cast<std::int64_t>(axes.size()));
    Ints seen = axes;  // the axes in the node's operand
    const Ints perm = back ? graph::ints_attribute(graph.node(*back), "perm", {}) : Ints{};
    for (std::size_t d = 0; d < perm.size(); ++d)
      if (perm[d] >= axes.front())
        seen[static_cast<std::size_t>(perm[d] - axes.front())] = static_cast<std::int64_t>(d);
    ValueId other = node.inputs[1 - i];
    if (has_input(norm, 2) || !fits_row(graph, other, shape_of(graph, node.inputs[i]), seen)) continue;
    if (node.op == "Mul" && uniform(graph, norm.inputs[1]) != 1.0) continue;
    if (back) {
      Shape row;
      for (const std::int64_t axis : axes) row.push_back(shape_of(graph, x)[static_cast<std::size_t>(axis)]);
      if (!std::is_sorted(seen.begin(), seen.end()) || element_count(shape_of(graph, other)) != element_count(row))
        continue;
      other = insert(graph, "Reshape", node.name + "/row", {other, add_integers(graph, node.name + "/row_shape", row)},
                     {}, {});
    }
    const std::vector<ValueId> inputs =
        node.op == "Add" ? std::vector<ValueId>{x, norm.inputs[1], other} : std::vector<ValueId>{x, other};
    if (!back) return become(graph, id, "LayerNormalization", inputs, norm.attributes, {*norm_id});
    // Existing values keep their names and contents: the rows with scale or shift are new values.
    const ValueId rows =
        insert(graph, "LayerNormalization", node.name + "/normalized", inputs, norm.attributes, norm.origins);
    return become(graph, id, "Transpose", {rows}, {{"perm", perm}}, {*back, *norm_id});
  }
  return false;
}

// Softmax: exp(x - max x) / its sum.
bool softmax(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "Div") return false;
  const auto exp = produced_by(graph, node.inputs[0], "Exp");
  const auto sum = produced_by(graph, before_reshapes(graph, node.inputs[1]), "ReduceSum");
  if (!exp || !sum || graph.node(*sum).inputs[0] != node.inputs[0]) return false;
  const auto difference = produced_by(graph, graph.node(*exp).inputs[0], "Sub");
  const auto largest = difference
                           ? produced_by(graph, before_reshapes(graph, graph.node(*difference).inputs[1]), "ReduceMax")
                           : std::nullopt;
  if (!largest || graph.node(*largest).inputs[0] != graph.node(*difference).inputs[0]) return false;
  const auto axes = reduced_axes(graph, graph.node(*sum));
  if (!axes || axes->size() != 1 || reduced_axes(graph, graph.node(*largest)) != axes) return false;
  const ValueId x = graph.node(*difference).inputs[0];
  Shape rows = shape_of(graph, x);
  rows[static_cast<std::size_t>(axes->front())] = 1;
  if (shape_of(graph, node.inputs[1]) != rows || shape_of(graph, graph.node(*difference).inputs[1]) != rows)
    return false;
  return become(graph, id, "Softmax", {x}, {{"axis", axes->front()}}, {*exp, *sum, *difference, *largest});
}

}  // namespace

Result<PassOutcome> recognize_normalizations(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    if (node.removed || node.outputs.size() != 1 || !is_float(graph, node.outputs[0])) continue;
    if (layer_normalization(graph, id, outcome.tolerance) || scale_and_shift(graph, id) || softmax(graph, id))
      ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes
