// Bias correction (Nagel et al., ICCV 2019, section 4.2): rounded weights shift the mean of a layer's results; the
// shift, measured on samples, is subtracted from the bias.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/quantize/forward.h"
#include "compiler/quantize/runs.h"

namespace dovetail::quantize {

// For each output of each Conv, Gemm and product with a constant matrix: its mean on the float inputs, minus its mean
// on the same inputs with the weights of `quantized`. Both graphs have the same nodes and values, as insert_qdq leaves
// them; nodes whose weights stay float are absent.
using Shifts = std::map<graph::NodeId, std::vector<double>>;
Result<Shifts> measure_shifts(const graph::Graph& model, const graph::Graph& quantized, const Runs& runs,
                              const MakeForward& make_forward);

// Adds the shifts to the biases of `model`; a layer without bias gets one, a product gets a following Add that takes
// over its result's name. Returns the names of the nodes whose bias changed; nodes whose bias is not a constant with
// one number per output are left unchanged.
std::vector<std::string> correct_biases(graph::Graph& model, const Shifts& shifts);

}  // namespace dovetail::quantize
