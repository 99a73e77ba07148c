// What the rules of lower_qdq share: how they read quantization parameters off the graph, and how they put an integer
// node in place of a float operator and its QuantizeLinear.
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

// A constant int8 tensor with a scale and a zero point per slice of `axis` (expanded where the model has one for all).
struct Weight {
  NdArray steps;  // int8
  std::vector<float> scales;
  std::vector<int> zero_points;
  bool has_zero_points() const;
};

// Where a rule's result goes: the value of a QuantizeLinear, seen as int8.
struct Target {
  NodeId quantize;
  ValueId output;
  Quantization q;
  Range range;                      // from Relu and Clip before the QuantizeLinear
  std::vector<NodeId> float_nodes;  // what is between the operator and the QuantizeLinear, result first
};

// Why a rule does not apply; "" where it did.
using Refusal = std::string;

struct Lowering {
  Graph& graph;
  const PassContext& context;
  PassOutcome outcome;
  std::map<std::string, Refusal> refusals;  // by node name
  std::set<std::string> kept_float;  // operators whose float result still had users when their integer form was placed
  std::set<ValueId> fresh;           // int8 values made here, whose names nobody knows

  // Per-tensor parameters of a QuantizeLinear or DequantizeLinear; nothing where they are not constants, not per
  // tensor, or of another type than int8 and uint8.
  std::optional<Quantization> parameters(const Node& node) const;
  // Why there are none.
  Refusal why_no_parameters(const Node& node) const;
  // The int8 value after a float value, where a DequantizeLinear with per-tensor parameters is between. A constant
  // uint8 gets an int8 twin.
  std::optional<Operand> dequantized(ValueId value);
  // The weight after a float value; `axis` is where its scales may vary. Else the reason.
  Refusal read_weight(ValueId value, std::int64_t axis, Weight& weight) const;

  // Puts `node` (no name, outputs and origins yet) in place of `op`, of the float nodes that nobody else uses and of
  // the QuantizeLinear. Its output is the target's. Returns why the operator refuses the node, with the graph as it
  // was.
  Refusal place(Node node, NodeId op, const Target& target);
  // A new node on int8 values with one separate output; its name and origins come from `op`. Nothing where the
  // operator refuses it.
  std::optional<ValueId> add(Node node, NodeId op, std::string_view stem, Refusal& refusal);
  // DequantizeLinear to `output`, which has no producer.
  void dequantize_to(ValueId output, const Operand& operand, NodeId op);
  ValueId int8_constant(std::string_view stem, NdArray array) { return graph.add_constant(stem, std::move(array)); }

  // qadd of `x` and zero: x in the steps of `q`.
  Node rescale(const Operand& x, const Quantization& q, Range range, std::string_view stem, Refusal& refusal);
};

// y_zero_point, y_min, y_max.
void set_output(Node& node, const Quantization& q, Range range);

// The rules. Each lowers `op` (of the name in compiler/passes/lower_qdq.cpp) whose result reaches the target.
Refusal lower_convolution(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_matrix_product(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_addition(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_scaling(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_average(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_product(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_reduction(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_selection(Lowering& lowering, NodeId op, const Target& target);
Refusal lower_padding(Lowering& lowering, NodeId op, const Target& target);

// Whatever reaches the target and is a function of one int8 tensor, place by place, becomes a table.
Refusal lower_to_table(Lowering& lowering, const Target& target);
bool is_pointwise(std::string_view op);  // its result at a place depends on its operands at that place alone
// Tables, sums and products of tables of one tensor become one table. Precondition: no dead nodes.
void compose_tables(Lowering& lowering);

// A constant number, quantized or positive: what lower_scaling multiplies by.
bool is_one_constant(Lowering& lowering, ValueId value);
// The sums over windows of `kernel` of [N, C, spatial...], over `divisor`: a dovetail.qconv without window attributes.
Refusal sum_windows(Lowering& lowering, NodeId op, const Operand& x, const std::vector<std::int64_t>& kernel,
                    double divisor, const Target& target, Node& node);

// Convolution or matrix product followed by an Add of a constant: the constant joins the bias. `extra` is that
// constant.
Refusal lower_convolution_with(Lowering& lowering, NodeId op, const Target& target, ValueId extra);
Refusal lower_matrix_product_with(Lowering& lowering, NodeId op, const Target& target, ValueId extra);

// bias[o] in steps of sx * sw[o] and the check that the accumulators fit int32. `shape_ok` has been checked by the
// caller: one value, or one per channel.
struct Accumulation {
  NdArray bias;   // int32 [O]
  NdArray scale;  // float32 [O]
};
// `biases`: constants that add up (float, or after a DequantizeLinear); each holds one value or O. `multiplier`: of
// the scale (Gemm's alpha).
Refusal accumulate(const Lowering& lowering, const Operand& x, const Weight& weight, const std::vector<ValueId>& biases,
                   const Quantization& y, Accumulation& result);

// Operators that only move values, and Relu and Clip: op(DequantizeLinear(x)) becomes DequantizeLinear(op(x)), exactly.
Refusal move_values(Lowering& lowering, NodeId op);
bool moves_values(std::string_view op);
Refusal clip_steps(Lowering& lowering, NodeId op);
// ArgMax and ArgMin: scaling keeps the order.
Refusal order_steps(Lowering& lowering, NodeId op);
// Evaluates an operator that moves the elements of a constant weight with a scale per slice; the scales move along.
// nullopt where `op` is not such an operator.
std::optional<Refusal> move_weight(Lowering& lowering, NodeId op);
// Bounds of a Relu or Clip; nullopt where they are not constants, or are NaN.
std::optional<std::pair<float, float>> clip_bounds(const Graph& graph, const Node& node);

// uint8 activations become int8 with dovetail.recenter at the border.
void recenter_activations(Lowering& lowering);

}  // namespace dovetail::passes::qdq
