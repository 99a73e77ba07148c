// The versions of ONNX's operators: an operator set determines which version of each operator a model uses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dovetail::import {

// The operator sets of the domain "" (also spelled "ai.onnx") that the table covers.
inline constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 27;

struct OperatorVersions {
  std::string_view op;
  std::vector<std::int64_t> versions;  // the operator sets that added or changed it, ascending
  // The versions whose forms normalize() and compiler/ops know, if not all.
  std::int64_t oldest_known = kOldestOpset, newest_known = kNewestOpset;
};
// All operators of ONNX, sorted by name.
std::span<const OperatorVersions> operator_versions();
// Null if ONNX has no such operator.
const OperatorVersions* find_versions(std::string_view op);

// The version that a model of this operator set uses: the newest that is not newer than the set. If an operator was
// added later, which real models also use, its first version.
std::int64_t version_at(const OperatorVersions& versions, std::int64_t opset);

}  // namespace dovetail::import
