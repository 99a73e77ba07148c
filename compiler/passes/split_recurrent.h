// LSTM, GRU and RNN of constant weights become a MatMul of all steps' inputs with W, an Add of the biases, and the
// recurrence alone (dovetail.lstm, …), whose weights lie as it reads them. Sums keep their order, so every bit stays,
// but for 16-bit floats, which are rounded in between: those from level 2 on.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> split_recurrent(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes
