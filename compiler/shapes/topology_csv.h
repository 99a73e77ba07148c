// SCALE-Sim's topologies: CSV files with a header line, which is not interpreted beyond its number of columns, and a
// line for each layer, as topology_utils.py of scalesim 3.0.0 reads them.
//
//   convolutions: Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
//   products:     Layer name, M, N, K,
//
// The IFMAP has its pads already. A layer whose name contains DP is depthwise: `Num Filter` filters for each channel.
// A further column is the sparsity ratio, of which only dense ones (1:1) are accepted; the comma at the end may miss.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/shapes/layer.h"

namespace dovetail::shapes {

// Errors, all of the file, each with its line: no layers, a line with another number of columns, what is not a number,
// sparse weights, check(). `where` names the file.
Result<std::vector<Layer>> read_topology(std::string_view text, const std::string& where);

}  // namespace dovetail::shapes
