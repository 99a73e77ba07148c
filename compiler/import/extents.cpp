#include "compiler/import/extents.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "compiler/ops/control_flow.h"

namespace dovetail::import {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

// From the operand's axis with padding elements: that of the results, or nothing if the operator has no rule.
class Rules {
 public:
  Rules(const Graph& graph, const Node& node, const Extents& extents) : graph_(graph), node_(node), extents_(extents) {}

  [[gnu::noinline]] std::optional<Extent> result() const {  // inlined, GCC 12 sees members that are not initialized
    for (const Row& row : rows())
      if (row.op == node_.op) return (this->*row.rule)();
    return std::nullopt;
  }

 private:
  struct Row {
    std::string_view op;
    std::optional<Extent> (Rules::*rule)() const;
  };
  static std::span<const Row> rows();

  bool has(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i].valid(); }
  const Shape& shape(std::size_t i) const { return graph_.value(node_.inputs[i]).type.shape; }
  const Shape& result_shape() const { return graph_.value(node_.outputs[0]).type.shape; }
  const Extent* of(std::size_t i) const {
    const auto found = has(i) ? extents_.find(node_.inputs[i]) : extents_.end();
    return found == extents_.end() ? nullptr : &found->second;
  }
  bool only_first() const {
    for (std::size_t i = 1; i < node_.inputs.size(); ++i)
      if (of(i) != nullptr) return false;
    return true;
  }
  // The values of an input that is a constant list.
  std::optional<std::vector<std::int64_t>> list(std::size_t i) const {
    if (!has(i) || !graph_.is_constant(node_.inputs[i])) return std::nullopt;
    const NdArray& array = *graph_.value(node_.inputs[i]).constant;
    std::vector<std::int64_t> values;
    for (std::int64_t k = 0; k < array.count(); ++k) values.push_back(array.as_int64(k));
    return values;
  }
  // Axes of the given rank, counted from the start.
  static std::vector<std::int64_t> counted(std::vector<std::int64_t> axes, std::size_t rank) {
    for (std::int64_t& axis : axes)
      if (axis < 0) axis += static_cast<std::int64_t>(rank);
    return axes;
  }

  std::optional<Extent> same() const {
    if (!only_first()) return std::nullopt;
    return *of(0);
  }

  // Operands without such an extent are the same for every element along the axis.
  std::optional<Extent> elementwise() const {
    std::optional<Extent> found;
    const std::size_t rank = result_shape().size();
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      if (const Extent* extent = of(i)) {
        const std::size_t axis = extent->axis + rank - shape(i).size();
        if (found && (found->axis != axis || found->extent != extent->extent)) return std::nullopt;
        found = Extent{axis, extent->extent, false};
      }
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!has(i) || of(i) != nullptr) continue;
      const std::size_t missing = rank - shape(i).size();
      if (found->axis >= missing && shape(i)[found->axis - missing] != 1) return std::nullopt;
    }
    return found;
  }

  std::optional<Extent> transpose() const {
    const std::size_t rank = shape(0).size();
    auto perm = graph::ints_attribute(node_, "perm", {});
    if (perm.empty())
      for (std::size_t d = rank; d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
    Extent extent = *of(0);
    const auto at = std::ranges::find(perm, static_cast<std::int64_t>(extent.axis));
    extent.axis = static_cast<std::size_t>(at - perm.begin());
    return extent;
  }

  std::optional<Extent> squeeze() const {
    Extent extent = *of(0);
    std::vector<std::int64_t> gone;
    if (has(1)) {
      const auto axes = list(1);
      if (!axes) return std::nullopt;
      gone = counted(*axes, shape(0).size());
    } else {
      for (std::size_t d = 0; d < shape(0).size(); ++d)
        if (shape(0)[d] == 1) gone.push_back(static_cast<std::int64_t>(d));
    }
    const auto axis = static_cast<std::int64_t>(extent.axis);
    if (std::ranges::find(gone, axis) != gone.end()) return std::nullopt;
    extent.axis -= static_cast<std::size_t>(std::ranges::count_if(gone, [&](std::int64_t d) { return d < axis; }));
    return extent;
  }

  std::optional<Extent> unsqueeze() const {
    const auto axes = list(1);
    if (!axes) return std::nullopt;
    const std::vector<std::int64_t> fresh = counted(*axes, result_shape().size());
    Extent extent = *of(0);
    std::size_t left = extent.axis;  // old axes before it
    for (std::size_t d = 0; d < result_shape().size(); ++d) {
      if (std::ranges::find(fresh, static_cast<std::int64_t>(d)) != fresh.end()) continue;
      if (left-- == 0) return extent.axis = d, extent;
    }
    return std::nullopt;
  }

  std::optional<Extent> slice() const {
    if (!only_first()) return std::nullopt;
    const Extent extent = *of(0);
    std::vector<std::int64_t> axes;
    if (has(3)) {
      const auto given = list(3);
      if (!given) return std::nullopt;
      axes = counted(*given, shape(0).size());
    } else {
      const auto starts = list(1);
      if (!starts) return std::nullopt;
      for (std::size_t d = 0; d < starts->size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
    }
    if (std::ranges::find(axes, static_cast<std::int64_t>(extent.axis)) != axes.end()) return std::nullopt;
    return extent;
  }

  // Padding positions read element 0.
  std::optional<Extent> gather() const {
    const std::int64_t rank = std::ssize(shape(0));
    std::int64_t axis = graph::int_attribute(node_, "axis", 0);
    if (axis < 0) axis += rank;
    const Extent *data = of(0), *indices = of(1);
    if (data != nullptr && indices != nullptr) return std::nullopt;
    if (indices != nullptr) {
      if (!indices->zero_padded || shape(0)[static_cast<std::size_t>(axis)] == 0) return std::nullopt;
      return Extent{static_cast<std::size_t>(axis) + indices->axis, indices->extent, false};
    }
    if (data->axis == static_cast<std::size_t>(axis)) return std::nullopt;
    Extent extent = *data;
    if (static_cast<std::int64_t>(extent.axis) > axis) extent.axis += shape(1).size() - 1;
    return extent;
  }
  std::optional<Extent> gather_nd() const {
    const Extent* indices = of(1);
    if (of(0) != nullptr || indices == nullptr || !indices->zero_padded ||
        graph::int_attribute(node_, "batch_dims", 0) != 0 || indices->axis + 1 >= shape(1).size() ||
        element_count(shape(0)) == 0)
      return std::nullopt;
    return Extent{indices->axis, indices->extent, false};
  }

  // The axis remains a separate axis: the same number of elements before it, and its extent is the one left open (-1)
  // by the shape.
  std::optional<Extent> reshape() const {
    if (!only_first()) return std::nullopt;
    const auto new_shape = list(1);
    if (!new_shape) return std::nullopt;
    Extent extent = *of(0);
    const auto before = [](const Shape& all, std::size_t axis) {
      return element_count(Shape(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(axis)));
    };
    for (std::size_t d = 0; d < result_shape().size(); ++d) {
      const bool open = (*new_shape)[d] == -1 || ((*new_shape)[d] == 0 && d == extent.axis);
      if (!open || result_shape()[d] != shape(0)[extent.axis] ||
          before(result_shape(), d) != before(shape(0), extent.axis))
        continue;
      extent.axis = d;
      return extent;
    }
    return std::nullopt;
  }

  std::optional<Extent> concat() const {
    std::int64_t axis = graph::int_attribute(node_, "axis", 0);
    if (axis < 0) axis += std::ssize(result_shape());
    Extent extent{0, {}, true};
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const Extent* one = of(i);
      if (one == nullptr || static_cast<std::int64_t>(one->axis) == axis ||
          (i > 0 && (one->axis != extent.axis || one->extent != extent.extent)))
        return std::nullopt;
      extent = {one->axis, one->extent, extent.zero_padded && one->zero_padded};
    }
    return extent;
  }

  const Graph& graph_;
  const Node& node_;
  const Extents& extents_;
};

std::span<const Rules::Row> Rules::rows() {
  // clang-format off
  static constexpr Row kRows[] = {
    {"Identity", &Rules::same},            {"Cast", &Rules::same},
    {"Transpose", &Rules::transpose},      {"Squeeze", &Rules::squeeze},        {"Unsqueeze", &Rules::unsqueeze},
    {"Slice", &Rules::slice},              {"Gather", &Rules::gather},          {"GatherND", &Rules::gather_nd},
    {"Reshape", &Rules::reshape},          {"Concat", &Rules::concat},
    {"Abs", &Rules::elementwise},          {"Add", &Rules::elementwise},        {"And", &Rules::elementwise},
    {"Ceil", &Rules::elementwise},         {"Equal", &Rules::elementwise},      {"Exp", &Rules::elementwise},
    {"Floor", &Rules::elementwise},        {"Greater", &Rules::elementwise},    {"GreaterOrEqual", &Rules::elementwise},
    {"Less", &Rules::elementwise},         {"LessOrEqual", &Rules::elementwise}, {"Log", &Rules::elementwise},
    {"Max", &Rules::elementwise},          {"Min", &Rules::elementwise},        {"Mul", &Rules::elementwise},
    {"Neg", &Rules::elementwise},          {"Not", &Rules::elementwise},        {"Or", &Rules::elementwise},
    {"Relu", &Rules::elementwise},         {"Round", &Rules::elementwise},      {"Sigmoid", &Rules::elementwise},
    {"Sqrt", &Rules::elementwise},         {"Sub", &Rules::elementwise},        {"Tanh", &Rules::elementwise},
    {"Where", &Rules::elementwise},        {"Xor", &Rules::elementwise},
  };
  // clang-format on
  return kRows;
}

struct BoundedRow {
  std::string_view op, bounded;
  std::size_t results;  // number of results of the model's operator
};
constexpr BoundedRow kBounded[] = {
    {"Compress", "dovetail.compress", 1},
    {"NonMaxSuppression", "dovetail.non_max_suppression", 1},
    {"NonZero", "dovetail.non_zero", 1},
    {"Unique", "dovetail.unique", 4},
};

// The axis of the bounded operator's result along which its last output counts the elements; nothing: the shape is
// fixed.
std::optional<std::size_t> bounded_axis(const Graph& graph, const Node& node, std::size_t result) {
  const auto axis = [&] {
    const std::int64_t given = graph::int_attribute(node, "axis", 0);
    const std::int64_t rank = std::ssize(graph.value(node.inputs[0]).type.shape);
    return static_cast<std::size_t>(given < 0 ? given + rank : given);
  };
  if (node.op == "dovetail.non_zero") return 1;
  if (node.op == "dovetail.non_max_suppression") return 0;
  if (result == 0) return axis();
  if (result == 2) return std::nullopt;  // for each slice, the index of the equal one
  return 0;
}

}  // namespace

void become_bounded(Graph& graph, graph::NodeId id) {
  const auto row = std::ranges::find(kBounded, graph.node(id).op, &BoundedRow::op);
  if (row == std::end(kBounded)) return;
  std::vector<ValueId> outputs = graph.node(id).outputs;
  while (outputs.size() < row->results)
    outputs.push_back(graph.add_value(fmt::format("{}/{}", graph.node(id).name, outputs.size()), {}));
  outputs.push_back(graph.add_value(fmt::format("{}/count", graph.node(id).name), {}));
  for (const ValueId output : outputs) graph.value(output).producer = id;
  const graph::NodeEdit node = graph.edit(id);
  node->op = row->bounded;
  node->outputs = std::move(outputs);
}

Result<void> follow_extents(const Graph& graph, graph::NodeId id, Extents& extents) {
  const Node& node = graph.node(id);
  const auto open = std::ranges::find_if(node.inputs, [&](ValueId input) { return extents.contains(input); });
  if (open != node.inputs.end()) {
    const std::optional<Extent> result = Rules(graph, node, extents).result();
    if (!result) {
      const Extent& extent = extents.at(*open);
      return Diagnostic{
          fmt::format("cannot import {} ({})", node.name, node.op), node.name,
          fmt::format("the number of elements of %{} along axis {} depends on data, which {} does not support",
                      graph.value(*open).name, extent.axis, node.op),
          "export the model with a result of fixed size instead (TopK with a constant k, Where with a "
          "mask), or end the model there and compute the rest outside"};
    }
    for (const ValueId output : node.outputs) extents[output] = *result;
    return {};
  }
  const auto bounded = std::ranges::find(kBounded, node.op, &BoundedRow::bounded);
  if (bounded != std::end(kBounded))
    for (std::size_t i = 0; i < bounded->results; ++i)
      if (const auto axis = bounded_axis(graph, node, i)) extents[node.outputs[i]] = {*axis, node.outputs.back(), true};
  if (node.op == ops::kLoop) {
    const ops::LoopParts parts = ops::loop_parts(node);
    for (std::size_t k = 0; k < parts.scanned; ++k)
      extents[node.outputs[parts.carried + k]] = {0, node.outputs.back(), true};
  }
  return {};
}

}  // namespace dovetail::import
