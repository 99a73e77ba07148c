// Finds the layers that cost the most accuracy, by quantizing one layer of the model at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/qdq/arithmetic.h"
#include "compiler/quantize/forward.h"
#include "compiler/quantize/insert_qdq.h"
#include "compiler/quantize/runs.h"

namespace dovetail::quantize {

// A layer: an operator with its weights, bias and result, or an input of the model or of an integer part of it.
struct LayerReport {
  std::string layer;                 // the node, or the tensor
  std::string op;                    // "" for a tensor
  std::optional<double> weights_db;  // signal-to-noise ratio of the weights
  std::optional<double> channel_db;  // the same for the output channel that lost the most; 0 if all of it becomes zero
  double output_db = 0;              // of the worst output of the model when only this layer is quantized
  int same_choice = 0;               // samples with the same largest output element as the float model (first output)
};

// One graph is compiled for all layers, with a switch for each layer, and run for each layer and sample. If there are
// many layers, the `most` costly ones are found through groups of neighbors: noise adds up, so a group with little
// noise contains no layer with much noise. If the memory budget is too small for all switches, groups of neighboring
// layers are measured in separate graphs. `samples`: the number of samples used, from the first. The result is in
// execution order. `quantized` has the nodes and values of `model`, as
// insert_qdq leaves them.
Result<std::vector<LayerReport>> measure_layers(const graph::Graph& model, const graph::Graph& quantized,
                                                const Places& places,
                                                const std::map<graph::ValueId, passes::qdq::Quantization>& ranges,
                                                std::size_t most, std::int64_t samples, const Runs& runs,
                                                const MakeForward& make_forward);

}  // namespace dovetail::quantize
