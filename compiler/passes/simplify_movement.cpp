// Simplifies nodes that only move elements: merges consecutive reshapes; merges and cancels consecutive transposes;
// turns a transpose that only moves extents of 1 into a reshape; moves a transpose past an elementwise node to another
// transpose; merges Concat of Concat and Slice of Slice; lets Slice of Concat read the operand that contains it;
// replaces a Concat of a Split's parts in their order by the Split's input; and removes Expand before a broadcasting
// node; merges consecutive Pads, and Slices of what a Pad added; and moves a transpose past a Pad to another transpose,
// and past a sum or product of two equally transposed operands; and makes a product of a stack of rows and one matrix a
// product of matrices. All values stay bit-identical.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

template <std::size_t n>
bool is_one_of(std::string_view op, const std::array<std::string_view, n>& ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool keeps_order(std::string_view op) {
  return is_one_of(op, std::array<std::string_view, 4>{"Reshape", "Flatten", "Squeeze", "Unsqueeze"});
}
// Whether each element depends on the same element of one varying operand.
bool is_elementwise(std::string_view op) {
  return is_one_of(op,
                   std::array<std::string_view, 20>{"Relu",      "Sigmoid",    "Tanh",           "Neg",
                                                    "Abs",       "Exp",        "Sqrt",           "Erf",
                                                    "Gelu",      "HardSwish",  "Swish",          "Mish",
                                                    "LeakyRelu", "Elu",        "Clip",           "Cast",
                                                    "Softplus",  "Reciprocal", "dovetail.qclip", "dovetail.recenter"});
}
constexpr std::array<std::string_view, 9> kBroadcasting{"Add", "Sub",   "Mul",  "Div",    "Min",
                                                        "Max", "Equal", "Less", "Greater"};

bool reshape_to(Graph& graph, NodeId id, ValueId input, const std::vector<NodeId>& absorbed) {
  const Shape shape = shape_of(graph, graph.node(id).outputs[0]);
  const bool has_zero = std::find(shape.begin(), shape.end(), 0) != shape.end();
  graph::Attributes attributes;
  if (has_zero) attributes["allowzero"] = std::int64_t{1};
  return become(graph, id, "Reshape", {input, add_integers(graph, graph.node(id).name + "/shape", shape)}, attributes,
                absorbed);
}

bool merge_reshapes(Graph& graph, NodeId id) {
  if (!keeps_order(graph.node(id).op)) return false;
  const NodeId before = graph.value(graph.node(id).inputs[0]).producer;
  if (!before.valid() || !keeps_order(graph.node(before).op)) return false;
  const ValueId input = graph.node(before).inputs[0];
  if (graph.value(input).type == graph.value(graph.node(id).outputs[0]).type) return bypass(graph, id, input);
  return reshape_to(graph, id, input, {before});
}

bool merge_transposes(Graph& graph, NodeId id) {
  if (graph.node(id).op != "Transpose") return false;
  const auto before = produced_by(graph, graph.node(id).inputs[0], "Transpose");
  if (!before) return false;
  const Ints first = permutation(graph, graph.node(*before)), second = permutation(graph, graph.node(id));
  Ints both;
  for (const std::int64_t axis : second) both.push_back(first[static_cast<std::size_t>(axis)]);
  const ValueId input = graph.node(*before).inputs[0];
  if (std::is_sorted(both.begin(), both.end()) && bypass(graph, id, input)) return true;
  return become(graph, id, "Transpose", {input}, {{"perm", both}}, {*before});
}

// Axes of extent 1 do not matter: the order of elements depends on the other axes.
bool transpose_to_reshape(Graph& graph, NodeId id) {
  if (graph.node(id).op != "Transpose") return false;
  const ValueId input = graph.node(id).inputs[0];
  Ints long_axes;
  for (const std::int64_t axis : permutation(graph, graph.node(id)))
    if (shape_of(graph, input)[static_cast<std::size_t>(axis)] != 1) long_axes.push_back(axis);
  return std::is_sorted(long_axes.begin(), long_axes.end()) && reshape_to(graph, id, input, {});
}

// Transpose, elementwise, Transpose: moves the first one after the elementwise node, next to the second one.
bool push_transpose(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (!is_elementwise(node.op) || node.outputs.size() != 1 || !used_once(graph, node.outputs[0]) ||
      !used_once(graph, node.inputs[0]))
    return false;
  const auto before = produced_by(graph, node.inputs[0], "Transpose");
  const std::vector<NodeId> users = graph.users(node.outputs[0]);
  if (!before || users.size() != 1 || graph.node(users[0]).op != "Transpose") return false;
  std::vector<ValueId> operands = node.inputs;
  operands[0] = graph.node(*before).inputs[0];
  const ValueId moved = insert(graph, node.op, node.name + "/moved", operands, node.attributes, node.origins);
  return become(graph, id, "Transpose", {moved}, {{"perm", permutation(graph, graph.node(*before))}}, {*before});
}

// Transpose, a reshape that adds or drops extents of 1, Transpose: moves the first one after the reshape, next to the
// second one.
bool push_transpose_past_reshape(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (!keeps_order(node.op) || !used_once(graph, node.outputs[0]) || !used_once(graph, node.inputs[0])) return false;
  const auto before = produced_by(graph, node.inputs[0], "Transpose");
  const std::vector<NodeId> users = graph.users(node.outputs[0]);
  if (!before || users.size() != 1 || graph.node(users[0]).op != "Transpose") return false;
  const Shape from = shape_of(graph, node.inputs[0]), to = shape_of(graph, node.outputs[0]);
  const Ints perm = permutation(graph, graph.node(*before));
  Ints long_axes, moved;  // axes of x; the position of each axis of the result in x reshaped, with extents of 1 last
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) long_axes.push_back(perm[i]);
  Ints sorted = long_axes;
  std::sort(sorted.begin(), sorted.end());
  Shape shape;
  for (const std::int64_t axis : sorted)
    shape.push_back(shape_of(graph, graph.node(*before).inputs[0])[static_cast<std::size_t>(axis)]);
  std::size_t next = 0;
  auto unit = static_cast<std::int64_t>(sorted.size());
  for (const std::int64_t extent : to) {
    if (extent == 1) {
      moved.push_back(unit++);
      shape.push_back(1);
    } else {
      if (next == long_axes.size() ||
          shape_of(graph, graph.node(*before).inputs[0])[static_cast<std::size_t>(long_axes[next])] != extent)
        return false;
      moved.push_back(std::find(sorted.begin(), sorted.end(), long_axes[next++]) - sorted.begin());
    }
  }
  if (next != long_axes.size()) return false;
  const ValueId reshaped =
      insert(graph, "Reshape", node.name + "/moved",
             {graph.node(*before).inputs[0], add_integers(graph, node.name + "/moved_shape", shape)}, {}, node.origins);
  return become(graph, id, "Transpose", {reshaped}, {{"perm", moved}}, {*before});
}

// The constant or value `other`, which is broadcast to shape `to`, reshaped for a result of shape `from`, which has the
// same elements with other extents of 1. nullopt if the shapes differ in more than that.
std::optional<ValueId> with_other_units(Graph& graph, ValueId other, const Shape& to, const Shape& from,
                                        const std::string& stem) {
  const Shape given = shape_of(graph, other);
  if (given.size() > to.size()) return std::nullopt;
  Shape longer;  // extents of `other` along those of `to` that are not 1
  for (std::size_t d = 0; d < to.size(); ++d) {
    const std::size_t missing = to.size() - given.size();
    const std::int64_t extent = d < missing ? 1 : given[d - missing];
    if (to[d] != 1) longer.push_back(extent);
  }
  Shape shape;
  std::size_t next = 0;
  for (const std::int64_t extent : from) shape.push_back(extent == 1 ? 1 : longer[next++]);
  if (shape == given) return other;
  return insert(graph, "Reshape", stem + "/units", {other, add_integers(graph, stem + "/units_shape", shape)}, {}, {});
}

bool differ_in_units(Shape a, Shape b) {
  std::erase(a, 1), std::erase(b, 1);
  return a == b;
}

// Whether the value is the result of a convolution or product, perhaps with elementwise nodes of the same kernel after
// it.
bool is_product(const Graph& graph, ValueId value) {
  const NodeId id = graph.value(value).producer;
  if (!id.valid() || !used_once(graph, value)) return false;
  const graph::Node& node = graph.node(id);
  const bool binary = is_one_of(node.op, kBroadcasting) && node.inputs.size() == 2;
  if (!binary && !is_elementwise(node.op)) return ops::find(node.op)->category == ops::Category::complex_out_fusable;
  return is_product(graph, node.inputs[0]) || (binary && is_product(graph, node.inputs[1]));
}

// A convolution or product, a reshape that adds or drops extents of 1, an elementwise node or a pool of whole images:
// moves the reshape after the node, which can then be fused with the node that computes its operand, or read it in its
// layout.
bool push_units(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  const bool binary = is_one_of(node.op, kBroadcasting) && node.inputs.size() == 2;
  const bool pool = is_one_of(node.op, std::array<std::string_view, 2>{"GlobalMaxPool", "GlobalAveragePool"});
  if ((!binary && !pool && !is_elementwise(node.op)) || node.outputs.size() != 1) return false;
  for (std::size_t i = 0; i < (binary ? 2U : 1U); ++i) {
    const NodeId before = graph.value(node.inputs[i]).producer;
    if (!before.valid() || !keeps_order(graph.node(before).op) || !used_once(graph, node.inputs[i])) continue;
    const ValueId x = graph.node(before).inputs[0];
    const Shape from = shape_of(graph, x), to = shape_of(graph, node.inputs[i]);
    if (!differ_in_units(from, to) || !is_product(graph, x)) continue;
    // Images and channels must stay the first dimensions of a pool; another node must not broadcast its operand.
    if (pool ? from.size() < 3 || !std::equal(to.begin(), to.begin() + 2, from.begin())
             : shape_of(graph, node.outputs[0]) != to)
      continue;
    std::vector<ValueId> operands = node.inputs;
    operands[i] = x;
    if (binary) {
      const auto other = with_other_units(graph, node.inputs[1 - i], to, from, node.name);
      if (!other) continue;
      operands[1 - i] = *other;
    }
    const ValueId moved = insert(graph, node.op, node.name + "/moved", operands, node.attributes, node.origins);
    return reshape_to(graph, id, moved, {before});
  }
  return false;
}

// A stack of rows times one matrix: the rows become those of one product, which reads the matrix once for many rows.
bool stack_rows(Graph& graph, NodeId id) {
  static constexpr std::array<std::string_view, 4> kProducts{"MatMul", "MatMulInteger", "dovetail.qgemm",
                                                             "dovetail.wgemm"};
  const graph::Node node = graph.node(id);
  if (!is_one_of(node.op, kProducts) || (node.op == "MatMulInteger" && node.inputs.size() > 2)) return false;
  const Shape x = shape_of(graph, node.inputs[0]);
  if (x.size() < 3 || x[x.size() - 2] != 1 || shape_of(graph, node.inputs[1]).size() != 2) return false;
  // The last of the other extents becomes that of the rows, if it is the only one.
  Shape stacked(x.size(), 1);
  stacked.back() = x.back();
  std::int64_t& rows = stacked[x.size() - 2];
  for (std::size_t d = 0; d + 2 < x.size(); ++d)
    if (x[d] != 1 && std::exchange(rows, x[d]) != 1) return false;
  if (rows == 1) return false;
  std::vector<ValueId> operands = node.inputs;
  operands[0] = insert(graph, "Reshape", node.name + "/rows",
                       {operands[0], add_integers(graph, node.name + "/rows_shape", stacked)}, {}, node.origins);
  const ValueId product = insert(graph, node.op, node.name + "/product", operands, node.attributes, node.origins);
  return reshape_to(graph, id, product, {});
}

std::size_t concat_axis(const Graph& graph, const graph::Node& node) {
  const std::int64_t axis = graph::int_attribute(node, "axis", 0);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape_of(graph, node.outputs[0]).size())
                                           : axis);
}

bool merge_concats(Graph& graph, NodeId id) {
  if (graph.node(id).op != "Concat") return false;
  const graph::Node node = graph.node(id);
  const std::size_t axis = concat_axis(graph, node);
  std::vector<ValueId> operands;
  std::vector<NodeId> absorbed;
  for (const ValueId input : node.inputs) {
    const auto part = produced_by(graph, input, "Concat");
    if (part && used_once(graph, input) && concat_axis(graph, graph.node(*part)) == axis) {
      operands.insert(operands.end(), graph.node(*part).inputs.begin(), graph.node(*part).inputs.end());
      absorbed.push_back(*part);
    } else {
      operands.push_back(input);
    }
  }
  return !absorbed.empty() &&
         become(graph, id, "Concat", operands, {{"axis", static_cast<std::int64_t>(axis)}}, absorbed);
}

// A Concat of all parts of one Split, in order, along its axis.
bool concat_of_split(Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  if (node.op != "Concat") return false;
  const NodeId split = graph.value(node.inputs[0]).producer;
  if (!split.valid() || graph.node(split).op != "Split" || graph.node(split).outputs != node.inputs) return false;
  const std::int64_t axis = graph::int_attribute(graph.node(split), "axis", 0),
                     rank = static_cast<std::int64_t>(shape_of(graph, node.outputs[0]).size());
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis) == concat_axis(graph, node) &&
         bypass(graph, id, graph.node(split).inputs[0]);
}

// The beginning of a Slice with steps of 1 along every axis; nullopt for other steps.
std::optional<Ints> slice_begin(const Graph& graph, const graph::Node& node) {
  const Shape& x = shape_of(graph, node.inputs[0]);
  const auto starts = integers(graph, node.inputs[1]);
  if (!starts) return std::nullopt;
  Ints axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (has_input(node, 3)) axes = integers(graph, node.inputs[3]).value_or(Ints{});
  if (axes.size() != starts->size()) return std::nullopt;
  if (has_input(node, 4)) {
    const auto steps = integers(graph, node.inputs[4]);
    if (!steps || std::any_of(steps->begin(), steps->end(), [](std::int64_t step) { return step != 1; }))
      return std::nullopt;
  }
  Ints begin(x.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(x.size()) : axes[i]);
    begin[axis] = std::clamp<std::int64_t>((*starts)[i] < 0 ? (*starts)[i] + x[axis] : (*starts)[i], 0, x[axis]);
  }
  return begin;
}

bool slice_from(Graph& graph, NodeId id, ValueId input, const Ints& begin, const std::vector<NodeId>& absorbed) {
  const std::string name = graph.node(id).name;
  Ints end = begin;
  const Shape shape = shape_of(graph, graph.node(id).outputs[0]);
  for (std::size_t i = 0; i < end.size(); ++i) end[i] += shape[i];
  return become(graph, id, "Slice",
                {input, add_integers(graph, name + "/starts", begin), add_integers(graph, name + "/ends", end)}, {},
                absorbed);
}

bool merge_slices(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "Slice") return false;
  auto begin = slice_begin(graph, node);
  if (!begin) return false;
  if (const auto before = produced_by(graph, node.inputs[0], "Slice")) {
    const auto outer = slice_begin(graph, graph.node(*before));
    if (!outer) return false;
    for (std::size_t i = 0; i < begin->size(); ++i) (*begin)[i] += (*outer)[i];
    return slice_from(graph, id, graph.node(*before).inputs[0], *begin, {*before});
  }
  const auto concat = produced_by(graph, node.inputs[0], "Concat");
  if (!concat) return false;
  const std::size_t axis = concat_axis(graph, graph.node(*concat));
  const std::int64_t last = (*begin)[axis] + shape_of(graph, node.outputs[0])[axis];
  std::int64_t at = 0;
  for (const ValueId part : graph.node(*concat).inputs) {
    const std::int64_t next = at + shape_of(graph, part)[axis];
    if ((*begin)[axis] >= at && last <= next && last > (*begin)[axis]) {
      (*begin)[axis] -= at;
      return slice_from(graph, id, part, *begin, {});
    }
    at = next;
  }
  return false;
}

// A node that broadcasts its operands does not need Expand, if its result has the same shape without it.
bool drop_expand(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (!is_one_of(node.op, kBroadcasting)) return false;
  bool changed = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto expand = produced_by(graph, graph.node(id).inputs[i], "Expand");
    if (!expand) continue;
    std::vector<ValueId> operands = graph.node(id).inputs;
    operands[i] = graph.node(*expand).inputs[0];
    changed |= become(graph, id, node.op, operands, node.attributes, {*expand});
  }
  return changed;
}

// The operand with these pads, with the value of `pad`; the operand itself if there are none.
bool pad_from(Graph& graph, NodeId id, const graph::Node& pad, const Ints& pads, const std::vector<NodeId>& absorbed) {
  if (std::ranges::all_of(pads, [](std::int64_t count) { return count == 0; })) return bypass(graph, id, pad.inputs[0]);
  std::vector<ValueId> inputs{pad.inputs[0], add_integers(graph, graph.node(id).name + "/pads", pads)};
  if (has_input(pad, 2)) inputs.push_back(pad.inputs[2]);
  return become(graph, id, "Pad", inputs, {}, absorbed);
}

// A Slice, or a Pad with negative pads, of a Pad, that takes away no more than was added; and a Pad of a Pad with the
// same value.
bool merge_pads(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "Pad" && node.op != "Slice") return false;
  const auto before = produced_by(graph, node.inputs[0], "Pad");
  if (!before) return false;
  const graph::Node pad = graph.node(*before);
  auto pads = constant_pads(graph, pad);
  if (!pads || std::ranges::any_of(*pads, [](std::int64_t count) { return count < 0; })) return false;
  const std::size_t rank = pads->size() / 2;
  Ints change(2 * rank, 0);
  if (node.op == "Slice") {
    const auto begin = slice_begin(graph, node);
    if (!begin) return false;
    for (std::size_t i = 0; i < rank; ++i) {
      change[i] = -(*begin)[i];
      change[i + rank] = (*begin)[i] + shape_of(graph, node.outputs[0])[i] - shape_of(graph, node.inputs[0])[i];
    }
  } else {
    const auto more = constant_pads(graph, node);
    if (!more) return false;
    change = *more;
    const auto value = [&](const graph::Node& each) {
      return has_input(each, 2) ? uniform(graph, each.inputs[2]) : std::optional(0.0);
    };
    const bool adds = std::ranges::any_of(change, [](std::int64_t count) { return count > 0; });
    if (adds && (!value(node) || value(node) != value(pad))) return false;
  }
  for (std::size_t i = 0; i < pads->size(); ++i)
    if (((*pads)[i] += change[i]) < 0) return false;
  return pad_from(graph, id, pad, *pads, {*before});
}

// Transpose, Pad, Transpose: moves the first one after the Pad, next to the second one.
bool push_transpose_past_pad(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "Pad" || !used_once(graph, node.outputs[0]) || !used_once(graph, node.inputs[0])) return false;
  const auto before = produced_by(graph, node.inputs[0], "Transpose");
  if (!before || graph.node(graph.users(node.outputs[0])[0]).op != "Transpose") return false;
  const auto pads = constant_pads(graph, node);
  if (!pads) return false;
  const Ints perm = permutation(graph, graph.node(*before));
  Ints moved_pads(pads->size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const auto axis = static_cast<std::size_t>(perm[i]);
    moved_pads[axis] = (*pads)[i], moved_pads[axis + perm.size()] = (*pads)[i + perm.size()];
  }
  std::vector<ValueId> inputs{graph.node(*before).inputs[0],
                              add_integers(graph, node.name + "/moved_pads", moved_pads)};
  if (has_input(node, 2)) inputs.push_back(node.inputs[2]);
  const ValueId moved = insert(graph, "Pad", node.name + "/moved", inputs, node.attributes, node.origins);
  return become(graph, id, "Transpose", {moved}, {{"perm", perm}}, {*before});
}

// A sum or product of two tensors of one shape, transposed in the same way: one transpose, of the result.
bool push_equal_transposes(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  const bool of_steps = node.op == "dovetail.qadd" || node.op == "dovetail.qmul";
  if ((!of_steps && !is_one_of(node.op, kBroadcasting)) || node.inputs.size() != 2) return false;
  const auto a = produced_by(graph, node.inputs[0], "Transpose"), b = produced_by(graph, node.inputs[1], "Transpose");
  if (!a || !b || a == b || !used_once(graph, node.inputs[0]) || !used_once(graph, node.inputs[1])) return false;
  const Ints perm = permutation(graph, graph.node(*a));
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = graph.node(*a).inputs[0], inputs[1] = graph.node(*b).inputs[0];
  if (permutation(graph, graph.node(*b)) != perm || shape_of(graph, inputs[0]) != shape_of(graph, inputs[1]))
    return false;
  const ValueId moved = insert(graph, node.op, node.name + "/moved", inputs, node.attributes, node.origins);
  return become(graph, id, "Transpose", {moved}, {{"perm", perm}}, {*a, *b});
}

constexpr bool (*kMovementRules[])(Graph&, NodeId) = {
    merge_reshapes,          merge_transposes,      transpose_to_reshape, push_transpose, push_transpose_past_reshape,
    push_transpose_past_pad, push_equal_transposes, push_units,           stack_rows,     merge_concats,
    concat_of_split,         merge_slices,          merge_pads,           drop_expand};

}  // namespace

Result<PassOutcome> simplify_movement(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order())
    for (const auto rule : kMovementRules)
      if (!graph.node(id).removed && rule(graph, id)) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes
