#include "compiler/target/accel/select/fold_window.h"

#include <algorithm>
#include <utility>

#include "isa/spec/timing.h"

namespace dovetail::accel {

namespace {

// Positions in [n, c, h, w] and in [o, c, ky, kx].
constexpr std::size_t kChannelAxis = 1, kRowAxis = 2, kColumnAxis = 3;

// Weights [o, c, ky, kx]: taps along `dimension` become channels, the tap slowest, as in Layout::Fold.
NdArray fold_weight(const NdArray& weight, std::size_t dimension) {
  const Shape& from = weight.shape();
  Shape to = from;
  to[kChannelAxis] *= from[dimension];
  to[dimension] = 1;
  NdArray folded(DType::int8, to);
  const auto source = weight.data<std::int8_t>();
  const auto target = folded.data<std::int8_t>();
  std::size_t at = 0;
  for (std::int64_t o = 0; o < from[0]; ++o)
    for (std::int64_t c = 0; c < from[1]; ++c)
      for (std::int64_t ky = 0; ky < from[2]; ++ky)
        for (std::int64_t kx = 0; kx < from[3]; ++kx) {
          const std::int64_t tap = dimension == kRowAxis ? ky : kx, other = dimension == kRowAxis ? kx : ky;
          const std::int64_t channel = tap * from[1] + c, others = dimension == kRowAxis ? from[3] : from[2];
          target[static_cast<std::size_t>((o * to[1] + channel) * others + other)] = source[at++];
        }
  return folded;
}

void fold_columns(Operation& operation, std::int64_t windows) {
  auto& conv = std::get<ConvOperation>(operation.body);
  ConvSpec& spec = conv.spec;
  conv.folds.push_back(
      {kColumnAxis, kChannelAxis, spec.kernel_w, windows, spec.stride_w, spec.dilation_w, spec.pad_left});
  conv.weight = fold_weight(conv.weight, kColumnAxis);
  spec.kernel_w = spec.stride_w = spec.dilation_w = 1;
  spec.pad_left = 0;
  operation.borders[0].border.left = operation.borders[0].border.right = 0;
}

void fold_rows(Operation& operation, std::int64_t windows) {
  auto& conv = std::get<ConvOperation>(operation.body);
  ConvSpec& spec = conv.spec;
  conv.folds.push_back({kRowAxis, kChannelAxis, spec.kernel_h, windows, spec.stride_h, spec.dilation_h, spec.pad_top});
  conv.weight = fold_weight(conv.weight, kRowAxis);
  spec.kernel_h = spec.stride_h = spec.dilation_h = 1;
  spec.pad_top = 0;
  operation.borders[0].border.top = operation.borders[0].border.bottom = 0;
}

bool reads_pads(const ConvSpec& spec, const TensorLayout& x, const ImageShape& y) {
  return spec.pad_top > 0 || spec.pad_left > 0 ||
         (y.h - 1) * spec.stride_h + (spec.kernel_h - 1) * spec.dilation_h - spec.pad_top >= x.h ||
         (y.w - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w - spec.pad_left >= x.w;
}

// The shape of the convolution's own result, which a pooling after it makes smaller.
ImageShape shape_of_products(const graph::Graph& graph, const Operation& operation, const Core& config) {
  const bool pooled = std::get<ConvOperation>(operation.body).pooling.has_value();
  return image_shape(graph, pooled ? graph.node(operation.nodes.front()).outputs[0] : operation.output, config);
}

struct Price {
  std::int64_t cycles, bytes;
  auto operator<=>(const Price&) const = default;
};

Price price_of(const graph::Graph& graph, const Operation& operation, const Core& config) {
  const ConvSpec& spec = std::get<ConvOperation>(operation.body).spec;
  TensorLayout x = input_layout(graph, operation, 0, config);
  x.border = operation.borders[0].border;
  const TensorLayout y = make_layout(config, shape_of_products(graph, operation, config));
  const std::int64_t weights = spec.kernel_h * spec.kernel_w * x.padded_c() * y.padded_c();
  const std::int64_t steps = y.padded_n() * y.h * y.w * weights / (config.batch * config.block_in * config.block_out);
  const std::int64_t bytes = x.bytes() + weights;
  return {std::max(steps * isa::spec::kGemmCyclesPerUop.value, bytes / config.bus_bytes), bytes};
}

}  // namespace

std::optional<Operation> fold_window(const graph::Graph& graph, const Operation& operation, const Core& config) {
  const auto* conv = std::get_if<ConvOperation>(&operation.body);
  if (!conv) return std::nullopt;
  const bool has_groups = conv->weight.shape()[kChannelAxis] != image_shape(graph, operation.inputs[0], config).c;
  if (has_groups) return std::nullopt;
  const ImageShape y = shape_of_products(graph, operation, config);
  std::optional<Operation> best;
  Price least = price_of(graph, operation, config);
  for (const auto& [columns, rows] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    if ((columns && conv->spec.kernel_w == 1) || (rows && conv->spec.kernel_h == 1)) continue;
    Operation folded = operation;
    if (columns) fold_columns(folded, y.w);
    if (rows) fold_rows(folded, y.h);
    auto& body = std::get<ConvOperation>(folded.body);
    if (body.weight.shape()[kChannelAxis] > Layout::kMostFolded) continue;
    // The folds include the pads of their dimensions; LOAD or the border make those of the others.
    body.spec.pads_in_load &= reads_pads(body.spec, input_layout(graph, folded, 0, config), y);
    if (const Price price = price_of(graph, folded, config); price < least) {
      least = price;
      best = std::move(folded);
    }
  }
  return best;
}

}  // namespace dovetail::accel
