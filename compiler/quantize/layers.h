// Which layers cost most accuracy: the model with one layer quantized at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/qdq/arithmetic.h"
#include "compiler/quantize/forward.h"
#include "compiler/quantize/insert_qdq.h"

namespace dovetail::quantize {

// A layer: an operator with its weights, bias and result, or an input of the model or of an integer part of it.
struct LayerReport {
  std::string layer;                 // the node, or the tensor
  std::string op;                    // "" of a tensor
  std::optional<double> weights_db;  // signal-to-noise ratio of the weights
  std::optional<double> channel_db;  // the same of the output channel that lost most; 0 where all of it becomes zero
  double output_db = 0;              // of the model's outputs where this layer alone is quantized; the worst output
  int same_choice = 0;               // samples whose largest output element is the float model's (first output)
};

// One graph is compiled for all layers, with a switch for each, which is run for each layer and sample. Of many layers
// the `most` that cost most are found by groups of neighbors: noise adds up, so a group that costs little has no layer
// that costs much. In execution order. `quantized` has the nodes and values of `model`, as insert_qdq leaves them.
Result<std::vector<LayerReport>> measure_layers(const graph::Graph& model, const graph::Graph& quantized,
                                                const Places& places,
                                                const std::map<graph::ValueId, passes::qdq::Quantization>& ranges,
                                                std::size_t most, std::span<const Values> samples,
                                                const MakeForward& make_forward, const Progress& progress);

}  // namespace dovetail::quantize
