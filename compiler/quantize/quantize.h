// Post-training quantization: a float graph and samples of its inputs become a graph in ONNX's QDQ form, with a report
// tensor by tensor and layer by layer. What the integers then compute is docs/reference/quantization.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"
#include "compiler/quantize/forward.h"
#include "compiler/quantize/insert_qdq.h"
#include "compiler/quantize/joined_scales.h"
#include "compiler/quantize/layers.h"
#include "compiler/quantize/ranges.h"

namespace dovetail::quantize {

struct Options {
  Method method = Method::min_max;
  double tail = 1e-5;  // of Method::percentile, at each end
  WeightScales weights = WeightScales::per_channel;
  Grid grid;                            // of activations; its scales also of weights
  std::vector<std::string> keep_float;  // nodes
  bool equalize = false;                // equalize.h
  bool correct_biases = false;          // correct_biases.h
  int layer_samples = 0;                // on how many samples, the first ones, layers are measured (layers.h)
  std::size_t worst_layers = 10;        // how many layers are told apart, those that cost most
  passes::PassContext context;          // evaluates constants
  Progress progress;
};

// An int8 activation, over all samples.
struct TensorReport {
  std::string value;  // its name in the float graph
  passes::qdq::Quantization q;
  double saturated = 0;  // share at an end of int8 whose value in the float graph lies more than half a step beyond it
  double commonest = 0;  // share of the value that occurs most
  double signal_to_noise_db =
      0;  // of the dequantized value against the float graph's, errors of all layers before included
  double least = 0, greatest = 0;  // of the float graph's values
};

// An output of the model, over all samples.
struct OutputReport {
  std::string output;
  double signal_to_noise_db = 0;
  std::int64_t rows = 0, same_rows = 0;  // along the first axis; those whose largest element is where it was
};

struct Quantized {
  graph::Graph graph;
  std::vector<TensorReport> tensors;                             // in execution order
  std::vector<OutputReport> outputs = {};                        // in the model's order
  std::vector<LayerReport> layers = {};                          // in execution order; empty where not asked for
  std::vector<std::pair<std::string, std::string>> float_nodes;  // name and operator
  std::vector<LostPart> lost_parts = {};                         // of concatenations, those that stay float included
  std::vector<std::pair<std::string, std::string>> equalized = {};
  std::vector<std::string> corrected = {};
  int samples = 0, layer_samples = 0;
  std::size_t all_layers = 0;  // of which `layers` has those that were measured
  int same_choice = 0;         // samples whose largest output element is the float graph's (first output)
  Json to_json() const;
};

// Folds batch normalizations and constants, observes the activations on the samples, inserts the QDQ pairs and runs
// both graphs once more for the report. A Concat that nothing but outputs of the model follows stays float where one
// scale would take most steps from one of its parts: each part then keeps its own. Errors: no samples, a model that is
// quantized already or has nothing to quantize, `keep_float` names no node, or what `make_forward` and `progress` say.
Result<Quantized> quantize(graph::Graph model, std::span<const Values> samples, const Options& options,
                           const MakeForward& make_forward);

// Tensors that a calibration has failed on: more than 5 % saturated or 90 % one value, and parts of a Concat that its
// scale leaves fewer than 16 steps; each as "name: reason". Empty where all is well.
std::vector<std::string> degenerate(const Quantized& quantized);

}  // namespace dovetail::quantize
