// The loop programs of operations (programs.h), and the kinds of sketches for them.
#pragma once

#include <span>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/select/select.h"
#include "loops/ir.h"

namespace dovetail::accel {

const Kind& kind_of(const Operation& operation);
// One program, or one for each part of a move or of a product of activations. `inputs`: layouts of the inputs, in the
// operation's order.
std::vector<loops::Program> operation_programs(const Operation& operation, std::span<const TensorLayout> inputs,
                                               const TensorLayout& output, const Core& config);
// The programs of the operation alone: each input has the border that this operation needs.
std::vector<loops::Program> operation_programs(const graph::Graph& graph, const Operation& operation,
                                               const Core& config);

}  // namespace dovetail::accel
