// The versions of ONNX's operators: an operator set says which version of each operator a model means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dovetail::import {

// Operator sets of the domain "" (also spelled "ai.onnx") whose changes the table has.
inline constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 27;

struct OperatorVersions {
  std::string_view op;
  std::vector<std::int64_t> versions;  // the operator sets that brought or changed it, rising
  // The versions whose forms normalize() and compiler/ops know, where there are others.
  std::int64_t oldest_known = kOldestOpset, newest_known = kNewestOpset;
};
// All operators of ONNX, sorted by name.
std::span<const OperatorVersions> operator_versions();
// Null where ONNX has no such operator.
const OperatorVersions* find_versions(std::string_view op);

// The version that a model of this operator set means: the newest that is not newer. Models in the wild use operators
// that came later as well: their first version then.
std::int64_t version_at(const OperatorVersions& versions, std::int64_t opset);

}  // namespace dovetail::import
