// Post-training quantisation: a float graph and samples of its inputs become a graph in ONNX's QDQ form, with a report
// tensor by tensor. What the integers then compute is docs/quantisation.md.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"
#include "compiler/quantize/insert_qdq.h"
#include "compiler/quantize/ranges.h"

namespace dovetail::quantize {

using Values = std::map<std::string, NdArray>;
// Runs a graph: its inputs by name to its outputs by name. The compiler executes nothing by itself: the caller hands in
// what runs graphs.
using Forward = std::function<Result<Values>(const Values& inputs)>;
using MakeForward = std::function<Result<Forward>(const graph::Graph& graph)>;
// On naive loop programs: exact, slow, always there.
MakeForward reference_forward();

struct Options {
  Method method = Method::min_max;
  double tail = 1e-4;  // of Method::percentile, at each end
  WeightScales weights = WeightScales::per_channel;
  std::vector<std::string> keep_float;  // nodes
  passes::PassContext context;          // evaluates constants
};

// An int8 activation, over all samples.
struct TensorReport {
  std::string value;  // its name in the float graph
  passes::qdq::Quantisation q;
  double saturated = 0;  // share at an end of int8 that is neither the zero point nor the bound of a Clip
  double commonest = 0;  // share of the value that occurs most
  double signal_to_noise_db =
      0;  // of the dequantised value against the float graph's, errors of all layers before included
};

struct Quantised {
  graph::Graph graph;
  std::vector<TensorReport> tensors;                             // in execution order
  std::vector<std::pair<std::string, std::string>> float_nodes;  // name and operator
  int samples = 0;
  int same_choice = 0;  // samples whose largest output element is the float graph's (first output)
  Json to_json() const;
};

// Folds batch normalisations and constants, observes the activations on the samples, inserts the QDQ pairs and runs
// both graphs once more for the report. Errors: no samples, `keep_float` names no node, or what `make_forward` says.
Result<Quantised> quantize(graph::Graph model, std::span<const Values> samples, const Options& options,
                           const MakeForward& make_forward);

// Tensors that a calibration has failed on: more than 5 % saturated or 90 % one value; each as "name: reason". Empty
// where all is well.
std::vector<std::string> degenerate(const Quantised& quantised);

}  // namespace dovetail::quantize
