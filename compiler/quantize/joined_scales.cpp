#include "compiler/quantize/joined_scales.h"

#include <algorithm>

namespace dovetail::quantize {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// Four bits: a signal-to-noise ratio of 20 to 25 dB.
constexpr double kLeastSteps = 16;

// Whether all readers of the value only move it until it is an output of the model.
bool is_only_shown(const Graph& graph, const Places& places, ValueId value) {
  const std::vector<NodeId> users = graph.users(value);
  if (users.empty()) return graph.is_output(value);
  return std::ranges::all_of(users, [&](NodeId user) {
    const graph::Node& node = graph.node(user);
    return std::ranges::all_of(node.outputs, [&](ValueId output) {
      return places.same_as.contains(output) && places.same_as.at(output) == value &&
             is_only_shown(graph, places, output);
    });
  });
}

}  // namespace

std::vector<LostPart> find_lost_parts(const Graph& graph, const Places& places,
                                      const std::map<ValueId, Observation>& observations,
                                      const std::map<ValueId, passes::qdq::Quantization>& ranges) {
  std::vector<LostPart> lost;
  for (const NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    if (node.op != "Concat") continue;
    const auto joined = ranges.find(node.outputs[0]);
    if (joined == ranges.end()) continue;
    const auto rank = static_cast<std::int64_t>(graph.value(node.outputs[0]).type.shape.size());
    const std::int64_t given = graph::int_attribute(node, "axis", 0), axis = given < 0 ? given + rank : given;
    std::int64_t begin = 0;
    for (const ValueId operand : node.inputs) {
      const std::int64_t end = begin + graph.value(operand).type.shape[static_cast<std::size_t>(axis)];
      ValueId source = operand;
      while (places.same_as.contains(source)) source = places.same_as.at(source);
      if (const auto seen = observations.find(source); seen != observations.end()) {
        const double least = seen->second.least(), greatest = seen->second.greatest(),
                     range = std::max(greatest, 0.0) - std::min(least, 0.0),
                     steps = range / static_cast<double>(joined->second.scale);
        if (range > 0 && steps < kLeastSteps)
          lost.push_back({node.name, graph.value(operand).name, axis, begin, end, least, greatest, steps,
                          is_only_shown(graph, places, node.outputs[0])});
      }
      begin = end;
    }
  }
  return lost;
}

}  // namespace dovetail::quantize
