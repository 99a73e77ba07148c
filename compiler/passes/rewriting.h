// What rewriting passes share: questions about a place in the graph, and edits that keep types, names of graph outputs
// and origins right.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail::passes {

// ---- Questions
// ---------------------------------------------------------------------------------------------------------------------

inline const Shape& shape_of(const graph::Graph& graph, graph::ValueId value) { return graph.value(value).type.shape; }
// The live node of operator `op` whose first output the value is; nothing otherwise.
std::optional<graph::NodeId> produced_by(const graph::Graph& graph, graph::ValueId value, std::string_view op);
// One live node reads the value, at one operand, and it is not a graph output.
bool used_once(const graph::Graph& graph, graph::ValueId value);
bool has_input(const graph::Node& node, std::size_t position);
// The number that all elements of a constant are; nothing for other values and empty ones.
std::optional<double> uniform(const graph::Graph& graph, graph::ValueId value);
// A constant that varies along `axis` of a tensor of that shape alone: one number per position there. It broadcasts to
// the shape without a reshape.
std::optional<std::vector<double>> along_axis(const graph::Graph& graph, graph::ValueId value, const Shape& shape,
                                              std::size_t axis);
// Integers of a constant; nothing where it is none.
std::optional<std::vector<std::int64_t>> integers(const graph::Graph& graph, graph::ValueId value);
bool is_float(const graph::Graph& graph, graph::ValueId value);

// ---- Edits
// --------------------------------------------------------------------------------------------------------------------------

// The node becomes another operator and keeps its outputs, whose types must stay the same; it also represents what
// `absorbed` represented. Nodes that nobody needs any more are removed. False, and nothing is changed, where the
// operator refuses these operands or another type would come out.
bool become(graph::Graph& graph, graph::NodeId node, std::string_view op, std::vector<graph::ValueId> inputs,
            graph::Attributes attributes = {}, const std::vector<graph::NodeId>& absorbed = {});
// Readers of the node's only output read `value` instead, and the node goes. False where that is impossible: a graph
// output keeps its name, and so needs its own node for a graph input, a constant or another graph output.
bool bypass(graph::Graph& graph, graph::NodeId node, graph::ValueId value);
// A new node with one output, whose type is inferred. InternalError where the operator refuses: the caller knows that
// it fits.
graph::ValueId insert(graph::Graph& graph, std::string_view op, std::string_view stem,
                      std::vector<graph::ValueId> inputs, graph::Attributes attributes,
                      const std::vector<std::string>& origins);
// Removes the node, and what only it needed, where no output is used.
void remove_unused(graph::Graph& graph, graph::NodeId node);

graph::ValueId add_integers(graph::Graph& graph, std::string_view stem, const std::vector<std::int64_t>& values);
graph::ValueId add_scalar(graph::Graph& graph, std::string_view stem, DType dtype, double value);
// A constant of that shape from numbers, rounded once to the type. Nothing where one becomes infinite, or all of them
// fall below the type's normal range and so lose digits; alongside larger ones they make no difference.
std::optional<NdArray> rounded(DType dtype, const Shape& shape, const std::vector<double>& values);

}  // namespace dovetail::passes
