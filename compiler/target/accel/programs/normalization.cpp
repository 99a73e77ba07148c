#include "compiler/target/accel/programs/normalization.h"

#include <bit>
#include <cmath>

#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/programs/stages.h"
#include "compiler/target/accel/programs/widener.h"
#include "compiler/tensor/expr.h"
#include "compiler/tensor/tensor.h"
#include "isa/spec/memories.h"
#include "isa/spec/timing.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Definition;
using tensor::Indices;

namespace {

constexpr std::string_view kOfLanes = ".lanes", kReciprocal = "reciprocal", kRoot = "root";

std::int32_t float_bits(double value) { return std::bit_cast<std::int32_t>(static_cast<float>(value)); }

// int32 [batch, channels, words] with the same words for each channel.
NdArray equal_channels(const Core& config, std::int64_t channels, std::span<const std::int32_t> words) {
  const auto count = static_cast<std::int64_t>(words.size());
  NdArray constants(DType::int32, {config.batch, channels, count});
  for (std::int64_t i = 0; i < constants.count(); ++i)
    constants.set_int64(i, words[static_cast<std::size_t>(i % count)]);
  return constants;
}

// The stages of elements, of rows, and between them.
class Rows {
 public:
  Rows(Definition& d, const Axes& axes, const Core& config, const std::string& prefix = "")
      : d_(d),
        axes_(axes),
        prefix_(prefix),
        lanes_(config.block_out),
        row_axes_{axes_[0], {"o", lanes_}, axes_[2], axes_[3]},
        elements(d, axes_, prefix),
        rows(d, row_axes_, prefix + "row.") {}

  // A row's number from the values of its elements: block by block, then over the lanes.
  Buffer reduce(
      const std::string& step, isa::AluOp lanes, const tensor::Reducer& reducer, const Buffer& a,
      const std::function<Expr(const Expr&)>& value = [](const Expr& e) { return e; }) {
    const std::int64_t blocks = axes_[1].extent / lanes_;
    const Buffer sums = d_.reduce(prefix_ + step, DType::int32, row_axes_, {{"b", blocks}}, reducer,
                                  [&](const Indices& i, const Indices& r) {
                                    return value(load(a, {i[0], r[0] * lanes_ + i[1], i[2], i[3]}));
                                  });
    return rows.stage(step + std::string(kOfLanes), [&](const Indices& i) {
      return row_expression(lanes, lanes_, [&](std::int64_t lane) {
        return load(sums, {i[0], int_imm(lane), i[2], i[3]});
      });
    });
  }
  // RECIP or RSQRT.
  Buffer serial(std::string_view step, isa::AluOp op, const Buffer& row, std::int64_t exponent) {
    return rows.stage(std::string(step) + std::string(kOfLanes),
                      [&](const Indices& i) { return serial_expression(op, load(row, i), int32(exponent)); });
  }
  // Adds a row's number to its elements.
  Buffer add(const std::string& step, const Buffer& a, const Buffer& row) {
    return elements.stage(step, [&](const Indices& i) { return load(a, i) + load(row, in_row(i)); });
  }
  // REQUANT with a row's scale and bias.
  Buffer requant(const std::string& step, const Buffer& a, const Buffer& scale, const Buffer& bias,
                 std::int32_t zero_point) {
    return elements.stage(step, [&](const Indices& i) {
      return call(Function::requantize, {load(a, i) + load(bias, in_row(i)),
                                         bitcast(DType::float32, load(scale, in_row(i))), int32(zero_point)});
    });
  }

 private:
  Indices in_row(Indices i) const {
    i[1] = floor_mod(i[1], lanes_);
    return i;
  }

  Definition& d_;
  const Axes axes_;
  const std::string prefix_;
  const std::int64_t lanes_;
  const Axes row_axes_;

 public:
  Stages elements, rows;
};

Buffer constants_of(Definition& d, const std::string& block, const std::string& parameter, std::int64_t channels,
                    std::int64_t words, const Core& config) {
  return on_chip(d, block, d.constant(parameter, DType::int32, {config.batch, channels, words}));
}

constexpr std::int64_t kSoftmaxRowWords = 2, kRowWords = 5;

}  // namespace

bool is_of_lanes(std::string_view block) { return block.ends_with(kOfLanes); }

std::int64_t serial_cycles(std::string_view block) {
  if (!is_of_lanes(block)) return 0;
  if (block.find(kReciprocal) != std::string_view::npos) return isa::spec::kRecipCyclesPerRow.value;
  return block.find(kRoot) != std::string_view::npos ? isa::spec::kRsqrtCyclesPerRow.value : 0;
}

Program softmax_program(const SoftmaxSpec& spec, const Core& config) {
  constexpr std::int64_t kMaskShift = 10;  // of softmax_mask: 127 becomes more than 65535
  Definition d(spec.name);
  const TensorLayout of_mask = spec.mask_layout();
  const Axes mask_axes = pixel_axes(of_mask);
  Axes axes = mask_axes;
  if (spec.groups > 1) axes[2].extent = spec.groups;
  // The element of a channel and pixel; groups are rows of the program.
  const auto place = [&](const TensorLayout& layout, const Indices& i, const Expr& channel) {
    const bool in_one_row = spec.groups > 1;
    return Indices{i[0], channel, (in_one_row ? int_imm(0) : i[2]) + layout.border.top,
                   (in_one_row ? i[2] * of_mask.w + i[3] : i[3]) + layout.border.left};
  };
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  const Buffer m = spec.mask == SoftmaxMask::none       ? nullptr
                   : spec.mask == SoftmaxMask::computed ? d.input("M", DType::int8, of_mask.program_shape())
                                                        : d.constant("M", DType::int8, of_mask.program_shape());
  const Widener widen(d, spec.widening, config);
  const bool pads = spec.has_constants();
  const Buffer k = pads ? constants_of(d, "constants", "K", spec.y.padded_c(), 2, config) : nullptr;
  const Buffer of_rows = constants_of(d, "row.constants", "KR", config.block_out, kSoftmaxRowWords, config);
  const Buffer table = on_chip_table(d, DType::uint16);
  Rows all(d, axes, config), masks(d, mask_axes, config, "m.");
  Stages &elements = all.elements, &rows = all.rows;

  Buffer value =
      widen("x.", axes, [&](const Indices& i, const Expr& channel) { return load(x, place(spec.x, i, channel)); });
  Buffer mask = m ? widen("m.", m, {}, mask_axes) : nullptr;
  Buffer others;  // what to add to the number of each element of a row, so that all count if none does
  if (spec.mask == SoftmaxMask::computed) {
    const Buffer any = masks.reduce("any", isa::AluOp::rmax, max_of_int8(), mask);
    others = masks.rows.with_immediate("none", BinaryOp::mul, any, -INT8_MAX);
    others = masks.rows.with_immediate("others", BinaryOp::add, others, INT8_MAX);
    mask = masks.elements.with_immediate("range", BinaryOp::mul, mask, INT8_MAX - INT8_MIN);
    mask = masks.elements.with_immediate("number", BinaryOp::add, mask, INT8_MIN);
  }
  // A stage with the mask's number for an element, which is that of all groups.
  const auto with_mask = [&](const std::string& step, const Buffer& a, const Buffer& numbers) {
    return elements.stage(step, [&](const Indices& i) {
      Indices at = i;
      if (spec.groups > 1) at[2] = int_imm(0);
      return binary(BinaryOp::min, load(a, i), load(numbers, at));
    });
  };
  if (mask) value = with_mask("visible", value, mask);
  if (pads && !mask) value = elements.with_constant("visible", BinaryOp::min, value, k, 0);
  Buffer distance = all.reduce("largest", isa::AluOp::rmax, max_of_int8(), value);
  distance = rows.with_immediate("negated", BinaryOp::mul, distance, -1);
  // x - m is from -255 to 0, and the first entry of the table is that of -128.
  Buffer exponential = elements.look_up("exponential", all.add("distance", value, distance), table, INT8_MAX);
  if (mask) {
    Buffer shown = masks.elements.with_immediate("shown", BinaryOp::max, mask, 0);
    if (others) shown = masks.add("counts", shown, others);
    exponential = with_mask("counted", exponential, masks.elements.shift_right("most", shown, -kMaskShift));
  }
  if (pads) exponential = elements.with_constant(mask ? "own" : "counted", BinaryOp::min, exponential, k, 1);
  const Buffer sum =
      rows.requant("scaled", all.reduce("sum", isa::AluOp::radd, tensor::sum_reducer(), exponential), of_rows, 0);
  const Buffer factor = all.serial(kReciprocal, isa::AluOp::recip, sum, spec.shift);
  const Buffer none = rows.stage("none", [](const Indices&) { return int32(0); });
  const Buffer y = all.requant("requant", exponential, factor, none, spec.range.zero_point);
  return finish(d, elements.clamped(y, spec.range, spec.saturate), spec.y.program_shape(), spec.saturate,
                [&](const Indices& i) { return place(spec.y, i, i[1]); });
}

NdArray softmax_constants(const Core& config, std::int64_t channels, std::int64_t visible) {
  NdArray constants(DType::int32, {config.batch, channels, 2});
  for (std::int64_t i = 0; i < config.batch * channels; ++i) {
    const bool counts = i % channels < visible;
    constants.set_int64(2 * i, softmax_mask(counts));
    constants.set_int64(2 * i + 1, counts ? UINT16_MAX : 0);
  }
  return constants;
}

NdArray softmax_row_constants(const Core& config, float scale) {
  const std::int32_t words[kSoftmaxRowWords] = {std::bit_cast<std::int32_t>(scale), 0};
  return equal_channels(config, config.block_out, words);
}

NdArray softmax_table(std::span<const std::uint16_t> exponentials) {
  NdArray table(DType::uint16, {1, isa::spec::kTableEntries});
  const auto entries = table.data<std::uint16_t>();
  std::reverse_copy(exponentials.begin(), exponentials.end(), entries.begin());
  return table;
}

Program normalization_program(const NormalizationSpec& spec, const Core& config) {
  Definition d(spec.name);
  const Axes axes = pixel_axes(spec.y);
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  const Widener widen(d, spec.widening, config);
  const Buffer k = constants_of(d, "constants", "K", spec.y.padded_c(), spec.words(), config);
  const Buffer of_rows = constants_of(d, "row.constants", "KR", config.block_out, kRowWords, config);
  Rows all(d, axes, config);
  Stages &elements = all.elements, &rows = all.rows;
  const std::int64_t n = spec.x.c, zero_point = spec.x_zero_point;
  const auto without_padding = [&](const std::string& step, const Buffer& a) {
    return spec.pads() ? elements.with_constant(step, BinaryOp::mul, a, k, 4) : a;
  };

  // With s = -(mean + zero point) and the sum a of a row x: d = a + n s, sum (x + s)^2 = sum x^2 + s (a + d), and
  // n (x + s) - d = n x - a. So no pass makes the deviations x + s.
  const auto place = [&](const Indices& i, const Expr& channel) {
    return load(x, {i[0], channel, i[2] + spec.x.border.top, i[3] + spec.x.border.left});
  };
  Buffer copy, sum, less, shift, rest;
  if (spec.sums_by_gemm()) {
    const Buffer ones = d.constant("IS", DType::int8, {config.block_out, config.block_in});
    copy = d.compute("x.copy", DType::int8, {axes[0], {"c", axes[1].extent}, axes[2], axes[3]},
                     [&](const Indices& i) { return place(i, i[1]); });
    sum = d.reduce("lanes.sums", DType::int32, {axes[0], {"o", config.block_out}, axes[2], axes[3]},
                   {{"c", axes[1].extent}}, tensor::sum_reducer(), [&](const Indices& i, const Indices& r) {
                     return cast(DType::int32, load(copy, {i[0], r[0], i[2], i[3]})) *
                            cast(DType::int32, load(ones, {i[1], floor_mod(r[0], config.block_in)}));
                   });
  }
  Buffer value = widen("x.", axes, [&](const Indices& i, const Expr& channel) {
    return copy ? load(copy, {i[0], channel, i[2], i[3]}) : place(i, channel);
  });
  if (spec.centers) {
    value = without_padding("own", value);
    if (!sum) sum = all.reduce("sum", isa::AluOp::radd, tensor::sum_reducer(), value);
    shift = rows.with_immediate("shift", BinaryOp::mul,
                                rows.requant("mean", rows.copy("sum_for_mean", sum), of_rows, 0), -1);
    if (zero_point != 0) shift = rows.with_immediate("zero_point", BinaryOp::add, shift, -zero_point);
    rest = rows.combine("rest", BinaryOp::add,
                        rows.with_immediate("shifts", BinaryOp::mul, rows.copy("shift_again", shift), n), sum);
  } else {
    if (zero_point != 0) value = elements.with_immediate("deviation", BinaryOp::add, value, -zero_point);
    value = without_padding("own", value);
  }
  Buffer variance = all.reduce("squares", isa::AluOp::radd, tensor::sum_reducer(), value, tensor::square);
  const int log2 = std::countr_zero(static_cast<std::uint64_t>(spec.parts));
  const auto in_parts = [&](const Buffer& a) { return log2 == 0 ? a : rows.shift_right("parts", a, -log2); };
  if (spec.centers) {
    const Buffer both = rows.combine("both", BinaryOp::add, rows.copy("rest_for_sum", rest), sum);
    shift = rows.combine("cross", BinaryOp::mul, shift, both);
    const Buffer square = rows.combine("square", BinaryOp::mul, rows.copy("rest_again", rest), rest);
    const Buffer part = rows.with_immediate("part", BinaryOp::mul, rows.requant("rounded", square, of_rows, 0, 2), -1);
    variance = in_parts(rows.combine("variance", BinaryOp::add, variance, shift));
    variance = rows.combine("left", BinaryOp::add, variance, part);
    less = rows.with_immediate("negated", BinaryOp::mul, sum, -1);
  } else {
    variance = in_parts(variance);
    less = rows.stage("none", [](const Indices&) { return int32(0); });
  }
  variance = rows.with_constant("epsilon", BinaryOp::add, variance, of_rows, 4);
  const Buffer factor = all.serial(kRoot, isa::AluOp::rsqrt, variance, spec.bits);
  Buffer y = all.requant("normalized", elements.with_immediate("times", BinaryOp::mul, value, n), factor, less, 0);
  y = elements.requant("scaled", y, k, 0);
  y = elements.requant("requant", y, k, spec.range.zero_point, 2);
  return finish(d, elements.clamped(y, spec.range, spec.saturate), spec.y.program_shape(), spec.saturate,
                [&](const Indices& i) {
                  return Indices{i[0], i[1], i[2] + spec.y.border.top, i[3] + spec.y.border.left};
                });
}

NdArray normalization_constants(const NormalizationSpec& spec, const Core& config, std::span<const float> scale,
                                std::span<const std::int32_t> bias) {
  const std::int64_t channels = spec.y.padded_c(), words = spec.words();
  NdArray constants(DType::int32, {config.batch, channels, words});
  const std::int32_t last = float_bits(std::ldexp(1.0, -spec.shift));
  for (std::int64_t i = 0; i < config.batch * channels; ++i) {
    // Padded channels may have any values.
    const auto channel = static_cast<std::size_t>(i % channels);
    const std::int32_t row[] = {std::bit_cast<std::int32_t>(scale[std::min(channel, scale.size() - 1)]), 0, last,
                                bias[std::min(channel, bias.size() - 1)],
                                static_cast<std::int64_t>(channel) < spec.x.c ? 1 : 0};
    for (std::int64_t word = 0; word < words; ++word) constants.set_int64(i * words + word, row[word]);
  }
  return constants;
}

NdArray normalization_row_constants(const NormalizationSpec& spec, const Core& config) {
  const std::int64_t n = spec.x.c;
  const auto count = static_cast<double>(n);
  const std::int32_t words[kRowWords] = {float_bits(1 / count), static_cast<std::int32_t>(-n * spec.x_zero_point),
                                         float_bits(static_cast<double>(spec.parts) / count), 0,
                                         static_cast<std::int32_t>(spec.epsilon)};
  return equal_channels(config, config.block_out, words);
}

}  // namespace dovetail::accel
