// Post-training quantization: a float graph and samples of its inputs become a graph in ONNX's QDQ form, with a report
// per tensor and per layer. docs/reference/quantization.md defines the integer arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"
#include "compiler/quantize/compare.h"
#include "compiler/quantize/forward.h"
#include "compiler/quantize/insert_qdq.h"
#include "compiler/quantize/joined_scales.h"
#include "compiler/quantize/layers.h"
#include "compiler/quantize/memory.h"
#include "compiler/quantize/ranges.h"
#include "compiler/quantize/runs.h"

namespace dovetail::quantize {

struct Options {
  Method method = Method::min_max;
  double tail = 1e-5;  // for Method::percentile, at each end
  WeightScales weights = WeightScales::per_channel;
  int weight_bits = 8;                  // or 4
  Grid grid;                            // for activations; its scales also for weights
  std::vector<std::string> keep_float;  // nodes
  bool equalize = false;                // equalize.h
  bool correct_biases = false;          // correct_biases.h
  int layer_samples = 0;                // number of samples, the first ones, used to measure layers (layers.h)
  std::size_t worst_layers = 10;        // how many of the most costly layers are reported
  passes::PassContext context;          // evaluates constants
  Progress progress;
  // With a small memory budget, runs compute their tensors in groups. This affects no result except the selection of
  // the reported layers.
  MemoryBudget memory;
  Keeper keeper;
};

struct Quantized {
  graph::Graph graph;
  std::vector<TensorReport> tensors;                             // in execution order
  std::vector<OutputReport> outputs = {};                        // in the model's order
  std::vector<LayerReport> layers = {};                          // in execution order; empty if not requested
  std::vector<std::pair<std::string, std::string>> float_nodes;  // name and operator
  std::vector<LostPart> lost_parts = {};  // parts of concatenations, including those that stay float
  std::vector<std::pair<std::string, std::string>> equalized = {};
  std::vector<std::string> corrected = {};
  int samples = 0, layer_samples = 0;
  std::size_t all_layers = 0;  // `layers` has those that were measured
  int same_choice = 0;         // samples with the same largest output element as the float graph (first output)
  Json to_json() const;
};

// Folds batch normalizations and constants, observes the activations on the samples, inserts the QDQ pairs and runs
// both graphs once more for the report. A Concat followed only by outputs of the model stays float if one scale would
// take most steps from one of its parts: each part then keeps its own scale. Errors: no samples, a model that is
// already quantized or has nothing to quantize, `keep_float` names an unknown node, the budget of memory is too
// small for one tensor, or errors of `make_forward` and `progress`.
Result<Quantized> quantize(graph::Graph model, const Samples& samples, const Options& options,
                           const MakeForward& make_forward);

// Tensors whose calibration failed: more than 5 % saturated or 90 % one value, and parts of a Concat with fewer than 16
// steps of its scale; each as "name: reason". Empty if there are none.
std::vector<std::string> degenerate(const Quantized& quantized);

}  // namespace dovetail::quantize
