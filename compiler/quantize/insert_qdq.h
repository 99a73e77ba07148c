// Chooses where a float graph is quantized, and inserts QuantizeLinear and DequantizeLinear there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/passes/qdq/arithmetic.h"
#include "compiler/quantize/ranges.h"

namespace dovetail::quantize {

// The places to quantize: activations that become int8.
struct Places {
  std::vector<graph::ValueId> observed;              // need a separate range
  std::map<graph::ValueId, graph::ValueId> same_as;  // moved values: share the steps of another value
  // For each value of `observed` except inputs: the node that computes it, and the following nodes of the same place.
  std::map<graph::ValueId, graph::NodeId> made_by;
  std::set<graph::NodeId> factors;  // products, whose constants of several numbers are int8, too
  std::vector<std::pair<std::string, std::string>> float_nodes;  // name and operator of nodes that stay float
};

// The places: values to be quantized. They are inputs and results of convolutions, matrix products, sums, products,
// averages, concatenations and unary functions, and of operators that move such values. A convolution or product
// together with a following sum with a constant, ReLU or Clip is one place, and so is a function of one tensor
// (functions.h). `kept`: nodes that must stay float.
Places find_places(const graph::Graph& graph, const std::vector<std::string>& kept);

enum class WeightScales : std::uint8_t { per_tensor, per_channel };
struct WeightGrid {
  WeightScales scales = WeightScales::per_channel;
  Scales steps = Scales::any;  // for powers of two: the one with the least square error
  int bits = 8;                // 4: weights from -7 to 7, for hardware that loads int4
  int most() const { return (1 << (bits - 1)) - 1; }
};

// Float values keep their names; the int8 value is called "<name>/steps", and a graph output's name moves to the
// dequantized value. Weights: int8, symmetric, ±grid.most(); biases of Conv and Gemm: int32 in steps of the product of
// scales, if they fit.
void insert_qdq(graph::Graph& graph, const Places& places,
                const std::map<graph::ValueId, passes::qdq::Quantization>& ranges, const WeightGrid& weights);

// The name of a value's steps.
std::string steps_name(const std::string& value);

// Whether the second operand may be a weight: Conv, ConvTranspose, Gemm, MatMul.
bool has_weight(const graph::Node& node);
// The axis of a weight that indexes its outputs, of a ConvTranspose those of a group.
std::int64_t output_axis(const graph::Node& node, int weight_rank);
// The position along `axis` of the element at `position`.
std::int64_t slice_of(const NdArray& array, std::int64_t axis, std::int64_t position);
// The real value of a constant: itself, or the result of a DequantizeLinear of constants. Nothing for any other value.
std::optional<NdArray> real_constant(const graph::Graph& graph, graph::ValueId value);

}  // namespace dovetail::quantize
