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
#include "compiler/target/accel/select/select.h"

namespace dovetail::accel {

// A value that is stored within another one, from that block of its channels on. Concatenations and slices at borders
// of blocks need no copy.
struct View {
  graph::ValueId base;
  std::int64_t block;
  bool operator==(const View&) const = default;
};
// The layouts, borders included, of the values that the operations read and write.
struct RegionLayouts {
  std::map<graph::ValueId, TensorLayout> layouts;
  std::map<graph::ValueId, View> views;
};
// `crossing`: values that other regions read or write, which are not views. Error: the readers of a value need borders
// of different values.
Result<RegionLayouts> region_layouts(const graph::Graph& graph, const std::vector<Operation>& operations,
                                     const std::set<graph::ValueId>& crossing, const isa::HardwareConfig& config);

// The view that makes a part of a move unnecessary: the part copies a whole value into another one, or a part of a
// value out as a whole one. nullopt: the part copies something else.
std::optional<std::pair<graph::ValueId, View>> view_of(const Operation& operation, const MoveSpec& part,
                                                       const std::map<graph::ValueId, TensorLayout>& layouts);

}  // namespace dovetail::accel
