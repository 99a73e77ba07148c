// Folds a Pad into the padding of the following convolution or pool, for floats and integers. The pad value must be 0
// or the zero point for convolutions; 0 for averages that count pads; and for a maximum the least value of the type, or
// a value that no element is less than.
#include <algorithm>
#include <cmath>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"
#include "loops/integer.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

// Whether no element is less than the bound, by the node that computes the elements. Integer operators have the least
// of their results as an attribute: with a ReLU it is their zero point.
bool never_below(const Graph& graph, ValueId value, double bound) {
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid()) return false;
  const graph::Node& node = graph.node(producer);
  if (node.op == "Clip") return has_input(node, 1) && uniform(graph, node.inputs[1]).value_or(-INFINITY) >= bound;
  if (node.attributes.contains("y_min")) return static_cast<double>(graph::int_attribute(node, "y_min", 0)) >= bound;
  return bound <= 0 && (node.op == "Relu" || node.op == "Sigmoid" || node.op == "Abs" || node.op == "Exp");
}

// The maximum over no elements.
double least_of(DType dtype) { return is_floating(dtype) ? -INFINITY : static_cast<double>(loops::type_min(dtype)); }

bool fold(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  const bool convolves = node.op == "Conv" || node.op == "dovetail.qconv";
  if (!convolves && node.op != "MaxPool" && node.op != "AveragePool") return false;
  if (node.outputs.size() != 1 || graph::int_attribute(node, "ceil_mode", 0) != 0) return false;
  const auto pad_id = produced_by(graph, node.inputs[0], "Pad");
  if (!pad_id) return false;
  const graph::Node pad = graph.node(*pad_id);
  const std::string auto_pad = graph::string_attribute(node, "auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return false;
  const auto pads = constant_pads(graph, pad);
  if (!pads || std::any_of(pads->begin(), pads->end(), [](std::int64_t n) { return n < 0; })) return false;
  const std::size_t rank = pads->size() / 2, spatial = rank - 2;
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}})
    if ((*pads)[axis] != 0 || (*pads)[axis + rank] != 0) return false;
  Ints own = graph::ints_attribute(node, "pads", Ints(2 * spatial, 0));
  if (own.size() != 2 * spatial) return false;
  const bool padded = std::any_of(own.begin(), own.end(), [](std::int64_t n) { return n != 0; });

  const double value = has_input(pad, 2) ? uniform(graph, pad.inputs[2]).value_or(NAN) : 0.0;
  graph::Attributes attributes = node.attributes;
  // Convolutions pad with the zero point; float convolutions with 0.
  if (convolves && value != static_cast<double>(graph::int_attribute(node, "x_zero_point", 0))) return false;
  if (node.op == "MaxPool" && value != least_of(graph.value(pad.inputs[0]).type.dtype) &&
      !never_below(graph, pad.inputs[0], value))
    return false;
  if (node.op == "AveragePool") {
    // count_include_pad applies to all pads of the node: its own and the folded ones.
    if (value != 0 || (padded && graph::int_attribute(node, "count_include_pad", 0) == 0)) return false;
    attributes["count_include_pad"] = std::int64_t{1};
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    own[i] += (*pads)[i + 2];
    own[i + spatial] += (*pads)[i + 2 + rank];
  }
  attributes.erase("auto_pad");
  attributes["pads"] = own;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pad.inputs[0];
  return become(graph, id, node.op, inputs, attributes, {*pad_id});
}

}  // namespace

Result<PassOutcome> fold_pads(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order())
    if (!graph.node(id).removed && fold(graph, id)) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes
