// Functions that the rules of lower_qdq share: they read quantization parameters from the graph, and replace a float
// operator and its QuantizeLinear by an integer node.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/qdq/arithmetic.h"

namespace dovetail::passes::qdq {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// An int8 value and its meaning.
struct Operand {
  ValueId value;
  Quantization q;
};

// A constant int8 tensor with a scale and a zero point per slice of `axis` (repeated if the model has one for all
// slices).
struct Weight {
  NdArray steps;  // int8
  std::vector<float> scales;
  std::vector<int> zero_points;
  bool has_zero_points() const;
};

// The destination of a rule's result: the value of a QuantizeLinear, as int8.
struct Target {
  NodeId quantize;
  ValueId output;
  Quantization q;
  Range range;                      // from Relu and Clip before the QuantizeLinear
  std::vector<NodeId> float_nodes;  // the nodes between the operator and the QuantizeLinear, result first
};

// Why a rule does not apply; "" if it was applied.
using Refusal = std::string;

struct Lowering {
  Graph& graph;
  const PassContext& context;
  PassOutcome outcome;
  std::map<std::string, Refusal> refusals;  // by node name
  std::set<std::string> kept_float;  // operators whose float result still had users when their integer node was placed
  std::set<ValueId> fresh;           // int8 values made here, whose names may change

  // Per-tensor parameters of a QuantizeLinear or DequantizeLinear; nullopt if they are not constant, not per tensor, or
  // for another type than int8 and uint8.
  std::optional<Quantization> parameters(const Node& node) const;
  // Why parameters() returns nullopt.
  Refusal why_no_parameters(const Node& node) const;
  // The int8 value from which a DequantizeLinear with per-tensor parameters computes a float value. A constant uint8
  // gets an int8 copy.
  std::optional<Operand> dequantized(ValueId value);
  // The quantized weight of a float value, whose scales may vary along `axis`. Returns why there is none.
  Refusal read_weight(ValueId value, std::int64_t axis, Weight& weight) const;

  // Replaces `op`, the float nodes without other users, and the QuantizeLinear by `node` (without name, outputs and
  // origins yet), whose output is the target's. If the operator rejects the node, returns the reason and leaves the
  // graph unchanged.
  Refusal place(Node node, NodeId op, const Target& target);
  // Adds a node on int8 values with one new output; its name and origins come from `op`. nullopt if the operator
  // rejects the node.
  std::optional<ValueId> add(Node node, NodeId op, std::string_view stem, Refusal& refusal);
  // Adds a DequantizeLinear that computes `output`, which has no producer.
  void dequantize_to(ValueId output, const Operand& operand, NodeId op);
  ValueId int8_constant(std::string_view stem, NdArray array) { return graph.add_constant(stem, std::move(array)); }

  // A qadd of `x` and zero, which converts x to the scale and zero point of `q`.
  Node rescale(const Operand& x, const Quantization& q, Range range, std::string_view stem, Refusal& refusal);
};

// Sets the attributes y_zero_point, y_min, y_max.
void set_output(Node& node, const Quantization& q, Range range);

// The rules. Each lowers `op` (an operator of its row in compiler/passes/lower_qdq.cpp) whose result reaches the
// target.
Refusal lower_convolution(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_matrix_product(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_addition(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_scaling(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_average(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_product(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_reduction(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_selection(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_padding(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_softmax(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_normalization(Lowering& lowering, NodeId op, const Target& target);

// The real values, in binary64, of a constant or of a DequantizeLinear of constants; nullopt for any other value.
std::optional<NdArray> constant_reals(const Graph& graph, ValueId value);

// Turns an elementwise function of one int8 tensor whose result reaches the target into a table.
Refusal lower_to_table(Lowering& lowering, const Target& target);
bool is_pointwise(std::string_view op);  // each element depends only on the same element of its operands
// Tables, sums and products of tables of one tensor become one table. Precondition: no dead nodes.
void compose_tables(Lowering& lowering);

// Whether the value is a constant number, quantized or positive, by which lower_scaling can multiply.
bool is_one_constant(Lowering& lowering, ValueId value);
// The sums over windows of `kernel` of [N, C, spatial...], divided by `divisor`: a dovetail.qconv without window
// attributes.
Refusal sum_windows(Lowering& lowering, NodeId op, const Operand& x, const std::vector<std::int64_t>& kernel,
                    double divisor, const Target& target, Node& node);

// Convolution or matrix product followed by an Add of a constant: the constant joins the bias. `extra` is that
// constant.
Refusal lower_convolution_with(Lowering& lowering, NodeId op, const Target& target, ValueId extra);
Refusal lower_matrix_product_with(Lowering& lowering, NodeId op, const Target& target, ValueId extra);

// bias[o] in steps of sx * sw[o], and the check that the accumulators fit int32. The caller has checked the shape of
// the bias: one value, or one per channel.
struct Accumulation {
  NdArray bias;   // int32 [O]
  NdArray scale;  // float32 [O]
};
// `biases`: constants that add up (float, or after a DequantizeLinear); each has one value or O. `multiplier`: a
// factor of the scale (Gemm's alpha).
Refusal accumulate(const Lowering& lowering, const Operand& x, const Weight& weight, const std::vector<ValueId>& biases,
                   const Quantization& y, Accumulation& result);

// Operators that only move values, and Relu and Clip: op(DequantizeLinear(x)) becomes DequantizeLinear(op(x)), exactly.
Refusal move_values(Lowering& lowering, NodeId op);
// How many of the first inputs are moved; 0: another operator.
std::size_t moved_inputs(const Node& node);
Refusal clip_steps(Lowering& lowering, NodeId op);
// ArgMax and ArgMin read steps, since scaling keeps the order.
Refusal order_steps(Lowering& lowering, NodeId op);
// Evaluates an operator that moves the elements of a constant weight with a scale per slice; the scales move with their
// slices. nullopt if `op` is not such an operator.
std::optional<Refusal> move_weight(Lowering& lowering, NodeId op);
// Bounds of a Relu or Clip; nullopt if they are not constants, or are NaN.
std::optional<std::pair<float, float>> clip_bounds(const Graph& graph, const Node& node);

// Rewrites the float nodes before QuantizeLinears to forms that have integer rules; returns the number of changes.
std::int64_t simplify_real_parts(Graph& graph);

// Turns uint8 activations into int8, with dovetail.recenter where uint8 values remain.
void recenter_activations(Lowering& lowering);

}  // namespace dovetail::passes::qdq
