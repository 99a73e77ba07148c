// The code generator of the C back end: the supported patterns of a graph, and the C of each. Text in, text out;
// nothing is compiled here.
#pragma once

#include <string>
#include <vector>

#include "compiler/target/target.h"

namespace backend_c {

// The target's data for a match (Match::taken): statements over C arrays named v<index of the value>.
struct Code : dovetail::Taken {
  Code(std::string text, std::vector<dovetail::graph::ValueId> arrays)
      : statements(std::move(text)), reads(std::move(arrays)) {}

  std::string statements;
  std::vector<dovetail::graph::ValueId> reads;  // arrays that they read, including constants
};

std::vector<dovetail::PatternRow> pattern_rows();

// One function per region. Its arguments are `reads`, in the order of `arguments`, which is filled here, then the
// region's outputs.
std::string generate(const dovetail::graph::Graph& graph, const dovetail::GraphRegion& region,
                     std::vector<dovetail::graph::ValueId>& arguments);

}  // namespace backend_c
