// A Split of int8 values becomes a Slice for each of its results: targets whose operations have one result take them,
// on the accelerator as addresses where the parts begin at borders of channel blocks.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> split_to_slices(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes
