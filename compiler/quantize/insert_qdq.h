// Where a float graph is quantized, and the graph with QuantizeLinear and DequantizeLinear in these places.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/passes/qdq/arithmetic.h"
#include "compiler/quantize/ranges.h"

namespace dovetail::quantize {

// The places: activations that become int8.
struct Places {
  std::vector<graph::ValueId> observed;              // need a range of their own
  std::map<graph::ValueId, graph::ValueId> same_as;  // moved values: the steps of another
  std::map<graph::ValueId, graph::NodeId> made_by;   // of `observed`: the node whose result it is, with what
                                                     // follows it in the same place; none of inputs
  std::vector<std::pair<std::string, std::string>> float_nodes;  // name and operator of nodes that stay float
};

// Inputs and results of convolutions, matrix products, sums, products, averages, concatenations and unary functions,
// and of what moves such values. A convolution, a product and the sum with a constant, ReLU or Clip behind it are one
// place. `kept`: nodes that are to stay float.
Places find_places(const graph::Graph& graph, const std::vector<std::string>& kept);

enum class WeightScales : std::uint8_t { per_tensor, per_channel };
struct WeightGrid {
  WeightScales scales = WeightScales::per_channel;
  Scales steps = Scales::any;  // a power of two is the one with the least square error
};

// Values keep their names as float; the int8 value is called "<name>/steps", and a graph output's name goes to what is
// dequantized. Weights: int8, symmetric, ±127; biases of Conv and Gemm: int32 in steps of the product of scales, where
// that fits.
void insert_qdq(graph::Graph& graph, const Places& places,
                const std::map<graph::ValueId, passes::qdq::Quantization>& ranges, const WeightGrid& weights);

// The name of a value's steps.
std::string steps_name(const std::string& value);

// The axis of a weight (the second operand of a Conv, Gemm or MatMul) along which its outputs lie.
std::int64_t output_axis(const graph::Node& node, int weight_rank);
// The position along `axis` of the element at `position`.
std::int64_t slice_of(const NdArray& array, std::int64_t axis, std::int64_t position);
// What a constant is in reals: itself, or of DequantizeLinear of constants its result. Nothing of any other value.
std::optional<NdArray> real_constant(const graph::Graph& graph, graph::ValueId value);

}  // namespace dovetail::quantize
