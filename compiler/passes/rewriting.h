// Functions that rewriting passes share: queries about nodes and values, and edits that maintain types, names of graph
// outputs and origins.
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
// The live node with operator `op` whose first output is the value; nullopt if there is none.
std::optional<graph::NodeId> produced_by(const graph::Graph& graph, graph::ValueId value, std::string_view op);
// Whether one live node reads the value, at one operand, and it is not a graph output.
bool used_once(const graph::Graph& graph, graph::ValueId value);
bool has_input(const graph::Node& node, std::size_t position);
// The number that all elements of a constant have; nullopt for other values and empty constants.
std::optional<double> uniform(const graph::Graph& graph, graph::ValueId value);
// The numbers of a constant that varies only along `axis` of a tensor of this shape, one for each position. The
// constant can be broadcast to the shape without a reshape.
std::optional<std::vector<double>> along_axis(const graph::Graph& graph, graph::ValueId value, const Shape& shape,
                                              std::size_t axis);
// The integers of a constant; nullopt if the value is not constant.
std::optional<std::vector<std::int64_t>> integers(const graph::Graph& graph, graph::ValueId value);
bool is_float(const graph::Graph& graph, graph::ValueId value);
// The axes of a Transpose's operand, in the order of its result.
std::vector<std::int64_t> permutation(const graph::Graph& graph, const graph::Node& transpose);
// The pads before and after every axis; nullopt if they are not constant, or the mode is not `constant`.
std::optional<std::vector<std::int64_t>> constant_pads(const graph::Graph& graph, const graph::Node& pad);

// ---- Edits
// --------------------------------------------------------------------------------------------------------------------------

// Changes the node's operator and operands. It keeps its outputs, whose types must stay the same, and gets the origins
// of `absorbed`. Nodes that are not needed any more are removed. Returns false without a change if the operator rejects
// the operands or the type would differ.
bool become(graph::Graph& graph, graph::NodeId node, std::string_view op, std::vector<graph::ValueId> inputs,
            graph::Attributes attributes = {}, const std::vector<graph::NodeId>& absorbed = {});
// Lets readers of the node's only output read `value` instead, and removes the node. False if this is impossible: a
// graph output keeps its name, and so needs its own node if `value` is a graph input, a constant or another graph
// output.
bool bypass(graph::Graph& graph, graph::NodeId node, graph::ValueId value);
// Inserts a node with one output, whose type is inferred. Throws InternalError if the operator rejects the operands.
graph::ValueId insert(graph::Graph& graph, std::string_view op, std::string_view stem,
                      std::vector<graph::ValueId> inputs, graph::Attributes attributes,
                      const std::vector<std::string>& origins);
// Removes the node, and nodes that only it used, if none of its outputs is used.
void remove_unused(graph::Graph& graph, graph::NodeId node);

graph::ValueId add_integers(graph::Graph& graph, std::string_view stem, const std::vector<std::int64_t>& values);
graph::ValueId add_scalar(graph::Graph& graph, std::string_view stem, DType dtype, double value);
// A constant of this shape from numbers, rounded once to the type. nullopt if a number becomes infinite, or if all
// numbers are below the type's normal range and lose digits (among larger numbers such a loss is negligible).
std::optional<NdArray> rounded(DType dtype, const Shape& shape, const std::vector<double>& values);

}  // namespace dovetail::passes
