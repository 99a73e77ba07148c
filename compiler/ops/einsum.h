// The equation of an Einsum node, read against the shapes of its inputs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ops/op.h"

namespace dovetail::ops {

// Names of axes: letters, and for the axes of an ellipsis names of their own, numbered from the last.
using Labels = std::vector<std::string>;

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  std::map<std::string, std::int64_t> extents;  // 1 only where all axes of that name have it

  Labels summed() const;  // those that the output lacks
};
// Precondition: the signature holds.
Result<Equation> equation_of(const Operands& operands);

}  // namespace dovetail::ops
