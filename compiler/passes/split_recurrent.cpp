// Splits LSTM, GRU and RNN with constant weights into a MatMul of all steps' inputs with W, an Add of the biases, and
// the recurrence alone (dovetail.lstm, …), with its weights in the layout that it reads. Sums keep their order, so
// results are bit-identical, except for 16-bit floats, which are rounded in between: these are split at level 2 and
// above.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/recurrent.h"
#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;
using graph::ValueId;
using ops::RecurrentForm;

const RecurrentForm* form_named(std::string_view op, bool projected) {
  const auto found = std::ranges::find_if(
      ops::kRecurrentForms, [&](const RecurrentForm& form) { return form.op == op && form.projected == projected; });
  return found == ops::kRecurrentForms.end() ? nullptr : &*found;
}

const RecurrentForm& projected_form(ops::Cell cell) {
  return *std::ranges::find_if(ops::kRecurrentForms, [&](const RecurrentForm& form) {
    return form.projected && !form.dynamic && form.cell == cell;
  });
}

// [d, rows, columns] as [d, columns, rows], or with the columns as the first axis.
enum class First : std::uint8_t { direction, column };
NdArray turned(const NdArray& x, First first) {
  const std::int64_t d = x.shape()[0], rows = x.shape()[1], columns = x.shape()[2];
  NdArray result(x.dtype(), first == First::column ? Shape{columns, d * rows} : Shape{d, columns, rows});
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        result.set_double(first == First::column ? c * d * rows + i * rows + r : (i * columns + c) * rows + r,
                          x.as_double((i * rows + r) * columns + c));
  return result;
}

// The bias of every step: the sum of both biases, except for a candidate whose second bias is inside the product with
// the reset gate.
NdArray summed_bias(const NdArray& bias, const ops::RecurrentNode& node) {
  const std::int64_t columns = node.columns();
  NdArray result(bias.dtype(), {node.directions * columns});
  for (std::int64_t d = 0; d < node.directions; ++d)
    for (std::int64_t j = 0; j < columns; ++j) {
      const double first = bias.as_double(2 * d * columns + j), second = bias.as_double((2 * d + 1) * columns + j);
      const bool inner = node.form.cell == ops::Cell::gru && node.reset_after && j >= 2 * node.hidden;
      // For float32, the sum in binary64 is rounded once; for float64 it is the sum itself.
      result.set_double(d * columns + j, inner ? first : first + second);
    }
  return result;
}

NdArray inner_bias(const NdArray& bias, const ops::RecurrentNode& node) {
  NdArray result(bias.dtype(), {node.directions, node.hidden});
  for (std::int64_t d = 0; d < node.directions; ++d)
    for (std::int64_t h = 0; h < node.hidden; ++h)
      result.set_double(d * node.hidden + h, bias.as_double((2 * d + 1) * node.columns() + 2 * node.hidden + h));
  return result;
}

bool split(graph::Graph& graph, NodeId id, Level level) {
  const graph::Node node = graph.node(id);
  const RecurrentForm* form = form_named(node.op, false);
  if (form == nullptr) return false;
  const ops::RecurrentPlaces from = ops::recurrent_places(*form);
  const DType dtype = graph.value(node.inputs[0]).type.dtype;
  if (level < Level::tolerant && ops::accumulator(dtype) != dtype) return false;
  const bool has_bias = has_input(node, from.bias);
  for (const std::size_t position : {from.weights, from.recurrence, from.bias})
    if ((position != from.bias || has_bias) && !graph.is_constant(node.inputs[position])) return false;
  const auto known = ops::recurrent_of({graph, node});
  if (!known || element_count(shape_of(graph, node.inputs[0])) == 0) return false;

  const auto constant = [&](const char* stem, NdArray array) {
    return graph.add_constant(fmt::format("{}/{}", node.name, stem), std::move(array));
  };
  const auto given = [&](std::size_t position) -> const NdArray& {
    return *graph.value(node.inputs[position]).constant;
  };
  const std::string stem = node.name + "/projection";
  const ValueId weights = constant("W", turned(given(from.weights), First::column));
  ValueId projected = insert(graph, "MatMul", stem, {node.inputs[0], weights}, {}, node.origins);
  if (has_bias) {
    const ValueId bias = constant("B", summed_bias(given(from.bias), *known));
    projected = insert(graph, "Add", stem, {projected, bias}, {}, node.origins);
  }
  const RecurrentForm& target = projected_form(form->cell);
  const ops::RecurrentPlaces to = ops::recurrent_places(target);
  std::vector<ValueId> inputs(to.peepholes + 1);
  inputs[to.input] = projected;
  inputs[to.recurrence] = constant("R", turned(given(from.recurrence), First::direction));
  if (has_bias && form->cell == ops::Cell::gru && known->reset_after)
    inputs[to.inner_bias] = constant("Rbh", inner_bias(given(from.bias), *known));
  for (const auto part : {&ops::RecurrentPlaces::lengths, &ops::RecurrentPlaces::hidden, &ops::RecurrentPlaces::cell,
                          &ops::RecurrentPlaces::peepholes})
    if (has_input(node, from.*part)) inputs[to.*part] = node.inputs[from.*part];
  while (!inputs.back().valid()) inputs.pop_back();
  DOVETAIL_CHECK(become(graph, id, target.op, std::move(inputs), node.attributes),
                 fmt::format("{} must accept the operands of {}", target.op, node.op));
  return true;
}

}  // namespace

Result<PassOutcome> split_recurrent(graph::Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order())
    if (split(graph, id, context.level)) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes
