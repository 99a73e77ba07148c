// What oneDNN takes of a graph: the table of patterns, and what each match becomes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bundle/code/onednn.h"
#include "compiler/target/target.h"

namespace dovetail::onednn {

// Match::body. The operation names no tensors yet: these are the values that it reads, and the one that it computes.
struct Body {
  bundle::OnednnOperation operation;
  std::vector<graph::ValueId> operands;
  graph::ValueId result;
  // As floats, where the second operand has bytes and scales.
  std::shared_ptr<const NdArray> weights = nullptr;
};

std::vector<PatternRow> pattern_rows();

}  // namespace dovetail::onednn
