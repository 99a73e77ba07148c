// Replaces a Split of int8 values by a Slice for each of its results, for targets whose operations have one result. On
// the accelerator, Slices that begin at multiples of a channel block are only addresses.
#include <utility>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

Result<PassOutcome> split_to_slices(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order()) {
    const graph::Node split = graph.node(id);
    if (split.op != "Split" || graph.value(split.inputs[0]).type.dtype != DType::int8) continue;
    std::vector<graph::TensorType> types;
    for (const ValueId part : split.outputs) types.push_back(graph.value(part).type);
    const auto rank = static_cast<std::int64_t>(types[0].shape.size());
    const std::int64_t written = graph::int_attribute(split, "axis", 0), axis = written < 0 ? written + rank : written;
    graph.remove_node(id);
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < split.outputs.size(); ++k) {
      const std::int64_t end = begin + types[k].shape[static_cast<std::size_t>(axis)];
      graph::Node slice;
      slice.name = graph.unique_node_name(split.name + "/part");
      slice.op = "Slice";
      slice.inputs = {split.inputs[0], add_integers(graph, slice.name + "/starts", {begin}),
                      add_integers(graph, slice.name + "/ends", {end}),
                      add_integers(graph, slice.name + "/axes", {axis})};
      slice.outputs = {split.outputs[k]};
      slice.origins = split.origins;
      graph.value(split.outputs[k]).type = types[k];
      graph.add_node(std::move(slice));
      begin = end;
    }
    ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes
