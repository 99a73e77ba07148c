// The compiler's description of an operator: one row per operator, defined in the operator's file; list.h lists the
// files. docs/howto/adding-an-operator.md explains how to add one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/signature.h"
#include "loops/ir.h"

namespace dovetail::ops {

// How an operator may be fused (compiler/fuse).
enum class Category : std::uint8_t {
  injective,            // each output element reads at most one element of each input: elementwise, broadcast, reshape,
                        // transpose, pad
  reduction,            // a commutative reduction over axes of its input
  complex_out_fusable,  // convolution, matmul, pooling: elementwise operators may be fused after it
  opaque,               // everything else
};

// How an injective operator moves the elements of its first input, for operators that fusion has a special rule for.
// Without one, shapes decide: an input with the result's shape is read at the index of the computed element, any other
// input is broadcast.
enum class Movement : std::uint8_t {
  none,
  reshapes,    // the elements in the same row-major order: nothing to compute if both have the model's layout. No
               // producer is computed inside its loops
  rearranges,  // a selection of the elements in another order (Transpose, Slice): fused after elementwise nodes, but
               // neither computed inside the loops of its consumer, nor is its producer computed inside its loops
  pads,        // the elements surrounded by others: no producer is computed inside its loops
  joins,       // elements of several inputs, concatenated (Concat): its loops select among values of all of them.
               // Neither computed inside the loops of its consumer, nor is its producer computed inside its loops
};

// A node as an operator's functions see it: types of all inputs, and values of constant inputs (for example a Reshape's
// shape).
struct Operands {
  const graph::Graph& graph;
  const graph::Node& node;

  std::size_t count() const { return node.inputs.size(); }
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i].valid(); }
  const graph::TensorType& type(std::size_t i) const { return graph.value(node.inputs[i]).type; }
  const NdArray* constant(std::size_t i) const {  // null if absent or not constant
    return has(i) && graph.value(node.inputs[i]).constant ? &*graph.value(node.inputs[i]).constant : nullptr;
  }
  const graph::TensorType& output(std::size_t i) const { return graph.value(node.outputs[i]).type; }
};

using Types = std::vector<graph::TensorType>;

struct OpDef {
  std::string_view op;  // Node::op
  Category category;
  // Infers the types of the outputs; checks what the signature cannot express. Diagnostics name the node and the rule.
  Result<Types> (*infer)(const Operands& operands);
  // The naive loop program. Parameters: the node's present inputs in order (constants as ParameterRole::constant unless
  // their value is only needed at compile time, see `compile_time_inputs`), then outputs; buffers are named "in<i>" and
  // "out<i>" by operand position. Precondition: infer succeeded.
  Result<loops::Program> (*define)(const Operands& operands);
  // Positions of inputs whose values must be constants and that are not parameters of the program (Reshape's shape,
  // Slice's starts, ...).
  std::vector<int> compile_time_inputs = {};
  // Arity, dtypes and attributes, checked before `infer` runs: an input or attribute that is not listed is an error,
  // never ignored.
  Signature signature = {};
  Movement movement = Movement::none;
  // An opaque operator that reads its first input in several passes of reductions along rows (Softmax): cheap
  // elementwise producers may be computed inside its loops, once per pass, as for a reduction.
  bool takes_prologue = false;
  // Converts between real numbers and quantized steps: lowering includes the node in the integer form of its neighbors.
  bool quantizes = false;
  // For operators whose number of result elements depends on data (NonZero): no program can compute them, since shapes
  // are static, so every input is needed at compile time, and import replaces the node by its results. Precondition:
  // infer succeeded.
  Result<std::vector<NdArray>> (*evaluate)(const Operands& operands) = nullptr;
};

// All operators, sorted by name. `find` returns null for an unknown operator.
std::span<const OpDef> all();
const OpDef* find(std::string_view op);

// Checks the node with its row, infers its outputs again and writes the types into the graph (unchanged on error).
Result<void> infer(graph::Graph& graph, graph::NodeId node);
// The naive loop program of a node; error for unknown operators.
Result<loops::Program> define(const graph::Graph& graph, graph::NodeId node);

}  // namespace dovetail::ops
