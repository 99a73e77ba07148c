// A MaxPool goes in front of what commutes with it, toward the integer convolution whose results it reads, with which
// targets may make it one: a Concat along channels of such results becomes one of their poolings, a change of scale
// that rises with its operand works on what is pooled. Every bit of every value stays.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> pool_early(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes
