// Bias correction (Nagel et al., ICCV 2019, section 4.2): rounded weights shift the mean of a layer's results; the
// shift, measured on samples, is taken out of the bias.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/quantize/forward.h"

namespace dovetail::quantize {

// The mean of what each Conv, Gemm and product with a constant matrix makes of the float inputs, less what it makes of
// them with the weights of `quantized`, for each output: by node. Both graphs have the same nodes and values, as
// insert_qdq leaves them; nodes whose weights stay float are not there.
using Shifts = std::map<graph::NodeId, std::vector<double>>;
Result<Shifts> measure_shifts(const graph::Graph& model, const graph::Graph& quantized, std::span<const Values> samples,
                              const MakeForward& make_forward, const Progress& progress);

// Adds the shifts to the biases of `model`; a layer without gets one, a product an Add behind it that takes over its
// result's name. The names of the nodes whose bias is now another; those whose bias is no constant of one number for
// each output are left alone.
std::vector<std::string> correct_biases(graph::Graph& model, const Shifts& shifts);

}  // namespace dovetail::quantize
