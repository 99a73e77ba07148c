// The equation of an Einsum node, checked with the shapes of its inputs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ops/op.h"

namespace dovetail::ops {

// Names of axes: letters, and generated names for the axes of an ellipsis, numbered from the last.
using Labels = std::vector<std::string>;

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  std::map<std::string, std::int64_t> extents;  // 1 only if all axes of that name have extent 1

  Labels summed() const;  // labels absent from the output
};
// Precondition: the signature holds.
Result<Equation> equation_of(const Operands& operands);

}  // namespace dovetail::ops
