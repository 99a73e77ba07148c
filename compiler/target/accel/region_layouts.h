// How the tensors of a region are stored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/select/select.h"

namespace dovetail::accel {

// A value that is stored within another one, beginning at a block of its channels: values that are concatenated or cut
// out at borders of blocks are not copied.
struct View {
  graph::ValueId base;
  std::int64_t block;
  bool operator==(const View&) const = default;
};
// The layouts of the values that the operations read and write, with their borders.
struct RegionLayouts {
  std::map<graph::ValueId, TensorLayout> layouts;
  std::map<graph::ValueId, View> views;
};
// `crossing`: values that other steps read or write, which are never within others. Error: the readers of a value need
// borders with different values.
Result<RegionLayouts> region_layouts(const graph::Graph& graph, const std::vector<OperationForms>& operations,
                                     const std::set<graph::ValueId>& crossing, const Core& config);

// If a part of a move copies a whole value into another one, or a whole value out of another one: this value and its
// view; else nullopt.
std::optional<std::pair<graph::ValueId, View>> view_of(const Operation& operation, const MoveSpec& part,
                                                       const std::map<graph::ValueId, TensorLayout>& layouts);

// Whether the source of this part of a move already has the place of its result.
bool is_in_place(const Operation& operation, const MoveSpec& part, const RegionLayouts& layouts);

}  // namespace dovetail::accel
