// Compares a quantized graph with the float graph that it was made from, on all samples.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/qdq/arithmetic.h"
#include "compiler/quantize/forward.h"
#include "compiler/quantize/insert_qdq.h"
#include "compiler/quantize/runs.h"

namespace dovetail::quantize {

// An int8 activation, over all samples.
struct TensorReport {
  std::string value;  // its name in the float graph
  passes::qdq::Quantization q;
  double saturated = 0;  // share at an end of int8 whose float value is more than half a step beyond it
  double commonest = 0;  // share of the most frequent value
  double signal_to_noise_db =
      0;  // signal-to-noise ratio compared with the float graph, including errors of all earlier layers
  double least = 0, greatest = 0;  // range of the float graph's values
};

// An output of the model, over all samples.
struct OutputReport {
  std::string output;
  double signal_to_noise_db = 0;
  std::int64_t rows = 0, same_rows = 0;  // rows along the first axis; rows whose largest element has the same position
};

struct Compared {
  std::vector<TensorReport> tensors;   // in execution order, without least and greatest
  std::vector<graph::ValueId> values;  // of the tensors, in the float graph
  std::vector<OutputReport> outputs;   // in the model's order
  int same_choice = 0;                 // samples with the same largest element of the first output
};

// `quantized` is `model` after insert_qdq with these places and ranges.
Result<Compared> compare(const graph::Graph& model, const graph::Graph& quantized, const Places& places,
                         const std::map<graph::ValueId, passes::qdq::Quantization>& ranges, const Runs& runs,
                         const MakeForward& make_forward);

// The range that a Clip allows for its operand.
Limits bounds_of(const graph::Graph& graph, graph::ValueId value);

// The value whose steps this value has.
graph::ValueId source_of(const Places& places, graph::ValueId value);

}  // namespace dovetail::quantize
