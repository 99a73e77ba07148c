#include "tests/fuzz/compiler/graphs/random_graph.h"

#include <algorithm>

#include "compiler/export/onnx.h"
#include "compiler/export/opset.h"
#include "compiler/ops/op.h"
#include "tests/fuzz/compiler/graphs/older_forms.h"
#include "tests/generator_graphs/evil_values.h"
#include "tests/generator_graphs/random_node.h"
#include "tests/property/compiler/passes/drawn_patterns.h"

namespace dovetail::test {
namespace {

using graph::Graph;
using graph::ValueId;

constexpr int kMostNodes = 6;
constexpr int kTries = 60;                    // draws of one operator's operands; it refuses most of them
constexpr std::int64_t kMostElements = 4096;  // of a value

std::vector<const ops::OpDef*> operators_of_onnx() {
  std::vector<const ops::OpDef*> list;
  for (const ops::OpDef& def : ops::all())
    if (def.op.find('.') == std::string_view::npos) list.push_back(&def);
  return list;
}

bool small(const Graph& graph) {
  return std::ranges::all_of(graph.outputs,
                             [&](ValueId id) { return element_count(graph.value(id).type.shape) <= kMostElements; });
}

// Adds one more node, of an operator that accepts the drawn operands.
void grow(Graph& graph, Draw& draw, const std::vector<const ops::OpDef*>& operators, int number) {
  std::vector<ValueId> offered = graph.inputs;
  for (const graph::NodeId id : graph.live_nodes())
    offered.insert(offered.end(), graph.node(id).outputs.begin(), graph.node(id).outputs.end());
  while (true) {
    const ops::OpDef& def = *draw.one_of(operators);
    for (int i = 0; i < kTries; ++i) {
      RandomNode node(def, static_cast<std::uint64_t>(draw.between(0, INT64_MAX)), {1, 2, 3, 4});
      node.offer(offered);
      Graph larger = graph;
      if (!node.add_to(larger, fmt::format("n{}", number)) || !small(larger)) continue;
      graph = std::move(larger);
      return;
    }
  }
}

Graph of_operators(Draw& draw, std::uint64_t seed) {
  static const std::vector<const ops::OpDef*> kOperators = operators_of_onnx();
  Graph graph;
  graph.name = fmt::format("random{}", seed);
  const auto nodes = static_cast<int>(draw.between(1, kMostNodes));
  for (int i = 0; i < nodes; ++i) grow(graph, draw, kOperators, i);
  // Values without readers, and sometimes values with readers.
  std::vector<ValueId> outputs;
  for (const ValueId id : graph.outputs)
    if (graph.users(id).empty() || draw.one_in(4)) outputs.push_back(id);
  graph.outputs = outputs;
  return graph;
}

bool is_data(const Graph& graph, ValueId value) {
  for (const graph::NodeId id : graph.users(value)) {
    const graph::Node& node = graph.node(id);
    const std::vector<int>& needed = ops::find(node.op)->compile_time_inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == value && std::ranges::find(needed, static_cast<int>(i)) != needed.end()) return false;
  }
  return true;
}

// Constants are as evil as inputs, where the node reads them as data.
void spoil_constants(Graph& graph, Draw& draw, Temper temper) {
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId id{static_cast<std::int32_t>(i)};
    if (!graph.is_constant(id) || !is_floating(graph.value(id).type.dtype) || !is_data(graph, id)) continue;
    NdArray& array = *graph.value(id).constant;
    for (std::int64_t k = 0; k < array.count(); ++k)
      if (draw.one_in(8)) draw_value(draw, temper, array, k);
  }
}

}  // namespace

FuzzGraph random_graph(std::uint64_t seed) {
  Draw draw(seed);
  const Temper temper = draw.one_of(std::vector{Temper::plain, Temper::plain, Temper::mixed, Temper::evil});
  FuzzGraph made;
  if (seed % 3 == 0) {
    Pattern pattern = make_pattern(static_cast<int>(seed / 3));
    made.step = pattern.step;
    made.graph = std::move(pattern.graph);
  } else {
    made.graph = of_operators(draw, seed);
    if (temper != Temper::plain && draw.coin()) spoil_constants(made.graph, draw, temper);
  }
  for (const ValueId id : made.graph.inputs) {
    const graph::Value& value = made.graph.value(id);
    // Evil integers are usually invalid indices: only sometimes.
    const bool spared = !is_floating(value.type.dtype) && !draw.one_in(4);
    made.inputs.emplace(value.name,
                        draw_array(draw, spared ? Temper::plain : temper, value.type.dtype, value.type.shape));
  }
  made.opset = draw.between(7, 21);  // those whose forms older_forms.h knows
  if (const std::int64_t newest = exported_opset(made.graph); newest > 21) made.opset = newest;
  for (auto file = file_of_opset(made.graph, made.opset);; file = file_of_opset(made.graph, ++made.opset)) {
    if (!file) continue;
    made.file = *std::move(file);
    return made;
  }
}

}  // namespace dovetail::test
