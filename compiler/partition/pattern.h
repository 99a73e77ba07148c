// Patterns of nodes, as used in the targets' tables. Their text form:
//
//   pattern  = [name "="] term
//   term     = "_"                                      any value
//            | "#"                                      a constant
//            | "-"                                      an omitted operand
//            | operators marks ["(" operands ")"]       the result of a node; without a list, its operands may be
//            anything
//   operators = operator {"|" operator} | "*"           "*": any operator
//   marks    = ["~"] ["?"]                              "~": the first two operands in either order
//                                                       "?": the node may be missing; then its first operand takes
//                                                       its place
//   operands = [pattern {"," pattern}] ["," "..."]      "...": any further operands
//
// "Relu?(Add~(MatMul(x=_, weights=#), bias=#))" is a product with a constant bias, optionally followed by a Relu. A
// name that occurs twice denotes the same value.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::pattern {

enum class Kind : std::uint8_t { value, constant, absent, node };

struct Pattern {
  Kind kind = Kind::value;
  std::string name;  // name of the value; empty if not needed
  // For a node:
  std::vector<std::string> operators;  // empty: any operator
  bool commutative = false, optional = false;
  bool open = false;  // more operands than those listed are allowed
  std::vector<Pattern> operands;
};

Result<Pattern> parse(std::string_view text);  // errors give the position in the text
std::string to_string(const Pattern& pattern);

// Whether a node with that operator may be the last node of the pattern.
bool may_end_in(const Pattern& pattern, std::string_view op);

// A match of a pattern.
struct Found {
  std::vector<graph::NodeId> nodes;              // covered nodes in topological order; the last one is the root
  std::vector<graph::ValueId> inputs;            // distinct values read from outside, without constants
  std::map<std::string, graph::ValueId> values;  // by the pattern's names
};

// Matches the pattern with its last node at `root`. Results of the covered nodes except the root must not be read by
// other nodes. An optional node is covered if it is present and leads to a match. Errors: one diagnostic, whose `why`
// is the reason of the attempt that got furthest.
Result<Found> match(const graph::Graph& graph, graph::NodeId root, const Pattern& pattern);

}  // namespace dovetail::pattern
