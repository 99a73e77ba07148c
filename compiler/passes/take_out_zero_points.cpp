// Moves zero points of integer products with constant weights, as in dynamic quantization, out of the sum, where each
// product of bytes would need a subtraction, into a term for each output channel after it.
//
// MatMulInteger(a, b, za, zb) with constant b and zb, za one number: MatMulInteger(a, b - zb) - za * sums of the
// columns of b - zb, exactly, since int32 wraps. If b - zb does not fit int8, unsigned b minus 128 does, and the rest
// of zb is multiplied by the sums of the rows of a. ConvInteger is treated in the same way, with an explicit Pad with
// za if it pads; with groups only if w - zw fits.
#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/ops/convolve.h"
#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

// float32 represents all integers up to this one.
constexpr std::int64_t kLargestExact = 1 << 24, kLargestByte = 255;

// An axis of a tensor: element i has coordinate i / inner % extent along it.
struct Axis {
  std::int64_t extent, inner;
  std::size_t of(std::int64_t i) const { return static_cast<std::size_t>(i / inner % extent); }
};
Axis axis_of(const Shape& shape, std::size_t axis) {
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  return {shape[axis], inner};
}

std::int32_t wrapped(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

// Weights minus zero points as int8, minus the rest of the zero points: one number, or one for each output channel.
struct Weights {
  NdArray bytes;
  NdArray left_over;  // int32; empty: no rest
  std::int64_t left_of(std::size_t channel) const {
    if (left_over.count() == 0) return 0;
    return left_over.as_int64(left_over.count() == 1 ? 0 : static_cast<std::int64_t>(channel));
  }
};

// There is no rest if all differences fit int8; else 128 is subtracted from unsigned weights.
Weights centered(const NdArray& weights, const NdArray& zero_points, const Axis& channels) {
  const auto shifted = [&](const auto& by_channel) -> std::optional<NdArray> {
    NdArray result(DType::int8, weights.shape());
    const auto to = result.data<std::int8_t>();
    const auto subtract = [&](const auto& from) {
      for (std::int64_t i = 0; i < weights.count(); ++i) {
        const std::int64_t value = from[static_cast<std::size_t>(i)] - by_channel(i);
        if (value != static_cast<std::int8_t>(value)) return false;
        to[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(value);
      }
      return true;
    };
    const bool fits = weights.dtype() == DType::uint8 ? subtract(weights.data<std::uint8_t>())
                                                      : subtract(weights.data<std::int8_t>());
    return fits ? std::optional(std::move(result)) : std::nullopt;
  };
  const auto zero_point = [&](std::int64_t i) {
    return zero_points.as_int64(zero_points.count() == 1 ? 0 : static_cast<std::int64_t>(channels.of(i)));
  };
  if (auto bytes = shifted(zero_point)) return {*std::move(bytes), NdArray(DType::int32, {0})};
  const std::int64_t half = weights.dtype() == DType::uint8 ? 128 : 0;
  Weights made{shifted([&](std::int64_t) { return half; }).value(), NdArray(DType::int32, {zero_points.count()})};
  for (std::int64_t i = 0; i < zero_points.count(); ++i) made.left_over.set_int64(i, zero_points.as_int64(i) - half);
  return made;
}

class ZeroPoints {
 public:
  ZeroPoints(Graph& graph, NodeId id) : graph_(graph), id_(id), node_(graph.node(id)) {}

  bool take_out() {
    if ((!is_conv() && node_.op != "MatMulInteger") || (!has_input(node_, 2) && !has_input(node_, 3))) return false;
    const ValueId x = node_.inputs[0], w = node_.inputs[1];
    const Shape shape = shape_of(graph_, w);
    if (!graph_.is_constant(w) || shape_of(graph_, x).size() < 2 || shape.size() < 2 || element_count(shape) == 0)
      return false;
    const std::optional<ValueId> of_x = zero_point(2), of_w = zero_point(3);
    if ((of_x && element_count(shape_of(graph_, *of_x)) != 1) || (of_w && !graph_.is_constant(*of_w))) return false;
    const auto pads = of_x && is_conv() ? pads_of_x() : Ints{};
    if (!pads) return false;
    const Axis channels = axis_of(shape, is_conv() ? 0 : shape.size() - 1);
    const Weights weights = centered(*graph_.value(w).constant,
                                     of_w ? *graph_.value(*of_w).constant : NdArray(DType::int32, {1}), channels);
    const bool left_over = weights.left_over.count() > 0;
    if (left_over && is_conv() && !has_window_sums(shape)) return false;

    const bool same = !of_w && graph_.value(w).type.dtype == DType::int8;
    const ValueId bytes = same ? w : graph_.add_constant(graph_.value(w).name + "/bytes", weights.bytes);
    if (!of_x && !left_over) return become(graph_, id_, node_.op, {x, bytes}, node_.attributes);
    graph::Attributes attributes = node_.attributes;
    const ValueId image = of_x && is_conv() ? padded(*pads, *of_x, attributes) : x;
    const ValueId products = add(node_.op, "/products", {image, bytes}, attributes);
    std::optional<ValueId> term;
    if (of_x) {
      const ValueId wide = as(DType::int32, *of_x);
      term =
          add("Mul", "/of_x", {sums_of(weights, channels), shape_of(graph_, wide).size() > 1 ? as_number(wide) : wide});
    }
    if (left_over) {
      const ValueId sums = is_conv() ? window_sums(image, shape, attributes) : row_sums(image, -1);
      const ValueId of_weights = add("Mul", "/of_w", {sums, by_channel(weights.left_over)});
      term = term ? add("Add", "/zero_points", {*term, of_weights}) : of_weights;
    }
    return become(graph_, id_, "Sub", {products, *term});
  }

 private:
  bool is_conv() const { return node_.op == "ConvInteger"; }
  ValueId add(std::string_view op, std::string_view suffix, std::vector<ValueId> inputs,
              graph::Attributes attributes = {}) {
    return insert(graph_, op, node_.name + std::string(suffix), std::move(inputs), std::move(attributes),
                  node_.origins);
  }
  ValueId as(DType type, ValueId value) {
    return add("Cast", "/cast", {value}, {{"to", std::int64_t{info(type).onnx}}});
  }
  ValueId as_number(ValueId value) {
    if (shape_of(graph_, value).empty()) return value;
    return add("Reshape", "/number", {value, add_integers(graph_, "shape", {})});
  }

  // nullopt if there is no zero point, or it has only zeros.
  std::optional<ValueId> zero_point(std::size_t position) const {
    if (!has_input(node_, position)) return std::nullopt;
    const ValueId value = node_.inputs[position];
    return uniform(graph_, value) == 0 ? std::nullopt : std::optional(value);
  }

  // The pads in Pad's form; empty: x is not padded. nullopt for negative pads.
  std::optional<Ints> pads_of_x() const {
    const auto shape = ops::conv_shape({graph_, node_});
    if (!shape) return std::nullopt;
    const ops::Window& window = shape->window;
    Ints pads(2 * (window.rank() + 2), 0);
    for (std::size_t d = 0; d < window.rank(); ++d) {
      pads[2 + d] = window.pad_begin[d];
      pads[pads.size() / 2 + 2 + d] = window.pad_end[d];
    }
    if (std::ranges::any_of(pads, [](std::int64_t n) { return n < 0; })) return std::nullopt;
    return std::ranges::any_of(pads, [](std::int64_t n) { return n > 0; }) ? pads : Ints{};
  }
  // Pads x with the zero point, so that padding does not contribute to the sum.
  ValueId padded(const Ints& pads, ValueId of_x, graph::Attributes& attributes) {
    attributes.erase("pads");
    attributes.erase("auto_pad");
    if (pads.empty()) return node_.inputs[0];
    return add("Pad", "/padded", {node_.inputs[0], add_integers(graph_, "pads", pads), as_number(of_x)});
  }

  // A constant of one number, or one for each output channel in the shape of the result.
  ValueId by_channel(const NdArray& values) {
    Shape shape{values.count()};
    if (is_conv()) shape.resize(shape_of(graph_, node_.inputs[1]).size() - 1, 1);
    return graph_.add_constant(node_.name + "/weight_zero_points", values.reshaped(shape));
  }
  // The sums of weights minus zero points, for each output channel and each matrix of a batch; they wrap.
  ValueId sums_of(const Weights& weights, const Axis& channels) {
    Shape shape{channels.extent};
    const std::size_t rank = weights.bytes.shape().size();
    std::int64_t of_batch = weights.bytes.count();
    if (is_conv()) {
      shape.resize(rank - 1, 1);
    } else if (rank > 2) {
      shape = weights.bytes.shape();
      of_batch = shape[rank - 2] * channels.extent;
      shape[rank - 2] = 1;
    }
    std::vector<std::int64_t> sums(static_cast<std::size_t>(element_count(shape)));
    const auto from = weights.bytes.data<std::int8_t>();
    for (std::int64_t i = 0; i < weights.bytes.count(); ++i)
      sums[static_cast<std::size_t>(i / of_batch * channels.extent) + channels.of(i)] +=
          from[static_cast<std::size_t>(i)];
    const std::int64_t depth = of_batch / channels.extent;
    NdArray result(DType::int32, shape);
    const auto to = result.data<std::int32_t>();
    for (std::size_t i = 0; i < sums.size(); ++i)
      to[i] = wrapped(sums[i] - depth * weights.left_of(i % static_cast<std::size_t>(channels.extent)));
    return graph_.add_constant(node_.name + "/weight_sums", std::move(result));
  }

  ValueId row_sums(ValueId x, std::int64_t axis) {
    return add("ReduceSum", "/row_sums", {as(DType::int32, x), add_integers(graph_, "axes", {axis})});
  }
  // With one group, windows are summed over the channels first, and then by a convolution of one channel, in floats.
  bool has_window_sums(const Shape& weights) const {
    return graph::int_attribute(node_, "group", 1) == 1 &&
           element_count(weights) / weights[0] * kLargestByte < kLargestExact;
  }
  ValueId window_sums(ValueId x, const Shape& weights, graph::Attributes attributes) {
    Shape window = weights;
    window[0] = window[1] = 1;
    NdArray ones(DType::float32, window);
    std::ranges::fill(ones.data<float>(), 1.0F);
    const ValueId sums = as(DType::float32, row_sums(x, 1));
    const ValueId kernel = graph_.add_constant(node_.name + "/ones", std::move(ones));
    return as(DType::int32, add("Conv", "/window_sums", {sums, kernel}, std::move(attributes)));
  }

  Graph& graph_;
  const NodeId id_;
  const graph::Node node_;
};

}  // namespace

Result<PassOutcome> take_out_zero_points(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order())
    if (!graph.node(id).removed && ZeroPoints(graph, id).take_out()) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes
