// Layers from the YAML files of two other tools:
//  - Timeloop's problem: `problem: {shape: ..., instance: {C: 64, M: 64, R: 3, S: 3, P: 56, Q: 56, N: 1, Wstride: 1,
//  ...}}`,
//    or dimensions directly in `problem`; shapes with the dimensions C, M, R, S, N, P, Q (and G), or M, N, K;
//  - ZigZag's workload: a list of layers with `equation`, `loop_dims`, `loop_sizes`, `dimension_relations`, `padding`.
// Timeloop's images have their pads already. docs/howto/shapes.md describes what is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/shapes/layer.h"

namespace dovetail::driver {

// Errors, all of the file, each with its line: neither form; dimensions, equations, densities or precisions that no
// layer has; shapes::check(). `where` names the file, whose name is that of a layer without one.
Result<std::vector<shapes::Layer>> read_layer_yaml(std::string_view text, const std::string& where);

}  // namespace dovetail::driver
