// Patterns over graphs: what the tables of targets are made of. A pattern has a text form, which is how tables write
// it:
//
//   pattern  = [name "="] term
//   term     = "_"                                      any value
//            | "#"                                      a constant
//            | "-"                                      an operand that is left out
//            | operators marks ["(" operands ")"]       the result of a node; without a list its operands may be
//            anything
//   operators = operator {"|" operator} | "*"           "*": whatever operator
//   marks    = ["~"] ["?"]                              "~": the first two operands in either order
//                                                       "?": the node may be missing; then its first operand takes
//                                                       its place
//   operands = [pattern {"," pattern}] ["," "..."]      "...": more operands, whatever they are
//
// "Relu?(Add~(MatMul(x=_, weights=#), bias=#))" is a product with a constant bias, and perhaps a Relu behind it. A name
// that occurs twice is the same value both times.
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
  std::string name;  // of the value; empty where nobody asks for it
  // Of a node:
  std::vector<std::string> operators;  // empty: whatever operator
  bool commutative = false, optional = false;
  bool open = false;  // more operands than those listed are fine
  std::vector<Pattern> operands;
};

Result<Pattern> parse(std::string_view text);  // errors name the place in the text
std::string to_string(const Pattern& pattern);

// Whether a node of that operator may be the pattern's last.
bool may_end_in(const Pattern& pattern, std::string_view op);

// Where a pattern was found.
struct Found {
  std::vector<graph::NodeId> nodes;    // covered, each behind those whose results it reads; the last one is the root
  std::vector<graph::ValueId> inputs;  // values read from outside, constants left out, each once
  std::map<std::string, graph::ValueId> values;  // by the pattern's names
};

// The pattern with its last node at `root`. Nobody but covered nodes may read the results of the covered nodes before
// the root. An optional node is covered where it is there and that leads to a match. Errors: one diagnostic; its `why`
// says what stopped the attempt that came furthest.
Result<Found> match(const graph::Graph& graph, graph::NodeId root, const Pattern& pattern);

}  // namespace dovetail::pattern
