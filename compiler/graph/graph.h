// The graph IR: typed SSA values and nodes with static shapes. The graph is independent of operators: a node's type is
// a name, its semantics is that name's row in compiler/ops. Import yields ONNX operators; lower_qdq turns quantized
// ones into the integer operators of docs/reference/quantization.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/index.h"

namespace dovetail::graph {

struct TensorType {
  DType dtype = DType::float32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "float32[1, 10]"

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>, NdArray>;
using Attributes = std::map<std::string, Attribute>;

struct Value {
  std::string name;  // unique in the graph; never changed
  TensorType type;
  std::optional<NdArray> constant;  // initializers and folded values, frozen
  NodeId producer;                  // invalid for graph inputs and constants
};

class Graph;

struct Node {
  std::string name;             // unique; the ONNX node's name, or made from its type and first output
  std::string op;               // "Conv", "dovetail.qconv", ...
  std::vector<ValueId> inputs;  // an invalid id is an omitted optional input
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::vector<std::string> origins;  // names of the imported nodes that this one represents, for reports and traces
  bool removed = false;              // kept so that ids stay valid until compact()
  // Graphs that a control-flow node runs (dovetail.if, dovetail.loop); they see only their inputs. The operator defines
  // which operands these are (compiler/ops/control_flow.h).
  std::vector<std::shared_ptr<const Graph>> subgraphs = {};
};
// Maximum nesting of subgraphs; the outermost graph is not counted.
inline constexpr int kMostNested = 8;

// Access to a node for modification; the destructor updates the graph's index. The node is looked up again at every
// use, so nodes may be added meanwhile.
class NodeEdit {
 public:
  NodeEdit(Graph& graph, NodeId id);
  NodeEdit(const NodeEdit&) = delete;
  NodeEdit& operator=(const NodeEdit&) = delete;
  ~NodeEdit();
  Node& operator*() const;
  Node* operator->() const { return &**this; }

 private:
  Graph& graph_;
  NodeId id_;
};

// The extent of an output along an axis if that extent depends on values: the output has the upper bound, and only the
// first `extent` elements are valid. Both are outputs of the graph, identified by their names, which no pass changes.
struct OutputExtent {
  std::string output;
  std::int64_t axis = 0;
  std::string extent;  // int64[1]
  bool operator==(const OutputExtent&) const = default;
};

class Graph {
 public:
  std::string name;
  ReadOnly<Value> values;
  ReadOnly<Node> nodes;  // any order; topological_order() gives execution order
  std::vector<ValueId> inputs;
  Outputs outputs;
  std::vector<OutputExtent> extents;
  // No region has nodes of two unconnected parts: each part is a separate program, from memory to memory.
  bool apart = false;

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id.index)]; }
  Value& value(ValueId id) { return values.items_[static_cast<std::size_t>(id.index)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id.index)]; }
  NodeEdit edit(NodeId id) { return {*this, id}; }
  bool is_constant(ValueId id) const { return id.valid() && value(id).constant.has_value(); }

  // An unused name: `stem`, or `stem_2`, ...
  std::string unique_value_name(std::string_view stem) const;
  std::string unique_node_name(std::string_view stem) const;
  ValueId add_value(std::string_view stem, TensorType type);
  ValueId add_constant(std::string_view stem, NdArray array);
  ValueId add_value_as_is(Value value);  // keeps its own name, unique or not: parsers report duplicates through verify
  // Creates the node and sets the producer of its outputs.
  NodeId add_node(Node node);
  void remove_node(NodeId id);                  // its outputs lose their producer
  void replace_uses(ValueId from, ValueId to);  // in all nodes and graph outputs

  // Queries for users, names and outputs take time proportional to the result, regardless of the graph's size.
  std::vector<NodeId> users(ValueId id) const;                    // live nodes, without duplicates, in node order
  std::size_t count_reads(ValueId id, std::size_t enough) const;  // operands of live nodes; stops counting at `enough`
  bool is_output(ValueId id) const { return outputs.contains(id); }
  std::vector<NodeId> live_nodes() const;
  std::vector<NodeId> topological_order()
      const;  // live nodes; stable: node order where free. Precondition: acyclic (verify)
  std::optional<ValueId> find_value(std::string_view name) const;
  std::optional<NodeId> find_node(std::string_view name) const;
  void compact();  // drops removed nodes and unused values; renumbers

 private:
  friend class NodeEdit;
  bool reads(NodeId node, ValueId value) const;
  const GraphIndex& index() const;  // up to date

  mutable GraphIndex index_;
  std::vector<NodeId> open_edits_;
};

// Acyclic, ids in range, producers consistent, names unique, types of constants right. Operator rules are checked by
// ops::infer.
Result<void> verify(const Graph& graph);
// One line per node: "%y: int8[1,16,8,8] = Conv(%x, %w) {strides=[1,1]}  // conv1". compiler/graph/parse.h reads it.
enum class Elements { few, all };  // of large constants
std::string to_string(const Graph& graph, Elements shown = Elements::few);

// Typed access to attributes; the default if absent. InternalError if the attribute has another kind (checked by infer
// before).
std::int64_t int_attribute(const Node& node, std::string_view name, std::int64_t fallback);
double float_attribute(const Node& node, std::string_view name, double fallback);
std::string string_attribute(const Node& node, std::string_view name, std::string_view fallback);
std::vector<std::int64_t> ints_attribute(const Node& node, std::string_view name, std::vector<std::int64_t> fallback);

}  // namespace dovetail::graph
