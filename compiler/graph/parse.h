// Parses the text of graphs: parse(to_string(g, Elements::all)) is g except for ids and unused constants.
//
//   graph NAME(%x: float32[1, 3]) -> (%y)
//     constant %w: float32[3] = [1.0, 2.0, 3.0]            or = fill(0.5), or = 4 for a scalar
//     %y: float32[1, 3] = Mul(%x, %w) {axis=1, mode="a"}  // node_name <- origin, origin
//
// The subgraphs of a node of control flow follow its line, each from its own line "graph ..." to a line "end":
//
//     %y: float32[3] = dovetail.if(%c, %x)  // choice
//       graph then(%x: float32[3]) -> (%x)
//       end
//       graph else() -> (%w)
//         constant %w: float32[3] = fill(0.0)
//       end
//
// If an output has as many elements as another one specifies, "extents %y[0]=%count" follows the list of outputs.
//
// An omitted input is `_`. Names of other characters than letters, digits and _./@$+-:; are written in quotes, with \"
// \\ \n inside. A node without a name gets one from its operator and first output. Nodes may come in any order; a line
// that begins with # is a comment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::graph {

// Constants of at most this many elements are always printed.
inline constexpr std::int64_t kPrintedElements = 8;
// Characters of names without quotes.
bool is_plain_name(std::string_view name);

// Supplies the elements of constants that the text omits; nullopt: such a constant is an error.
using MissingElements = std::function<NdArray(std::string_view name, const TensorType& type)>;

// Types are not checked; the result has passed verify(). All errors are reported, with line and column.
Result<Graph> parse(std::string_view text, std::string_view where, const MissingElements& missing = {});

}  // namespace dovetail::graph
