// Nodes that only move elements: reshapes in a row are one, transposes in a row are one and cancel, a transpose that
// moves nothing but extents of 1 is a reshape, a transpose passes an elementwise node where it meets another one
// behind, Concat of Concat is one, Slice of Concat reads the part that holds it, Slice of Slice is one, Concat of a
// Split's parts in their order is its input, Expand in front of a broadcasting node is left out. Every bit of every
// value stays.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> simplify_movement(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes
