// What the compiler knows of an operator: one row per operator, made in the operator's file; list.h lists the files.
// docs/howto/adding-an-operator.md leads through a new one.
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
  complex_out_fusable,  // convolution, matmul, pooling: elementwise operators may be fused behind it
  opaque,               // everything else
};

// What an injective operator does with the places of its first input's elements, where fusion has a rule of its own for
// it. Without one the shapes decide: an input of the result's shape is read at the place of each element that is
// computed, any other one is broadcast.
enum class Movement : std::uint8_t {
  none,
  reshapes,    // the elements in the same row-major order: nothing to compute where both lie as the model has them.
               // Nothing is computed in front, inside its loops
  rearranges,  // a choice of the elements in another order (Transpose, Slice): joins behind elementwise nodes, but is
               // not computed inside the loops of what reads it, nor anything inside its own
  pads,        // the elements with others around them: nothing is computed in front, inside its loops
  joins,       // elements of several inputs side by side (Concat): its loops choose among values of all of them. It is
               // not computed inside the loops of what reads it, nor anything inside its own
};

// A node as an operator's functions see it: types of all inputs, and values where the inputs are constants (a Reshape's
// shape, say).
struct Operands {
  const graph::Graph& graph;
  const graph::Node& node;

  std::size_t count() const { return node.inputs.size(); }
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i].valid(); }
  const graph::TensorType& type(std::size_t i) const { return graph.value(node.inputs[i]).type; }
  const NdArray* constant(std::size_t i) const {  // null where absent or not constant
    return has(i) && graph.value(node.inputs[i]).constant ? &*graph.value(node.inputs[i]).constant : nullptr;
  }
  const graph::TensorType& output(std::size_t i) const { return graph.value(node.outputs[i]).type; }
};

using Types = std::vector<graph::TensorType>;

struct OpDef {
  std::string_view op;  // Node::op
  Category category;
  // Types of the outputs from the operands' types; checks what the signature cannot say. Diagnostics name the node and
  // the rule.
  Result<Types> (*infer)(const Operands& operands);
  // The naive loop program. Parameters: the node's present inputs in order (constants as ParameterRole::constant unless
  // their value is only needed at compile time, see `compile_time_inputs`), then outputs; buffers are named "in<i>" and
  // "out<i>" by operand position. Precondition: infer succeeded.
  Result<loops::Program> (*define)(const Operands& operands);
  // Positions of inputs whose values must be constants and that are not parameters of the program (Reshape's shape,
  // Slice's starts, ...).
  std::vector<int> compile_time_inputs = {};
  // Arity, dtypes and attributes, checked before `infer` runs: an input or attribute that is not listed is refused,
  // never ignored.
  Signature signature = {};
  Movement movement = Movement::none;
  // An opaque operator that reads its first input in several passes of reductions along rows (Softmax): cheap
  // elementwise nodes may be computed in front, inside its loops, again in each pass, as in front of a reduction.
  bool takes_prologue = false;
  // Converts between real numbers and the steps of a quantized tensor: lowering takes the node into the integer form of
  // its neighbors.
  bool quantizes = false;
  // Operators whose results have as many elements as values of their operands say (NonZero): no program can, as shapes
  // are static, so every input is needed at compile time, and the results are computed then. Import puts them in the
  // node's place. Precondition: infer succeeded.
  Result<std::vector<NdArray>> (*evaluate)(const Operands& operands) = nullptr;
};

// All operators, sorted by name. `find` returns null where unknown.
std::span<const OpDef> all();
const OpDef* find(std::string_view op);

// Checks the node against its row, re-infers its outputs and writes the types into the graph (untouched on error).
Result<void> infer(graph::Graph& graph, graph::NodeId node);
// The naive loop program of a node; error for unknown operators.
Result<loops::Program> define(const graph::Graph& graph, graph::NodeId node);

}  // namespace dovetail::ops
