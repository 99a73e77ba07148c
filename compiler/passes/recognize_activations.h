// Activations that exporters write out become the one operator that they are: Sigmoid, Softplus, Swish (SiLU),
// HardSigmoid, HardSwish, Mish, and Gelu in the form with erf and in the one with tanh. Products may be written in any
// order and association.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> recognize_activations(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes
