// Layers as text, for the command line.
//
//   layer     = [ NAME ":" ] operation
//   operation = "conv" SHAPE "->" FILTERS window { word }          SHAPE: CxHxW or NxCxHxW
//             | "depthwise" SHAPE window { word }                   as many filters and groups as channels
//             | "gemm" MxK "->" N { word }                          also called dense
//             | "attention" "heads=" N "seq=" N [ "keys=" N ] "dim=" N
//             | "maxpool" SHAPE window | "avgpool" SHAPE [ window ] without a window: of the whole image
//             | "add" SHAPE                                         of any rank
//   window    = "k" PAIR [ "s" PAIR ] [ "p" PADS ]                  stride 1 and pads 0 if they are not given
//   word      = "d" PAIR | "g" GROUPS | "bias" | "relu"
//   PAIR      = N | NxN (rows, columns)   PADS = PAIR | NxNxNxN (top, left, bottom, right) | "same"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/shapes/layer.h"

namespace dovetail::shapes {

inline constexpr std::string_view kLayerExample = "conv 64x56x56 -> 64 k3 s1 p1";

// Error: the first character that does not fit, with its position; check(). Without a name the layer has an empty one.
Result<Layer> parse_layer(std::string_view text);

// The layers with the names that reports use: an empty name becomes that of the operation and a number, and a name that
// occurs again gets one ("conv", "conv_2").
std::vector<Layer> named(std::vector<Layer> layers);

}  // namespace dovetail::shapes
