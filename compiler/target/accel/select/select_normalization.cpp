// Softmax and normalizations, with the extension `norm`.
#include <bit>

#include "compiler/target/accel/select/selection.h"
#include "isa/spec/range.h"

namespace dovetail::accel {

namespace {

// The axis of the operand's channels.
std::int64_t channel_axis(const Context& c) {
  const auto rank = static_cast<std::int64_t>(c.type(0).shape.size());
  return rank == 4 && !rows_are_pixels(c.graph, c.node().inputs[0]) ? 1 : rank - 1;
}

// The conditions of both operators. `axis`: along which they work.
Result<void> check_rows(const Context& c, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(c.type(0).shape.size()), channels = channel_axis(c);
  if (axis != channels && axis + rank != channels)
    return c.refuse(fmt::format("it works along axis {}, and the accelerator along the channels, axis {}",
                                axis < 0 ? axis + rank : axis, channels));
  if (!share_form(c, {c.node().inputs[0], c.node().outputs[0]})) return c.refuse(kLayoutsDiffer);
  return {};
}

OutputRange range_of(const Context& c) {
  return {c.attribute("y_zero_point", 0), c.attribute("y_min", -128), c.attribute("y_max", 127)};
}

// Whether no element of a row is visible.
bool hides_a_row(const NdArray& visible, std::int64_t columns) {
  for (std::int64_t row = 0; row < visible.count(); row += columns) {
    bool any = false;
    for (std::int64_t e = 0; e < columns; ++e) any |= visible.as_int64(row + e) != 0;
    if (!any) return true;
  }
  return false;
}

}  // namespace

// The constant with an element for each of the shape.
NdArray broadcast(const NdArray& constant, const Shape& shape) {
  NdArray whole(constant.dtype(), shape);
  for (std::int64_t e = 0; e < whole.count(); ++e) {
    std::int64_t at = 0, rest = e, stride = 1;
    for (std::size_t d = shape.size(), own = constant.shape().size(); d-- > 0;) {
      const std::int64_t index = rest % shape[d];
      rest /= shape[d];
      if (own == 0) continue;
      const std::int64_t extent = constant.shape()[--own];
      if (extent > 1) at += index * stride;
      stride *= extent;
    }
    whole.set_int64(e, constant.as_int64(at));
  }
  return whole;
}

Result<Operation> select_softmax(const Context& c) {
  DOVETAIL_TRY(check_rows(c, c.attribute("axis", -1)));
  if (!c.config.table)
    return c.refuse(
        "its exponentials are a table, and the accelerator has no memory for tables (`table=true` adds it)");
  const std::int64_t channels = c.type(0).shape[static_cast<std::size_t>(channel_axis(c))];
  SoftmaxOperation operation;
  operation.exponentials = *c.constant(1);
  operation.scale = static_cast<float>(graph::float_attribute(c.node(), "scale", 1));
  const auto entries = operation.exponentials.data<std::uint16_t>();
  constexpr double kMostSum = 0x1p28;  // row_expression
  const double least = entries[0] * static_cast<double>(operation.scale), most = static_cast<double>(channels) *
                                                                                 *std::ranges::max_element(entries) *
                                                                                 static_cast<double>(operation.scale);
  if (!(least >= 1) || !(most < kMostSum))
    return c.refuse(fmt::format("its scaled sums are from {} to {}, and RECIP is exact from 1 to 2^28", least, most));
  std::vector<graph::ValueId> inputs{c.node().inputs[0]};
  if (c.node().inputs.size() > 2 && c.node().inputs[2].valid()) {
    const NdArray* visible = c.constant(2);
    const Shape& shape = c.type(0).shape;
    const std::size_t rank = shape.size();
    if (channel_axis(c) + 1 != static_cast<std::int64_t>(rank))
      return c.refuse("it has a mask and works along the channels of an image");
    // Leading axes along which the mask does not vary are groups of rows.
    const Shape own = c.type(2).shape;
    std::size_t varying = 0;  // the first axis of x that the groups do not have
    while (varying + 2 < rank && (varying + own.size() < rank || own[varying + own.size() - rank] == 1)) ++varying;
    Shape group(shape.begin() + static_cast<std::ptrdiff_t>(varying), shape.end());
    if (!rows_are_pixels(c.graph, c.node().inputs[0]) || element_count(group) / channels % c.config.batch != 0)
      group = shape;
    operation.spec.groups = element_count(shape) / element_count(group);
    operation.spec.mask = visible ? SoftmaxMask::constant : SoftmaxMask::computed;
    if (visible) {
      operation.visible = broadcast(*visible, group);
      if (hides_a_row(*operation.visible, channels)) return c.refuse("its mask hides whole rows");
    } else if (element_count(own) != element_count(group)) {
      return c.refuse(fmt::format("its mask is computed, and its shape {} repeats along an axis", to_string(own)));
    } else if (!share_form(c, {c.node().inputs[0], c.node().inputs[2]})) {
      return c.refuse("its mask is computed, and its layout is not that of the operand");
    } else {
      inputs.push_back(c.node().inputs[2]);
    }
  }
  SoftmaxSpec& spec = operation.spec;
  spec.name = c.node().name;
  spec.widening = cheapest_widening(c.config);
  spec.shift = c.attribute("shift", 0);
  spec.range = range_of(c);
  spec.saturate = c.config.saturate;
  std::vector<BorderNeed> borders(inputs.size());
  return Operation{{c.id}, std::move(inputs), c.node().outputs[0], std::move(borders), std::move(operation)};
}

Result<Operation> select_normalization(const Context& c) {
  DOVETAIL_TRY(check_rows(c, c.attribute("axis", -1)));
  if (channel_axis(c) + 1 != static_cast<std::int64_t>(c.type(0).shape.size()))
    return c.refuse("it normalizes the channels and the pixels of an image together");
  const std::int64_t channels = c.type(0).shape.back();
  const NdArray &scale = *c.constant(1), &bias = *c.constant(2);
  for (const NdArray* each : {&scale, &bias})
    if (each->count() != 1 && each->count() != channels)
      return c.refuse(
          fmt::format("a constant of shape {} is not one number for each channel", to_string(each->shape())));
  if (const std::int64_t most = isa::spec::range_of<isa::Alu, &isa::Alu::imm>(c.config).most; channels > most)
    return c.refuse(fmt::format("its rows have {} elements, at most {} fit an instruction", channels, most));
  NormalizationOperation operation;
  NormalizationSpec& spec = operation.spec;
  spec.parts = c.attribute("parts", 1);
  if (!std::has_single_bit(static_cast<std::uint64_t>(spec.parts)))
    return c.refuse(fmt::format("its parts are {}, and the accelerator supports powers of two", spec.parts));
  spec.epsilon = c.attribute("epsilon", 0);
  // Else a row with equal elements and one with small differences both have the variance 0.
  if (spec.epsilon == 0 && spec.parts == 1)
    return c.refuse("its epsilon is 0, and its variance has no fraction: RSQRT of 0 is 0");
  spec.name = c.node().name;
  spec.widening = cheapest_widening(c.config);
  spec.centers = c.attribute("center", 0) != 0;
  spec.x_zero_point = c.attribute("x_zero_point", 0);
  spec.bits = c.attribute("bits", 0);
  spec.shift = c.attribute("shift", 0);
  spec.range = range_of(c);
  spec.saturate = c.config.saturate;
  operation.scale.assign(scale.data<float>().begin(), scale.data<float>().end());
  operation.bias.assign(bias.data<std::int32_t>().begin(), bias.data<std::int32_t>().end());
  return Operation{{c.id}, {c.node().inputs[0]}, c.node().outputs[0], {{}}, std::move(operation)};
}

}  // namespace dovetail::accel
