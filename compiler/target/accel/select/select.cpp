#include "compiler/target/accel/select/select.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/check.h"
#include "base/int8_sums.h"
#include "compiler/ops/window.h"
#include "compiler/target/accel/programs/block_groups.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/programs/window_maximum.h"
#include "compiler/target/accel/programs/window_products.h"
#include "compiler/target/accel/select/cost.h"
#include "compiler/target/accel/select/fold_window.h"
#include "compiler/target/accel/select/operation_forms.h"
#include "compiler/target/accel/select/operation_program.h"
#include "compiler/target/accel/select/selection.h"
#include "isa/semantics/requant.h"
#include "isa/spec/config.h"
#include "isa/spec/range.h"

namespace dovetail::accel {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

Result<Epilogue> make_epilogue(const Context& c, std::span<const float> scales, std::int64_t bound) {
  Epilogue e;
  e.range = {c.attribute("y_zero_point", 0), c.attribute("y_min", -128), c.attribute("y_max", 127)};
  e.saturate = c.config.saturate;
  if (c.config.requant) return e;
  e.form = Epilogue::Form::fixed_point;
  const auto plan = plan_fixed_point(scales, e.range, bound);
  if (!plan) {
    const auto has_no_plan = [&](const float& scale) { return !plan_fixed_point({&scale, 1}, e.range, bound); };
    return c.refuse(fmt::format("{} cannot apply its scale {} to accumulators up to {} without the extension "
                                "`requant`",
                                c.config.name, *std::ranges::find_if(scales, has_no_plan), bound),
                    "choose hardware with `requant`, or another target for it");
  }
  e.fixed_point = *plan;
  std::int64_t constant = 0;  // the largest constant added to an accumulator
  for (const float scale : scales)
    constant = std::max(constant, std::abs(fixed_point_channel(scale, e.fixed_point, e.range).center));
  if (bound + constant >= INT32_MAX)
    return c.refuse(
        fmt::format("its accumulators reach {}, which exceeds int32 with the rounding constant {}", bound, constant));
  return e;
}

namespace {

std::span<const std::int8_t> weights_of(const ConvOperation& operation, std::size_t channel) {
  const std::size_t terms = static_cast<std::size_t>(operation.weight.count()) / operation.bias.size();
  return operation.weight.data<std::int8_t>().subspan(channel * terms, terms);
}

// sum (x - zx) w + b = sum x w + (b - zx sum w): zero points leave the inner loop; pads then have the value zx. False
// if the result exceeds int32.
bool fold_zero_point(ConvOperation& operation, std::int32_t zx) {
  if (zx == 0) return true;
  for (std::size_t o = 0; o < operation.bias.size(); ++o) {
    const std::int64_t folded = operation.bias[o] - zx * sum(weights_of(operation, o));
    if (folded < INT32_MIN || folded > INT32_MAX) return false;
    operation.bias[o] = static_cast<std::int32_t>(folded);
  }
  return true;
}

// The largest |sum x w| of a channel.
std::int64_t product_bound(const ConvOperation& operation, std::size_t channel) {
  return 128 * sum_of_distances(weights_of(operation, channel), 0);
}

std::int64_t accumulator_bound(const ConvOperation& operation) {
  std::int64_t largest = 0;
  for (std::size_t o = 0; o < operation.bias.size(); ++o)
    largest = std::max(largest, product_bound(operation, o) + std::abs(static_cast<std::int64_t>(operation.bias[o])));
  return largest;
}

// Channels that training switched off have scales of 10^-9, so that all their accumulators round to the same value.
// They are replaced by that value, with scale 1.
void fix_constant_channels(ConvOperation& operation) {
  const std::size_t terms = static_cast<std::size_t>(operation.weight.count()) / operation.bias.size();
  for (std::size_t o = 0; o < operation.bias.size(); ++o) {
    const double bias = operation.bias[o], bound = static_cast<double>(product_bound(operation, o)),
                 s = operation.scale[o];
    // The margin of 1e-6 keeps the bounds away from the midpoints between integers. So it does not matter that these
    // products are rounded to binary64.
    const double low = (bias - bound) * s, high = (bias + bound) * s;
    if (std::nearbyint(low - 1e-6) != std::nearbyint(high + 1e-6) || std::fabs(low) > 1024) continue;
    operation.bias[o] = static_cast<std::int32_t>(std::nearbyint(low));
    operation.scale[o] = 1.0f;
    for (std::int8_t& w : operation.weight.data<std::int8_t>().subspan(o * terms, terms)) w = 0;
  }
}

struct Window {
  std::int64_t kernel_h, kernel_w;
  std::vector<std::int64_t> strides, dilations, pads;
};

// Common to convolution and its matrix form: weights [o, c of a group, ky, kx], constants, epilogue.
Result<Operation> make_conv(const Context& c, const NdArray& weight, const Window& window, const ImageShape& x,
                            const ImageShape& y) {
  const NdArray *bias = c.constant(2), *scale = c.constant(3);
  if (!bias || !scale) return c.refuse("its bias or scale is not constant");
  if (c.node().inputs.size() > 4 && c.node().inputs[4].valid()) {
    const NdArray* zero_points = c.constant(4);
    const bool zero =
        zero_points && std::all_of(zero_points->data<std::int8_t>().begin(), zero_points->data<std::int8_t>().end(),
                                   [](std::int8_t z) { return z == 0; });
    if (!zero) return c.refuse("its weights have a zero point");
  }
  ConvOperation operation;
  operation.weight = weight;
  operation.bias.assign(bias->data<std::int32_t>().begin(), bias->data<std::int32_t>().end());
  operation.scale.assign(scale->data<float>().begin(), scale->data<float>().end());
  const std::int32_t zx = c.attribute("x_zero_point", 0);
  if (!fold_zero_point(operation, zx))
    return c.refuse(fmt::format("its bias with the zero point {} folded in exceeds int32", zx));
  if (!c.config.requant) fix_constant_channels(operation);
  DOVETAIL_ASSIGN(operation.spec.epilogue, make_epilogue(c, operation.scale, accumulator_bound(operation)));

  ConvSpec& spec = operation.spec;
  spec.name = c.node().name;
  const std::int64_t groups = x.c / weight.shape()[1];
  spec.groups = block_groups(groups, layout_of(c, x), layout_of(c, y));
  spec.uniform_weights = is_uniform(operation.weight, groups);
  spec.kernel_h = window.kernel_h;
  spec.kernel_w = window.kernel_w;
  spec.stride_h = window.strides[0];
  spec.stride_w = window.strides[1];
  spec.dilation_h = window.dilations[0];
  spec.dilation_w = window.dilations[1];
  spec.pushes = window_pushes(spec, operation.weight, x.c, y.h, c.config);
  spec.pad_top = window.pads[0];
  spec.pad_left = window.pads[1];
  // The rows that the last output reads beyond the image; fewer than the declared pad if the stride leaves a remainder.
  const std::int64_t bottom = std::max<std::int64_t>(
      0, (y.h - 1) * spec.stride_h + (spec.kernel_h - 1) * spec.dilation_h + 1 - spec.pad_top - x.h);
  const std::int64_t right = std::max<std::int64_t>(
      0, (y.w - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w + 1 - spec.pad_left - x.w);
  const bool any_pad = spec.pad_top + spec.pad_left + bottom + right > 0;
  const std::int64_t most_pad = isa::spec::range_of<isa::Load, &isa::Load::x_pad_0>(c.config).most;
  spec.pads_in_load = any_pad && zx == 0 && std::max({spec.pad_top, spec.pad_left, bottom, right}) <= most_pad;
  BorderNeed border;
  border.value = static_cast<std::int8_t>(zx);
  if (any_pad && !spec.pads_in_load) border.border = {spec.pad_top, spec.pad_left, bottom, right};

  return Operation{{c.id}, {c.node().inputs[0]}, c.node().outputs[0], {border}, std::move(operation)};
}

Result<Operation> select_conv(const Context& c) {
  const Shape& x = c.type(0).shape;
  const NdArray* weight = c.constant(1);
  if (x.size() != 4)
    return c.refuse(
        fmt::format("it convolves over {} spatial dimensions, and the accelerator supports 2", x.size() - 2));
  const Window window{weight->shape()[2], weight->shape()[3], graph::ints_attribute(c.node(), "strides", {1, 1}),
                      graph::ints_attribute(c.node(), "dilations", {1, 1}),
                      graph::ints_attribute(c.node(), "pads", {0, 0, 0, 0})};
  if (rows_are_pixels(c.graph, c.node().inputs[0]) || rows_are_pixels(c.graph, c.node().outputs[0]))
    return c.refuse("it convolves an operand or result of a product of two activations, which is stored as a matrix");
  return make_conv(c, *weight, window, image_of(c, c.node().inputs[0]), image_of(c, c.node().outputs[0]));
}

// A matrix product is a 1x1 convolution of 1x1 images, or of an image whose pixels are the matrix's rows.
Result<Operation> select_gemm(const Context& c) {
  const NdArray* weight = c.constant(1);
  const ImageShape x = image_of(c, c.node().inputs[0]), y = image_of(c, c.node().outputs[0]);
  if (x.rows == 0 && c.type(0).shape.size() == 4) return c.refuse("it multiplies along the last of four dimensions");
  if (!share_form(c, {c.node().inputs[0], c.node().outputs[0]})) return c.refuse(kLayoutsDiffer);
  return make_conv(c, weight->reshaped({weight->shape()[0], weight->shape()[1], 1, 1}),
                   {1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}}, x, y);
}

// A product that reads a flattened image is a convolution with a kernel as large as the image.
Result<Operation> select_gemm_of_image(const Context& c) {
  const NdArray* weight = c.constant(1);
  const ValueId image = c.found.values.at("image");
  const Shape &shape = c.graph.value(image).type.shape, &flat = c.type(0).shape;
  const ImageShape x = image_of(c, image), rows = image_of(c, c.node().inputs[0]), y = image_of(c, c.node().outputs[0]);
  if (shape.size() != 4 || !share_form(c, {image, c.node().inputs[0], c.node().outputs[0]}) || flat.size() == 4 ||
      rows.n != x.n || rows.c != x.c * x.h * x.w)
    return c.refuse(fmt::format("{} becomes {}, which is not a flattened image", to_string(shape), to_string(flat)));
  if (x.rows != rows.rows && x.n > 1)
    return c.refuse(
        fmt::format("{} becomes {}, whose rows mix images of a batch of {}", to_string(shape), to_string(flat), x.n));
  const std::int64_t outputs = weight->shape()[0];
  NdArray kernel = weight->reshaped({outputs, x.c, x.h, x.w});
  // The rows of a matrix are consecutive and are pixels; in an image, channels are consecutive.
  if (x.rows > 0)
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t row = 0; row < x.w; ++row)
        for (std::int64_t column = 0; column < x.c; ++column)
          kernel.set_int64((o * x.c + column) * x.w + row, weight->as_int64((o * x.w + row) * x.c + column));
  DOVETAIL_ASSIGN(Operation operation, make_conv(c, kernel, {x.h, x.w, {1, 1}, {1, 1}, {0, 0, 0, 0}}, x, y));
  operation.nodes = c.found.nodes;
  operation.inputs[0] = image;
  return operation;
}

// A constant operand's value for each channel of `shape`; nullopt if it also varies within a channel.
std::optional<std::vector<std::int8_t>> by_channel(const NdArray& constant, const Shape& shape, bool image) {
  const auto values = constant.data<std::int8_t>();
  const std::int64_t extent = image ? shape[1] : shape.back();
  const auto channels = static_cast<std::size_t>(extent);
  if (values.size() == 1) return std::vector<std::int8_t>(channels, values[0]);
  const std::size_t rank = constant.shape().size(), from_end = image ? 3 : 1;
  const bool along_channels = rank >= from_end && constant.shape()[rank - from_end] == extent;
  if (!along_channels || values.size() != channels) return std::nullopt;
  return std::vector<std::int8_t>(values.begin(), values.end());
}

// The multiplier as a factor that an int8 weight can hold; 0 for others.
std::int32_t factor_of(float multiplier) {
  const bool is_factor = multiplier == std::trunc(multiplier) && std::fabs(multiplier) <= INT8_MAX;
  return is_factor ? static_cast<std::int32_t>(multiplier) : 0;
}

// Operand a is the node's first operand, or the one that is not constant.
Result<AddOperation> make_addition(const Context& c) {
  const NdArray* constants[] = {c.constant(0), c.constant(1)};
  if (constants[0] && constants[1]) return c.refuse("both of its operands are constant");
  AddOperation operation;
  operation.spec.name = c.node().name;
  operation.spec.widening = cheapest_widening(c.config);
  operation.spec.constant_b = constants[0] || constants[1];
  const std::size_t a = constants[0] ? 1 : 0, b = 1 - a;
  const Shape& shape = c.graph.value(c.node().outputs[0]).type.shape;
  std::optional<std::vector<std::int8_t>> addend;
  const ValueId result = c.node().outputs[0];
  const bool image = shape.size() == 4 && !rows_are_pixels(c.graph, result);
  if (constants[b]) addend = by_channel(*constants[b], shape, image);
  if (c.type(a).shape != shape || (constants[b] ? !addend : c.type(b).shape != shape))
    return c.refuse(fmt::format(
        "its operands have the shapes {} and {}; the accelerator adds equal shapes, or a constant per channel",
        to_string(c.type(0).shape), to_string(c.type(1).shape)));
  for (const std::size_t side : {a, b})
    if (!constants[side] && !share_form(c, {c.node().inputs[side], result})) return c.refuse(kLayoutsDiffer);
  constexpr const char* kZeroPoints[] = {"a_zero_point", "b_zero_point"};
  constexpr const char* kMultipliers[] = {"a_multiplier", "b_multiplier"};
  const auto multiplier = [&](std::size_t side) {
    return static_cast<float>(graph::float_attribute(c.node(), kMultipliers[side], 1));
  };
  operation.a_zero_point = c.attribute(kZeroPoints[a], 0);
  operation.b_zero_point = c.attribute(kZeroPoints[b], 0);
  operation.a_multiplier = multiplier(a);
  operation.b_multiplier = multiplier(b);
  operation.y_multiplier = static_cast<float>(graph::float_attribute(c.node(), "scale", 1));
  const std::array scales{operation.y_multiplier};
  const auto bound =
      static_cast<std::int64_t>(std::ceil(255.0 * (std::fabs(static_cast<double>(operation.a_multiplier)) +
                                                   std::fabs(static_cast<double>(operation.b_multiplier))))) +
      2;
  DOVETAIL_ASSIGN(operation.spec.epilogue, make_epilogue(c, scales, bound));
  const std::int32_t a_factor = factor_of(operation.a_multiplier), b_factor = factor_of(operation.b_multiplier);
  if (a_factor != 0 && b_factor != 0) {
    operation.spec.widening = Widening::gemm;
    operation.spec.a_factor = a_factor, operation.spec.b_factor = b_factor;
    // Zero points are folded into the bias.
    const std::int32_t bias = -a_factor * operation.a_zero_point - b_factor * operation.b_zero_point;
    if (!addend) operation.constant.assign(static_cast<std::size_t>(c.config.block_out), bias);
    else
      for (const std::int8_t value : *addend) operation.constant.push_back(b_factor * value + bias);
    return operation;
  }
  if (operation.spec.epilogue.form != Epilogue::Form::requant) {
    const auto split_a = split_multiplier(operation.a_multiplier), split_b = split_multiplier(operation.b_multiplier);
    if (!split_a || (!addend && !split_b))
      return c.refuse(
          fmt::format("the products with its multipliers {} and {} do not fit int32 without the extension `requant`",
                      multiplier(0), multiplier(1)),
          "choose hardware with `requant`, or another target for it");
    operation.spec.a_multiplier = *split_a;
    if (!addend) operation.spec.b_multiplier = *split_b;
  }
  if (addend) {
    const auto scale_bits = std::bit_cast<std::uint32_t>(operation.b_multiplier);
    for (const std::int8_t value : *addend)
      operation.constant.push_back(isa::semantics::requant(value, -operation.b_zero_point, scale_bits, 0));
  }
  return operation;
}

Result<Operation> select_add(const Context& c) {
  DOVETAIL_ASSIGN(AddOperation operation, make_addition(c));
  std::vector<ValueId> inputs = c.node().inputs;
  if (operation.spec.constant_b) std::erase_if(inputs, [&](ValueId input) { return c.graph.is_constant(input); });
  std::vector<BorderNeed> borders(inputs.size());
  return Operation{{c.id}, std::move(inputs), c.node().outputs[0], std::move(borders), std::move(operation)};
}

// Operand a is the one with the shape of the result, and not the constant.
Result<Operation> select_product(const Context& c) {
  if (c.constant(0) && c.constant(1)) return c.refuse("both of its operands are constant");
  const ValueId result = c.node().outputs[0];
  const Shape& shape = c.graph.value(result).type.shape;
  const bool first = c.constant(0) || c.constant(1) ? c.constant(1) != nullptr : c.type(0).shape == shape;
  const std::size_t a = first ? 0 : 1, b = 1 - a;
  ProductOperation operation;
  if (const NdArray* constant = c.constant(b)) operation.constant = broadcast(*constant, shape);
  operation.spec.vector_b = !operation.constant && c.type(b).shape != shape;
  const auto is_vector = [&](const Shape& operand) {
    if (!rows_are_pixels(c.graph, result)) return shape.size() == 4 && operand == Shape{shape[0], shape[1], 1, 1};
    return c.config.batch == 1 && operand.back() == shape.back() && element_count(operand) == shape.back();
  };
  if (c.type(a).shape != shape || (operation.spec.vector_b && !is_vector(c.type(b).shape)))
    return c.refuse(
        fmt::format("its operands have the shapes {} and {}; the accelerator multiplies equal shapes, an image or the "
                    "rows of a matrix by a value for each channel, or a tensor by a constant",
                    to_string(c.type(0).shape), to_string(c.type(1).shape)));
  std::vector<ValueId> inputs{c.node().inputs[a]};
  if (!operation.constant) inputs.push_back(c.node().inputs[b]);
  for (const ValueId input : inputs)
    if (!share_form(c, {input, result})) return c.refuse(kLayoutsDiffer);
  constexpr const char* kZeroPoints[] = {"a_zero_point", "b_zero_point"};
  operation.spec.name = c.node().name;
  operation.spec.widening = cheapest_widening(c.config);
  operation.a_zero_point = c.attribute(kZeroPoints[a], 0);
  operation.b_zero_point = c.attribute(kZeroPoints[b], 0);
  operation.scale = static_cast<float>(graph::float_attribute(c.node(), "scale", 1));
  constexpr std::int64_t kLargest = 255 * 255;
  DOVETAIL_ASSIGN(operation.spec.epilogue, make_epilogue(c, std::array{operation.scale}, kLargest));
  return Operation{{c.id}, inputs, result, std::vector<BorderNeed>(inputs.size()), std::move(operation)};
}

// Whether storing the product's result as int8 and widening it again takes fewer cycles than clamping it in the ALU.
// The product's result is operand a of the sum.
bool costs_less_apart(const Epilogue& product, const AddSpec& sum, const Core& config) {
  if (!product.saturate || sum.widening != Widening::gemm) return false;
  const bool clamps = product.form == Epilogue::Form::requant || product.fixed_point.clamps;
  const std::int64_t passes = clamps ? (product.range.y_min <= INT8_MIN) + (product.range.y_max >= INT8_MAX) : 0;
  const std::int64_t widening = config.overwrite ? 1 : 2, operands = sum.constant_b ? 1 : 2, scaling = 1,
                     adding = sum.constant_b ? 0 : 2,
                     loads = operands * config.element_bytes(isa::Memory::inp) / config.bus_bytes;
  if (sum.is_of_products()) {
    // Products add to what is there, and end with an epilogue where the hardware can. Tiles of separate operations are
    // larger.
    const std::int64_t epilogues = config.epilogue ? 2 : 0, factor = sum.a_factor == 1 ? 0 : scaling,
                       together = passes + factor + operands - 1 + epilogues;
    const std::int64_t apart = std::max(widening + operands - 1, loads);
    return sum.constant_b ? apart < together : apart <= together;
  }
  const std::int64_t apart = operands * (widening + scaling) + adding,
                     together = passes + scaling + (operands - 1) * (widening + scaling) + adding;
  return std::max(apart, loads) < together;
}

// A sum that reads a product's result is computed from the product's accumulators.
Result<Operation> add_to(const Context& c, Result<Operation> (*select_product)(const Context& c)) {
  const NodeId product = c.found.nodes.front();
  DOVETAIL_ASSIGN(Operation operation, select_product({c.graph, c.config, c.found, product}));
  DOVETAIL_ASSIGN(AddOperation addition, make_addition(c));
  if (c.node().inputs[0] == c.node().inputs[1]) return c.refuse("it adds a product's result to itself");
  if (!share_form(c, {c.node().outputs[0], c.graph.node(product).outputs[0]})) return c.refuse(kLayoutsDiffer);
  const bool first = c.node().inputs[0] == c.graph.node(product).outputs[0];
  if (!first && !addition.spec.constant_b) {
    std::swap(addition.a_zero_point, addition.b_zero_point);
    std::swap(addition.a_multiplier, addition.b_multiplier);
    std::swap(addition.spec.a_multiplier, addition.spec.b_multiplier);
    std::swap(addition.spec.a_factor, addition.spec.b_factor);
  }
  if (costs_less_apart(std::get<ConvOperation>(operation.body).spec.epilogue, addition.spec, c.config))
    return c.refuse("its product and the addition take less time as separate operations");
  operation.nodes = {product, c.id};
  if (!addition.spec.constant_b) {
    operation.inputs.push_back(c.node().inputs[first ? 1 : 0]);
    operation.borders.emplace_back();
  }
  operation.output = c.node().outputs[0];
  std::get<ConvOperation>(operation.body).addition = std::move(addition);
  return operation;
}
Result<Operation> select_conv_and_add(const Context& c) { return add_to(c, select_conv); }
Result<Operation> select_gemm_and_add(const Context& c) { return add_to(c, select_gemm); }

// A table that reads a product's result is read at the product's epilogue, which it clamps.
Result<Operation> look_up(const Context& c, Result<Operation> (*select_product)(const Context& c)) {
  const NdArray& table = *c.constant(1);
  if (table.shape().size() != 1) return c.refuse("it has several tables, and the accelerator one for an operation");
  const NodeId product = c.found.nodes.front();
  DOVETAIL_ASSIGN(Operation operation, select_product({c.graph, c.config, c.found, product}));
  if (!share_form(c, {c.node().outputs[0], c.node().inputs[0]})) return c.refuse(kLayoutsDiffer);
  auto& conv = std::get<ConvOperation>(operation.body);
  conv.spec.table = true;
  conv.table = table;
  operation.nodes = {product, c.id};
  operation.output = c.node().outputs[0];
  return operation;
}
Result<Operation> select_conv_and_table(const Context& c) { return look_up(c, select_conv); }
Result<Operation> select_gemm_and_table(const Context& c) { return look_up(c, select_gemm); }

// Whether a reader of the value needs a border with another number.
bool needs_other_border(const Context& c, ValueId value, std::int64_t number) {
  return std::ranges::any_of(c.graph.users(value), [&](NodeId user) {
    const Node& node = c.graph.node(user);
    const std::vector<std::int64_t> pads = graph::ints_attribute(node, "pads", {});
    return node.op == "dovetail.qconv" && graph::int_attribute(node, "x_zero_point", 0) != number &&
           std::ranges::any_of(pads, [](std::int64_t pad) { return pad > 0; });
  });
}

Result<Operation> select_max_pool(const Context& c) {
  const graph::TensorType& x = c.type(0);
  if (x.dtype != DType::int8)
    return c.refuse(fmt::format("it pools {}, and the accelerator pools int8", name(x.dtype)));
  if (x.shape.size() != 4)
    return c.refuse(
        fmt::format("it pools over {} spatial dimensions, and the accelerator supports 2", x.shape.size() - 2));
  if (rows_are_pixels(c.graph, c.node().inputs[0]) || rows_are_pixels(c.graph, c.node().outputs[0]))
    return c.refuse("it pools an operand or result of a product of two activations, which is stored as a matrix");
  if (graph::string_attribute(c.node(), "auto_pad", "NOTSET") != "NOTSET") return c.refuse("its pads are implicit");
  DOVETAIL_ASSIGN(const ops::Window whole,
                  ops::make_window({c.graph, c.node()}, graph::ints_attribute(c.node(), "kernel_shape", {1, 1})));
  const ops::Window window = whole.clipped();
  if (element_count(window.kernel) == 1) return c.refuse("its window is a single element");
  MaxPoolOperation operation;
  MaxPoolSpec& spec = operation.spec;
  spec.name = c.node().name;
  spec.widening = cheapest_widening(c.config);
  spec.kernel_h = window.kernel[0];
  spec.kernel_w = window.kernel[1];
  spec.stride_h = window.strides[0];
  spec.stride_w = window.strides[1];
  spec.dilation_h = window.dilations[0];
  spec.dilation_w = window.dilations[1];
  spec.pad_top = window.pad_begin[0];
  spec.pad_left = window.pad_begin[1];
  // Everything that the last window reads is in the image or its border.
  const ImageShape image = image_of(c, c.node().inputs[0]), y = image_of(c, c.node().outputs[0]);
  spec.y = layout_of(c, y);
  const auto pad_after = [](std::int64_t results, std::int64_t stride, std::int64_t kernel, std::int64_t pad,
                            std::int64_t extent) {
    return std::max<std::int64_t>(0, (results - 1) * stride + kernel - pad - extent);
  };
  BorderNeed pads;
  pads.border = {spec.pad_top, spec.pad_left, pad_after(y.h, spec.stride_h, spec.kernel_h, spec.pad_top, image.h),
                 pad_after(y.w, spec.stride_w, spec.kernel_w, spec.pad_left, image.w)};
  if (!pads.border.empty()) pads.value = INT8_MIN;
  spec.separable = spec.widening == Widening::gemm && is_separable(spec) &&
                   (pads.border.empty() || !needs_other_border(c, c.node().inputs[0], INT8_MIN));
  if (!spec.separable) pads = {};
  return Operation{{c.id}, {c.node().inputs[0]}, c.node().outputs[0], {pads}, std::move(operation)};
}

// A max-pooling that reads a convolution's result reduces the accumulators: the epilogue follows the maximum, for fewer
// elements.
Result<Operation> select_conv_and_max_pool(const Context& c) {
  const NodeId product = c.found.nodes.front();
  DOVETAIL_ASSIGN(Operation operation, select_conv({c.graph, c.config, c.found, product}));
  DOVETAIL_ASSIGN(const Operation pooling, select_max_pool(c));
  MaxPoolSpec spec = std::get<MaxPoolOperation>(pooling.body).spec;
  spec.x = layout_of(c, image_of(c, c.node().inputs[0]));
  auto& conv = std::get<ConvOperation>(operation.body);
  if (!is_separable(spec) || !reduces_in_place(spec))
    return c.refuse("not every window has its own element as the place to reduce accumulators");
  if (std::ranges::any_of(conv.scale, [](float scale) { return scale < 0; }))
    return c.refuse("its convolution has a negative scale, with which the largest accumulator is the smallest result");
  if (const std::int64_t bound = accumulator_bound(conv); bound > INT32_MAX)
    return c.refuse(
        fmt::format("its accumulators reach {}, which exceeds int32, so that their order would change", bound));
  conv.pooling = std::move(spec);
  operation.nodes = {product, c.id};
  operation.output = c.node().outputs[0];
  return operation;
}

Result<double> expected_cycles(const Context& c, const Operation& operation, const std::shared_ptr<Memo>& memo) {
  double cycles = 0;
  for (const loops::Program& program : operation_programs(c.graph, operation, c.config)) {
    DOVETAIL_ASSIGN(const double own, expected_cycles(kind_of(operation), program, c.config, memo));
    cycles += own;
  }
  return cycles;
}

// Whether the convolution and the pooling take fewer cycles as separate operations: together, elements that windows of
// different tiles share are computed for each tile, and tiles are smaller.
Result<bool> costs_less_apart(const Context& c, const Operation& pooled, const std::shared_ptr<Memo>& memo) {
  Operation product = pooled;
  std::get<ConvOperation>(product.body).pooling.reset();
  product.nodes.pop_back();
  product.output = c.node().inputs[0];
  DOVETAIL_ASSIGN(const Operation pooling, select_max_pool(c));
  DOVETAIL_ASSIGN(const double together, expected_cycles(c, pooled, memo));
  DOVETAIL_ASSIGN(const double first, expected_cycles(c, product, memo));
  DOVETAIL_ASSIGN(const double second, expected_cycles(c, pooling, memo));
  return first + second < together;
}

// If several rows match an operator, the first one that accepts it is used.
// clang-format off
constexpr SelectionRow kRows[] = {
    {"convolution and max pooling", "MaxPool(dovetail.qconv(x=_, weights=#, bias=#, scale=#, ...))", select_conv_and_max_pool},
    {"max pooling", "MaxPool(x=_)", select_max_pool},
    {"convolution and addition", "dovetail.qadd~(dovetail.qconv(x=_, weights=#, bias=#, scale=#, ...), b=_)", select_conv_and_add},
    {"dense layer and addition", "dovetail.qadd~(dovetail.qgemm(x=_, weights=#, bias=#, scale=#, ...), b=_)", select_gemm_and_add},
    {"addition", "dovetail.qadd(a=_, b=_)", select_add},
    {"product", "dovetail.qmul(a=_, b=_)", select_product},
    {"clip", "dovetail.qclip(x=_)", select_clip},
    {"convolution and table", "dovetail.qtable(dovetail.qconv(x=_, weights=#, bias=#, scale=#, ...), table=#)", select_conv_and_table, &isa::HardwareConfig::table},
    {"dense layer and table", "dovetail.qtable(dovetail.qgemm(x=_, weights=#, bias=#, scale=#, ...), table=#)", select_gemm_and_table, &isa::HardwareConfig::table},
    {"table", "dovetail.qtable(x=_, table=#)", select_table, &isa::HardwareConfig::table},
    {"piecewise linear table", "dovetail.qtable(x=_, table=#)", select_lines},
    {"softmax", "dovetail.qsoftmax(x=_, table=#, ...)", select_softmax, &isa::HardwareConfig::norm},
    {"normalization", "dovetail.qnormalize(x=_, scale=#, bias=#)", select_normalization, &isa::HardwareConfig::norm},
    {"movement of two parts", "Concat(Slice(x=_, ...), Slice(x=_, ...))", select_movement},
    {"movement of parts", "Slice?(Reshape(Transpose(Reshape(x=_, ...)), ...), ...)", select_movement},
    {"movement", "Concat|DepthToSpace|Expand|Gather|Pad|Resize|Slice|SpaceToDepth|Tile", select_movement},
    {"convolution", "dovetail.qconv(x=_, weights=#, bias=#, scale=#, ...)", select_conv},
    {"dense layer of an image", "dovetail.qgemm(Flatten|Reshape|Squeeze(image=_, ...), weights=#, bias=#, scale=#, ...)", select_gemm_of_image},
    {"dense layer", "dovetail.qgemm(x=_, weights=#, bias=#, scale=#, ...)", select_gemm},
    {"transposition", "Reshape?(Transpose(Reshape?(Slice?(x=_, ...), ...)), ...)", select_transpose},
    {"movement of pixels", "Transpose(Reshape?(x=_, ...))", select_movement},
    {"movement of rows", "Reshape(x=_, ...)", select_reshape},
    {"writing of rows", "TensorScatter(x=_, rows=_, position=_)", select_writing, &isa::HardwareConfig::offset},
    {"product of activations and movement", "Reshape?(Transpose?(dovetail.qmatmul(Transpose?(Reshape?(Slice?(a=_, ...), ...), ...), Transpose?(Reshape?(Expand?(Reshape?(Transpose?(Reshape?(Slice?(b=_, ...), ...), ...), ...), ...), ...), ...))), ...)", select_matmul},
    {"product of activations, operands moved", "dovetail.qmatmul(Transpose?(Reshape?(Slice?(a=_, ...), ...), ...), Transpose?(Reshape?(Expand?(Reshape?(Transpose?(Reshape?(Slice?(b=_, ...), ...), ...), ...), ...), ...), ...))", select_matmul},
    {"product of activations", "dovetail.qmatmul(a=_, b=_)", select_matmul},
};
// clang-format on

// Whether programs of the operation treat a block of the DRAM as one element.
bool needs_own_blocks(const Operation& operation) {
  return std::holds_alternative<MatMulOperation>(operation.body) ||
         std::holds_alternative<TransposeOperation>(operation.body) ||
         std::holds_alternative<SoftmaxOperation>(operation.body) ||
         std::holds_alternative<NormalizationOperation>(operation.body);
}

}  // namespace

std::span<const SelectionRow> selection_rows() { return kRows; }

Result<Operation> make_operation(const Context& context, const SelectionRow& row, const std::shared_ptr<Memo>& memo) {
  const Core& config = context.config;
  if (const std::int64_t block = make_layout(config, 1, 1, 1, 1).block;
      config.batch > 1 && (config.block_in != block || config.block_out != block))
    return context.refuse(
        fmt::format("with batch {} and blocks of {} in and {} out, results do not have the layout that inputs need",
                    config.batch, config.block_in, config.block_out));
  if (context.node().outputs.size() > 1)
    return context.refuse(
        fmt::format("it has {} results, and the accelerator's operations have one", context.node().outputs.size()));
  const Shape& y = context.graph.value(context.node().outputs[0]).type.shape;
  if (y.size() < 2 || element_count(y) == 0)
    return context.refuse(fmt::format("its result has the shape {}", to_string(y)));
  std::uint64_t bytes = kMemoryBase;
  const auto add = [&](ValueId value) {
    bytes += static_cast<std::uint64_t>(layout_of(context, image_of(context, value)).bytes());
  };
  std::ranges::for_each(context.found.inputs, add);
  add(context.node().outputs[0]);
  if (const std::uint64_t end = end_of_memory(config); bytes > end)
    return context.refuse(fmt::format("its operands and its result need {} KiB of memory, and {} reaches {} KiB",
                                      bytes / 1024, config.name, end / 1024),
                          "raise `address_bits`, or choose another target for it");
  DOVETAIL_ASSIGN(Operation operation, row.make(context));
  if (needs_own_blocks(operation) && !config.has_own_blocks())
    return context.refuse(
        fmt::format("its blocks are of {} channels, and those of other accelerators on the memory of {}",
                    config.own_block(), config.dram_block));
  if (comes_from_host(context.graph, operation.inputs[0]))
    if (auto folded = fold_window(context.graph, operation, config)) operation = *std::move(folded);
  for (const loops::Program& program : operation_programs(context.graph, operation, config))
    if (const auto fits = smallest_tile_fits(kind_of(operation), program, config, memo); !fits.ok())
      return context.refuse(fits.errors().front().why, fits.errors().front().hint);
  // A tile takes at least a cycle.
  if (const CycleEstimate work = estimate_cycles(context.graph, operation, config);
      work.gemm + work.alu > static_cast<std::uint64_t>(kMostTiles))
    for (const loops::Program& program : operation_programs(context.graph, operation, config))
      if (const auto few = tiles_are_few(kind_of(operation), program, config, memo); !few.ok())
        return context.refuse(few.errors().front().why, few.errors().front().hint);
  if (const auto* conv = std::get_if<ConvOperation>(&operation.body); conv && conv->pooling) {
    DOVETAIL_ASSIGN(const bool apart, costs_less_apart(context, operation, memo));
    if (apart) return context.refuse("its convolution and the pooling take less time as separate operations");
  }
  return operation;
}

bool comes_from_host(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  const auto takes = [&](const SelectionRow& row) {
    return pattern::match(graph, producer, *pattern::parse(row.pattern)).ok();
  };
  return graph.count_reads(value, 2) == 1 && (!producer.valid() || std::ranges::none_of(kRows, takes));
}

TensorLayout transposed_layout(const MatMulOperation& operation, const Core& config) {
  return make_layout(config, matrix_shape(operation.transposed_rows, operation.products[0].depth, config.batch));
}

std::optional<ArrangedMatrix> arranged_transposed(const MatMulOperation& operation, const Core& config) {
  if (!operation.arranged) return std::nullopt;
  return ArrangedMatrix{0, transposed_layout(operation, config).padded_c()};
}

TensorLayout input_layout(const Graph& graph, const Operation& operation, std::size_t input, const Core& config) {
  const TensorLayout layout = make_layout(config, image_shape(graph, operation.inputs[input], config));
  const auto* conv = std::get_if<ConvOperation>(&operation.body);
  return conv && input == 0 && !conv->folds.empty() ? fold_layout(layout, conv->folds) : layout;
}

std::vector<PatternRow> pattern_rows(std::vector<Core> kinds, std::shared_ptr<Memo> memo) {
  std::vector<PatternRow> rows;
  for (const SelectionRow& row : kRows) {
    if (std::ranges::none_of(kinds, [&](const Core& core) { return row.exists_on(core); })) continue;
    rows.push_back(
        pattern_row(std::string(row.name), row.pattern,
                    [&row, kinds, memo](const Graph& graph, const pattern::Found& found) -> Result<TakenPointer> {
                      DOVETAIL_ASSIGN(OperationForms forms, forms_of(graph, found, row, kinds, memo));
                      return TakenPointer(std::make_shared<const TakenOperation>(std::move(forms)));
                    }));
  }
  return rows;
}

}  // namespace dovetail::accel
