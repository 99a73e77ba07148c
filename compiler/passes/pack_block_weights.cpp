// x · DequantizeLinear(w), where w is a constant with a scale per block of rows (block_size): becomes
// dovetail.packed_gemm, which reads w as 2, 4 or 8 bits per element (compiler/ops/packed_gemm.cpp).
//
// Law: the operator's definition. Weights of 16-bit floats are not rounded before the product.
// Applies to MatMul and Gemm with a matrix w whose blocks run along the reduction; a Transpose of two axes and a Cast
// between floats may follow the DequantizeLinear. All others are left to constant folding, with a note. Run it before
// constants are folded.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/ops/packed_gemm.h"
#include "compiler/passes/list.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// A matrix of a product: DequantizeLinear(steps, scales, zero points), transposed or not.
struct BlockWeight {
  const NdArray* steps = nullptr;
  const NdArray* scales = nullptr;
  const NdArray* zero_points = nullptr;  // or null
  std::int64_t block = 0;
  std::int64_t axis = 0;    // of the blocks, in `steps`
  bool transposed = false;  // the product's operand is the transposed matrix
};

// nullopt for any other operand.
std::optional<BlockWeight> block_weight_of(const Graph& graph, ValueId operand) {
  BlockWeight weight;
  const auto constant = [&](const Node& node, std::size_t input) {
    const bool given = input < node.inputs.size() && graph.is_constant(node.inputs[input]);
    return given ? &*graph.value(node.inputs[input]).constant : nullptr;
  };
  for (ValueId value = operand; value.valid() && graph.value(value).producer.valid();) {
    const Node& node = graph.node(graph.value(value).producer);
    if (node.op == "Transpose" && graph.value(value).type.shape.size() == 2 &&
        graph::ints_attribute(node, "perm", {1, 0}) == std::vector<std::int64_t>{1, 0}) {
      weight.transposed = !weight.transposed;
    } else if (node.op == "DequantizeLinear") {
      weight.block = graph::int_attribute(node, "block_size", 0);
      weight.steps = constant(node, 0), weight.scales = constant(node, 1), weight.zero_points = constant(node, 2);
      const bool has_zero_points = node.inputs.size() > 2 && node.inputs[2].valid();
      if (weight.block < 1 || weight.steps == nullptr || weight.scales == nullptr ||
          (has_zero_points && weight.zero_points == nullptr) || weight.steps->rank() != 2)
        return std::nullopt;
      weight.axis = (graph::int_attribute(node, "axis", 1) + 2) % 2;
      return weight;
    } else if (node.op != "Cast" || !is_floating(graph.value(node.inputs[0]).type.dtype) ||
               !is_floating(graph.value(value).type.dtype)) {
      return std::nullopt;
    }
    value = node.inputs[0];
  }
  return std::nullopt;
}

struct StepRange {
  std::int64_t least = 0, greatest = 0;  // of all elements and 0
};
StepRange range_of(const NdArray& array) {
  StepRange range;
  for (std::int64_t i = 0; i < array.count(); ++i) {
    range.least = std::min(range.least, array.as_int64(i));
    range.greatest = std::max(range.greatest, array.as_int64(i));
  }
  return range;
}

// The fewest bits that hold all steps and zero points.
std::int64_t bits_of(const BlockWeight& weight) {
  StepRange range = range_of(*weight.steps);
  if (weight.zero_points != nullptr) {
    const StepRange zero = range_of(*weight.zero_points);
    range = {std::min(range.least, zero.least), std::max(range.greatest, zero.greatest)};
  }
  const bool is_signed = weight.steps->dtype() == DType::int8;
  for (const std::int64_t bits : {2, 4})
    if (is_signed ? range.least >= ops::least_step(bits) && range.greatest <= ops::greatest_step(bits)
                  : range.greatest < std::int64_t{1} << bits)
      return bits;
  return 8;
}

// `depth_axis`: the axis of the steps that the product sums over.
ops::PackedWeights packed(const BlockWeight& weight, std::size_t depth_axis) {
  const Shape& given = weight.steps->shape();
  const std::int64_t depth = given[depth_axis], columns = given[1 - depth_axis], bits = bits_of(weight);
  const ops::PackedShape shape{depth, columns, bits, std::min(weight.block, depth)};
  const std::int64_t blocks = shape.blocks();
  const auto at = [&](std::int64_t k, std::int64_t n, std::int64_t extent) {
    return depth_axis == 0 ? k * columns + n : n * extent + k;
  };
  // Unsigned steps and their zero points become signed ones together.
  const std::int64_t middle = weight.steps->dtype() == DType::uint8 ? ops::least_step(bits) : 0;
  NdArray scales(DType::float32, {columns, blocks}), zeros(DType::int8, {columns, blocks});
  bool all_zero = true;
  for (std::int64_t n = 0; n < columns; ++n)
    for (std::int64_t b = 0; b < blocks; ++b) {
      scales.set_double(n * blocks + b, weight.scales->as_double(at(b, n, blocks)));
      const std::int64_t zero =
          (weight.zero_points == nullptr ? 0 : weight.zero_points->as_int64(at(b, n, blocks))) + middle;
      zeros.set_int64(n * blocks + b, zero);
      all_zero &= zero == 0;
    }
  ops::PackedWeights result(shape, std::move(scales), all_zero ? std::nullopt : std::optional(std::move(zeros)));
  for (std::int64_t n = 0; n < columns; ++n)
    for (std::int64_t k = 0; k < depth; ++k) result.set_step(k, n, weight.steps->as_int64(at(k, n, depth)) + middle);
  return result;
}

class Packer {
 public:
  explicit Packer(Graph& graph) : graph_(graph) {}
  PassOutcome outcome;

  void visit(NodeId id) {
    const Node product = graph_.node(id);
    if (product.op != "MatMul" && product.op != "Gemm") return;
    const auto weight = block_weight_of(graph_, product.inputs[1]);
    if (!weight) return;
    const bool is_gemm = product.op == "Gemm";
    const bool stored_out_in = weight->transposed != (is_gemm && graph::int_attribute(product, "transB", 0) != 0);
    const std::string why = refusal(product, *weight, stored_out_in);
    if (why.empty()) replace(id, product, packed(*weight, stored_out_in ? 1 : 0));
    else
      outcome.notes.push_back(
          fmt::format("{} ({}) does not pack its weight of blocks: {}", product.name, product.op, why));
  }

 private:
  // Why a product does not become a packed one; "" if it does.
  std::string refusal(const Node& product, const BlockWeight& weight, bool stored_out_in) const {
    const graph::TensorType &x = graph_.value(product.inputs[0]).type, &y = graph_.value(product.outputs[0]).type;
    if (x.dtype != DType::float32 && x.dtype != DType::float16 && x.dtype != DType::bfloat16)
      return fmt::format("its activations are {}", name(x.dtype));
    if (weight.steps->dtype() != DType::int8 && weight.steps->dtype() != DType::uint8)
      return fmt::format("the steps are {}", name(weight.steps->dtype()));
    if (weight.axis != (stored_out_in ? 1 : 0)) return "its blocks run along the outputs";
    if (element_count(x.shape) == 0 || element_count(y.shape) == 0) return "it is empty";
    const Shape& steps = weight.steps->shape();
    Shape blocks = steps;
    const auto axis = static_cast<std::size_t>(weight.axis);
    blocks[axis] = (steps[axis] + weight.block - 1) / weight.block;
    if (weight.scales->count() != element_count(blocks) ||
        (weight.zero_points != nullptr && weight.zero_points->count() != element_count(blocks)))
      return "its scales do not fit its blocks";
    if (product.op == "Gemm" &&
        (graph::int_attribute(product, "transA", 0) != 0 || graph::float_attribute(product, "alpha", 1) != 1 ||
         graph::float_attribute(product, "beta", 1) != 1))
      return "the node transposes or scales its operands";
    return "";
  }

  // x [.., K] becomes a matrix, and the product of matrices [.., N]; C of a Gemm is added last.
  void replace(NodeId id, const Node& product, ops::PackedWeights weights) {
    const graph::TensorType x = graph_.value(product.inputs[0]).type, y = graph_.value(product.outputs[0]).type;
    const std::int64_t depth = weights.shape.depth, rows = element_count(x.shape) / depth;
    const bool adds = product.inputs.size() > 2 && product.inputs[2].valid(), reshapes = x.shape.size() != 2;
    outcome.notes.push_back(fmt::format("{} ({}) reads its weight as {} bytes of {}-bit elements in blocks of {}",
                                        product.name, product.op, 4 * weights.words.count(), weights.shape.bits,
                                        weights.shape.block));
    const ValueId matrix =
        reshapes ? add("Reshape", product, "rows", {product.inputs[0], shape_of(product, "rows_shape", {rows, depth})},
                       {x.dtype, {rows, depth}})
                 : product.inputs[0];
    std::vector<ValueId> inputs{matrix, graph_.add_constant(product.name + "/weight", std::move(weights.words)),
                                graph_.add_constant(product.name + "/scales", std::move(weights.scales))};
    if (weights.zero_points)
      inputs.push_back(graph_.add_constant(product.name + "/zero_points", *std::move(weights.zero_points)));
    graph::Attributes attributes{{"bits", weights.shape.bits}, {"block_size", weights.shape.block}};
    std::string op = "dovetail.packed_gemm";
    if (adds || reshapes) {
      const ValueId sums =
          add(op, product, "packed", std::move(inputs), {x.dtype, {rows, weights.shape.columns}}, attributes);
      attributes.clear();
      op = adds ? "Add" : "Reshape";
      inputs = {sums, adds ? product.inputs[2] : shape_of(product, "shape", y.shape)};
    }
    const graph::NodeEdit edit = graph_.edit(id);
    edit->op = std::move(op);
    edit->inputs = std::move(inputs);
    edit->attributes = std::move(attributes);
    ++outcome.changes;
  }

  ValueId add(std::string_view op, const Node& product, std::string_view stem, std::vector<ValueId> inputs,
              graph::TensorType type, graph::Attributes attributes = {}) {
    Node node;
    node.op = std::string(op);
    node.name = graph_.unique_node_name(fmt::format("{}/{}", product.name, stem));
    node.origins = product.origins;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    const ValueId result = graph_.add_value(fmt::format("{}/{}", product.name, stem), std::move(type));
    node.outputs = {result};
    graph_.add_node(std::move(node));
    return result;
  }

  ValueId shape_of(const Node& product, std::string_view stem, const Shape& shape) {
    return graph_.add_constant(fmt::format("{}/{}", product.name, stem),
                               NdArray::from<std::int64_t>({static_cast<std::int64_t>(shape.size())}, shape));
  }

  Graph& graph_;
};

}  // namespace

Result<PassOutcome> pack_block_weights(graph::Graph& graph, const PassContext&) {
  Packer packer(graph);
  for (const NodeId id : graph.topological_order()) packer.visit(id);
  if (packer.outcome.changes > 0) DOVETAIL_TRY(eliminate_dead_nodes(graph));
  return std::move(packer.outcome);
}

}  // namespace dovetail::passes
