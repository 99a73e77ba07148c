// Declarations that the makers of operations share (select.cpp), makers in their own files, and the rows of the table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/memo.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/select/select.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

// The context of a row's maker.
struct Context {
  const graph::Graph& graph;
  const Core& config;
  const pattern::Found& found;
  graph::NodeId id = found.nodes.back();
  const graph::Node& node() const { return graph.node(id); }

  Diagnostic refuse(std::string why, std::string hint = "choose another target for it") const {
    return {fmt::format("the accelerator cannot run {}", node().name), node().name, std::move(why), std::move(hint)};
  }
  const NdArray* constant(std::size_t i) const {
    const graph::ValueId id = i < node().inputs.size() ? node().inputs[i] : graph::ValueId{};
    return graph.is_constant(id) ? &*graph.value(id).constant : nullptr;
  }
  const graph::TensorType& type(std::size_t i) const { return graph.value(node().inputs[i]).type; }
  std::int32_t attribute(std::string_view name, std::int64_t fallback) const {
    return static_cast<std::int32_t>(graph::int_attribute(node(), name, fallback));
  }
};

inline TensorLayout layout_of(const Context& c, const ImageShape& shape) { return make_layout(c.config, shape); }
inline ImageShape image_of(const Context& c, graph::ValueId value) { return image_shape(c.graph, value, c.config); }
// Whether all of these values are matrices whose rows are pixels, or none is.
inline bool share_form(const Context& c, std::initializer_list<graph::ValueId> values) {
  return std::ranges::all_of(values, [&](graph::ValueId value) {
    return rows_are_pixels(c.graph, value) == rows_are_pixels(c.graph, *values.begin());
  });
}

// Whether the host packs the value, and only for this operation: no row's pattern ends in the node that computes it.
bool comes_from_host(const graph::Graph& graph, graph::ValueId value);

inline constexpr const char* kLayoutsDiffer = "its operand and its result have different layouts";

// The constant with an element for each of the shape.
NdArray broadcast(const NdArray& constant, const Shape& shape);

// Operators that copy int8 values and clamp or move them; functions of one value.
Result<Operation> select_clip(const Context& c);
Result<Operation> select_movement(const Context& c);
Result<Operation> select_reshape(const Context& c);
Result<Operation> select_writing(const Context& c);
Result<Operation> select_table(const Context& c);
Result<Operation> select_lines(const Context& c);
// Functions of the channels of a pixel.
Result<Operation> select_softmax(const Context& c);
Result<Operation> select_normalization(const Context& c);
Result<Operation> select_matmul(const Context& c);
Result<Operation> select_transpose(const Context& c);

// The conversion of accumulators to int8 on this hardware. `bound`: largest |acc + bias|.
Result<Epilogue> make_epilogue(const Context& c, std::span<const float> scales, std::int64_t bound);

// A row of the table of patterns (select.cpp).
struct SelectionRow {
  std::string_view name, pattern;
  Result<Operation> (*make)(const Context& context);
  bool isa::HardwareConfig::*extension = nullptr;  // without which there is no such row

  bool exists_on(const Core& core) const { return extension == nullptr || core.*extension; }
};
std::span<const SelectionRow> selection_rows();
// The operation that the row makes of the nodes, if the accelerator can run it, or the reason why not.
Result<Operation> make_operation(const Context& context, const SelectionRow& row, const std::shared_ptr<Memo>& memo);

}  // namespace dovetail::accel
