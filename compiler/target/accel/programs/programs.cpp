#include "compiler/target/accel/programs/programs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "compiler/target/accel/programs/block_groups.h"
#include "compiler/target/accel/programs/stages.h"
#include "compiler/target/accel/programs/widener.h"
#include "compiler/target/accel/programs/window_maximum.h"
#include "compiler/tensor/tensor.h"
#include "isa/spec/timing.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Definition;
using tensor::Indices;

namespace {

// The position of a result in the interior of Y.
struct Place {
  std::int64_t first_channel = 0;
  Positions rows, columns;
};

// Adds the last block, which stores into Y with the given layout.
Program finish(Definition& definition, const Buffer& a, const TensorLayout& layout, bool saturate,
               const Place& place = {}) {
  return accel::finish(definition, a, layout.program_shape(), saturate, [&](const Indices& i) {
    const Expr channel = place.first_channel == 0 ? i[1] : i[1] + place.first_channel;
    return Indices{i[0], channel, position(i[2], place.rows, layout.border.top),
                   position(i[3], place.columns, layout.border.left)};
  });
}

// Index of output pixel `o` at kernel tap `k`, in input pixels without pads.
Expr tap(const Expr& o, std::int64_t stride, const Expr& k, std::int64_t dilation) {
  return (stride == 1 ? o : o * stride) + (dilation == 1 ? k : k * dilation);
}

Expr within(const Expr& e, std::int64_t extent) {
  return logical_and(binary(BinaryOp::ge, e, int_imm(0)), binary(BinaryOp::lt, e, int_imm(extent)));
}

enum class Side { a, b };

// Computes round_half_even((operand - its zero point) * its multiplier). `make_operand` defines the operand's blocks,
// after those of the constants.
Buffer scaled(Definition& d, const AddSpec& spec, const Core& config, Side side, const Axes& axes,
              const std::function<Buffer()>& make_operand) {
  const bool requant = spec.epilogue.form == Epilogue::Form::requant;
  const std::string prefix = side == Side::a ? "a." : "b.";
  const Buffer constants =
      d.constant(side == Side::a ? "KA" : "KB", DType::int32, {config.batch, config.block_out, operand_words(spec)});
  const Buffer k = on_chip(d, prefix + "constants", constants);
  const Buffer operand = make_operand();
  Stages stages(d, axes, prefix);
  if (requant) return stages.requant("requant", operand, k, 0);
  return stages.multiplied(side == Side::a ? spec.a_multiplier : spec.b_multiplier,
                           stages.with_constant("center", BinaryOp::add, operand, k, 0), k);
}

// `b`: null if it is constant, or part of `a`.
Program finish_sum(Definition& d, const AddSpec& spec, const Core& config, const std::string& prefix,
                   const std::string& constants, const Buffer& a, const Buffer& b) {
  const Buffer k =
      d.constant(constants, DType::int32, {config.batch, spec.constant_channels(config), spec.epilogue.words()});
  Stages stages(d, pixel_axes(spec.y), prefix);
  const Buffer sum = b ? stages.combine("sum", BinaryOp::add, a, b) : a;
  return finish(d, stages.epilogue(spec.epilogue, sum, on_chip(d, prefix + "constants", k)), spec.y,
                spec.epilogue.saturate);
}

}  // namespace

Widening cheapest_widening(const Core& config) {
  const std::int64_t block = make_layout(config, 1, 1, 1, 1).block,
                     steps = block / config.block_in + (config.overwrite ? 0 : 1);  // with a reset
  const std::int64_t slots = std::max<std::int64_t>(1, config.element_bytes(isa::Memory::acc8) / config.bus_bytes);
  return steps * isa::spec::kGemmCyclesPerUop.value <= slots ? Widening::gemm : Widening::load;
}

NdArray identity_weights(const Core& config, std::int32_t factor) {
  const std::int64_t block = make_layout(config, 1, 1, 1, 1).block;
  NdArray identity(DType::int8, {block, block});
  for (std::int64_t i = 0; i < block; ++i) identity.set_int64(i * block + i, factor);
  return identity;
}

bool requantizes_products(const ConvSpec& spec, const Core& config, bool fused) {
  return config.epilogue && spec.epilogue.form == Epilogue::Form::requant && !fused;
}
bool requantizes_products(const AddSpec& spec, const Core& config) {
  return config.epilogue && spec.epilogue.form == Epilogue::Form::requant && spec.is_of_products();
}

Program conv_program(const ConvSpec& spec, const Core& config, const AddSpec* addition, const MaxPoolSpec* pooling) {
  Definition d(spec.name);
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  const Buffer w = d.constant("W", DType::int8, weight_shape(spec));
  const bool requantizes = requantizes_products(spec, config, addition != nullptr || pooling != nullptr);
  const Buffer k =
      requantizes ? nullptr : d.constant("K", DType::int32, {config.batch, spec.y.padded_c(), spec.epilogue.words()});

  // The extents of the convolution's own result.
  const std::int64_t rows = pooling ? window_rows(*pooling).extent() : spec.y.h,
                     columns = pooling ? window_columns(*pooling).extent() : spec.y.w;
  Buffer image = x;
  std::int64_t row0 = spec.x.border.top - spec.pad_top, column0 = spec.x.border.left - spec.pad_left;
  if (spec.pads_in_load) {
    const Axes padded{{"n", spec.x.padded_n()},
                      {"c", spec.x.padded_c()},
                      {"y", (rows - 1) * spec.stride_h + (spec.kernel_h - 1) * spec.dilation_h + 1},
                      {"x", (columns - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w + 1}};
    image = d.compute("pad", DType::int8, padded, [&](const Indices& i) {
      const Expr row = i[2] - spec.pad_top, column = i[3] - spec.pad_left;
      return select(logical_and(within(row, spec.x.h), within(column, spec.x.w)),
                    load(x, {i[0], i[1], row + spec.x.border.top, column + spec.x.border.left}),
                    int_imm(0, DType::int8));
    });
    row0 = column0 = 0;
  }
  const std::int64_t inputs = spec.x.padded_c() / spec.groups, outputs = spec.y.padded_c() / spec.groups;
  const auto product = [&](const std::string& name, const Positions& at_rows, const Positions& at_columns) {
    return d.reduce(
        name, DType::int32, pixel_axes(spec.y, at_rows.count, at_columns.count),
        {{"c", inputs}, {"ky", spec.kernel_h}, {"kx", spec.kernel_w}}, tensor::sum_reducer(),
        [&](const Indices& i, const Indices& r) {
          const Expr channel = spec.groups == 1 ? r[0] : floor_div(i[1], outputs) * inputs + r[0];
          const Expr row = tap(position(i[2], at_rows, 0), spec.stride_h, r[1], spec.dilation_h) + row0;
          const Expr column = tap(position(i[3], at_columns, 0), spec.stride_w, r[2], spec.dilation_w) + column0;
          const Indices weight = spec.uniform_weights ? Indices{floor_mod(i[1], outputs), r[0], int_imm(0), int_imm(0)}
                                                      : Indices{i[1], r[0], r[1], r[2]};
          return cast(DType::int32, load(image, {i[0], channel, row, column})) * cast(DType::int32, load(w, weight));
        });
  };
  const auto taps = [&] {
    return d.reduce("taps", DType::int32, pixel_axes(spec.y, rows, columns),
                    {{"ky", spec.kernel_h}, {"kx", spec.kernel_w}}, tensor::sum_reducer(),
                    [&](const Indices& i, const Indices& r) {
                      const Expr row = tap(i[2], spec.stride_h, r[0], 1) + row0,
                                 column = tap(i[3], spec.stride_w, r[1], 1) + column0;
                      return cast(DType::int32, load(image, {i[0], i[1], row, column})) *
                             cast(DType::int32, load(w, {i[1], r[1] * spec.pushes + r[0]}));
                    });
  };
  const Axes axes = pixel_axes(spec.y);
  Stages stages(d, axes, "");
  if (pooling) {
    const Buffer largest = window_maximum(
        d, *pooling, [&](const std::string& name, const Positions& at_rows, const Positions& at_columns) {
          return product(name + "conv", at_rows, at_columns);
        });
    return finish(d, stages.epilogue(spec.epilogue, largest, on_chip(d, "constants", k)), spec.y,
                  spec.epilogue.saturate);
  }
  const Buffer acc = spec.pushes > 0 ? taps() : product("conv", {0, 1, rows}, {0, 1, columns});
  if (requantizes) {
    const Buffer parameters = on_chip_parameters(d, spec.y.padded_c(), config);
    return finish(d, stages.requantized_products(acc, parameters, spec.table ? on_chip_table(d) : nullptr), spec.y,
                  false);
  }
  if (spec.table) {
    Epilogue clamped = spec.epilogue;
    clamped.saturate = true;
    const Buffer index = stages.epilogue(clamped, acc, on_chip(d, "constants", k));
    return finish(d, stages.look_up("entry", index, on_chip_table(d)), spec.y, false);
  }
  if (!addition)
    return finish(d, stages.epilogue(spec.epilogue, acc, on_chip(d, "constants", k)), spec.y, spec.epilogue.saturate);
  // Clamps as the store would have done if the result had been stored.
  Epilogue clamped = spec.epilogue;
  clamped.saturate = false;
  const Buffer a = stages.epilogue(clamped, acc, on_chip(d, "constants", k));
  if (addition->is_of_products()) {
    Buffer sum = addition->a_factor == 1
                     ? a
                     : Stages(d, axes, "a.").with_immediate("factor", BinaryOp::mul, a, addition->a_factor);
    if (!addition->constant_b) {
      const Buffer b = d.input("B", DType::int8, addition->b.program_shape());
      sum = Widener(d, Widening::load, config).multiplied("b.", "IB", b, addition->b.border, axes, sum);
    }
    return finish_sum(d, *addition, config, "sum.", "KS", sum, nullptr);
  }
  const Buffer scaled_a = scaled(d, *addition, config, Side::a, axes, [&] { return a; });
  if (addition->constant_b) return finish_sum(d, *addition, config, "sum.", "KS", scaled_a, nullptr);
  const Widener widen(d, addition->widening, config);
  const Buffer b = d.input("B", DType::int8, addition->b.program_shape());
  const Buffer scaled_b =
      scaled(d, *addition, config, Side::b, axes, [&] { return widen("b.", b, addition->b.border, axes); });
  return finish_sum(d, *addition, config, "sum.", "KS", scaled_a, scaled_b);
}

namespace {

Program sum_of_products_program(const AddSpec& spec, const Core& config) {
  Definition d(spec.name);
  const Axes axes = pixel_axes(spec.y);
  const Widener widen(d, Widening::load, config);
  const Buffer a = d.input("A", DType::int8, spec.a.program_shape());
  Buffer sum = widen.multiplied("a.", "IA", a, spec.a.border, axes, nullptr);
  if (!spec.constant_b) {
    const Buffer b = d.input("B", DType::int8, spec.b.program_shape());
    sum = widen.multiplied("b.", "IB", b, spec.b.border, axes, sum);
  }
  if (!requantizes_products(spec, config)) return finish_sum(d, spec, config, "", "K", sum, nullptr);
  const Buffer parameters = on_chip_parameters(d, spec.constant_channels(config), config);
  return finish(d, Stages(d, axes, "").requantized_products(sum, parameters, nullptr), spec.y, false);
}

}  // namespace

Program add_program(const AddSpec& spec, const Core& config) {
  if (spec.is_of_products()) return sum_of_products_program(spec, config);
  Definition d(spec.name);
  const Axes axes = pixel_axes(spec.y);
  const Buffer a = d.input("A", DType::int8, spec.a.program_shape());
  const Buffer b = spec.constant_b ? nullptr : d.input("B", DType::int8, spec.b.program_shape());
  const Widener widen(d, spec.widening, config);
  // Products first: a change between them and the ALU empties the pipe.
  const Buffer wide_a = widen("a.", a, spec.a.border, axes), wide_b = b ? widen("b.", b, spec.b.border, axes) : nullptr;
  const Buffer scaled_a = scaled(d, spec, config, Side::a, axes, [&] { return wide_a; });
  if (!b) return finish_sum(d, spec, config, "", "K", scaled_a, nullptr);
  const Buffer scaled_b = scaled(d, spec, config, Side::b, axes, [&] { return wide_b; });
  return finish_sum(d, spec, config, "", "K", scaled_a, scaled_b);
}

NdArray center_constants(const Core& config, std::int32_t zero_point) {
  NdArray constants(DType::int32, {config.batch, config.block_out, 1});
  for (std::int64_t i = 0; i < constants.count(); ++i) constants.set_int64(i, -zero_point);
  return constants;
}

Program product_program(const ProductSpec& spec, const Core& config) {
  Definition d(spec.name);
  const Axes axes = pixel_axes(spec.y), vector_axes = pixel_axes(spec.y, 1, 1);
  const Buffer a = d.input("A", DType::int8, spec.a.program_shape());
  const Buffer b = d.input("B", DType::int8, spec.b.program_shape());
  const Widener widen(d, spec.widening, config);
  const Buffer wide_a = widen("a.", a, spec.a.border, axes);
  const Buffer wide_b = spec.vector_b ? Widener(d, Widening::load, config)("b.", b, spec.b.border, vector_axes)
                                      : widen("b.", b, spec.b.border, axes);
  const auto centered = [&](const std::string& prefix, const std::string& name, const Buffer& wide, const Axes& own) {
    const Buffer k = d.constant(name, DType::int32, {config.batch, config.block_out, 1});
    return Stages(d, own, prefix).with_constant("center", BinaryOp::add, wide, on_chip(d, prefix + "constants", k), 0);
  };
  const Buffer factor_a = centered("a.", "KA", wide_a, axes),
               factor_b = centered("b.", "KB", wide_b, spec.vector_b ? vector_axes : axes);
  const Buffer k = d.constant("K", DType::int32, {config.batch, config.block_out, spec.epilogue.words()});
  Stages stages(d, axes, "");
  const Buffer product = stages.stage("times", [&](const Indices& i) {
    const Indices at = spec.vector_b ? Indices{i[0], i[1], int_imm(0), int_imm(0)} : i;
    return binary(BinaryOp::mul, load(factor_a, i), load(factor_b, at));
  });
  return finish(d, stages.epilogue(spec.epilogue, product, on_chip(d, "constants", k)), spec.y, spec.epilogue.saturate);
}

namespace {

Program separable_max_pool_program(const MaxPoolSpec& spec, const Core& config) {
  Definition d(spec.name);
  const TensorLayout& y = spec.y;
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  // The image with the border that has its pads: everything that windows read.
  MaxPoolSpec bordered = spec;
  bordered.pad_top = bordered.pad_left = 0;
  bordered.x.h = (y.h - 1) * spec.stride_h + spec.kernel_h;
  bordered.x.w = (y.w - 1) * spec.stride_w + spec.kernel_w;
  const Axes image{{"n", y.padded_n()}, {"c", y.padded_c()}, {"y", bordered.x.h}, {"x", bordered.x.w}};
  const std::int64_t top = spec.x.border.top - spec.pad_top, left = spec.x.border.left - spec.pad_left;
  const Buffer copy = d.compute("x.copy", DType::int8, image, [&](const Indices& i) {
    return load(x, {i[0], i[1], position(i[2], {}, top), position(i[3], {}, left)});
  });
  const Widener widen(d, spec.widening, config);
  const Buffer largest =
      window_maximum(d, bordered, [&](const std::string& name, const Positions& rows, const Positions& columns) {
        return widen(name, copy, rows, columns, pixel_axes(y, rows.count, columns.count));
      });
  return finish(d, largest, y, false);
}

}  // namespace

Program max_pool_program(const MaxPoolSpec& spec, const Core& config) {
  if (spec.separable) return separable_max_pool_program(spec, config);
  Definition d(spec.name);
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  const Buffer wide = Widener(d, spec.widening, config)("", x, spec.x.border, pixel_axes(spec.x));
  const Buffer pooled =
      d.reduce("pool", DType::int32, pixel_axes(spec.y), {{"ky", spec.kernel_h}, {"kx", spec.kernel_w}}, max_of_int8(),
               [&](const Indices& i, const Indices& r) -> Expr {
                 const Expr row = tap(i[2], spec.stride_h, r[0], spec.dilation_h) - spec.pad_top;
                 const Expr column = tap(i[3], spec.stride_w, r[1], spec.dilation_w) - spec.pad_left;
                 const Expr value = load(wide, {i[0], i[1], row, column});
                 const std::int64_t last_row =
                     (spec.y.h - 1) * spec.stride_h + (spec.kernel_h - 1) * spec.dilation_h - spec.pad_top;
                 const std::int64_t last_column =
                     (spec.y.w - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w - spec.pad_left;
                 if (spec.pad_top == 0 && spec.pad_left == 0 && last_row < spec.x.h && last_column < spec.x.w)
                   return value;
                 return select(logical_and(within(row, spec.x.h), within(column, spec.x.w)), value, int32(-128));
               });
  return finish(d, pooled, spec.y, false);
}

NdArray selection_weights(const MoveSpec::Term& term) {
  const auto block = static_cast<std::int64_t>(term.channels.size());
  NdArray weights(DType::int8, {block, block});
  for (std::int64_t o = 0; o < block; ++o)
    if (const std::int64_t c = term.channels[static_cast<std::size_t>(o)]; c >= 0) weights.set_int64(o * block + c, 1);
  return weights;
}

Program move_program(const MoveSpec& spec, const Core& config) {
  Definition d(spec.name);
  const Axes axes{
      {"n", spec.y.padded_n()}, {"o", spec.blocks * spec.y.block}, {"y", spec.rows.count}, {"x", spec.columns.count}};
  std::vector<Buffer> inputs;
  for (std::size_t t = 0; t < spec.terms.size(); ++t)
    inputs.push_back(d.input(fmt::format("X{}", t), DType::int8, spec.terms[t].x.program_shape()));
  Stages stages(d, axes, "");
  // The identity is needed if there are whole blocks.
  const bool any_whole = !std::ranges::all_of(spec.terms, &MoveSpec::Term::selects);
  const Widener widen(d, any_whole ? spec.widening : Widening::load, config);
  Buffer value;
  for (std::size_t t = 0; t < spec.terms.size(); ++t) {
    const Buffer term = widen(fmt::format("x{}.", t), inputs[t], spec.terms[t], t, axes);
    value = value ? stages.combine(fmt::format("sum{}", t), BinaryOp::add, value, term) : term;
  }
  if (!value) value = stages.stage("fill", [&](const Indices&) { return int32(spec.fill); });
  if (spec.y_min > -128) value = stages.with_immediate("max", BinaryOp::max, value, spec.y_min);
  if (spec.y_max < 127) value = stages.with_immediate("min", BinaryOp::min, value, spec.y_max);
  return finish(d, value, spec.y, false, {spec.first_block * spec.y.block, spec.rows, spec.columns});
}

NdArray table_constants(std::span<const std::int8_t> table) {
  NdArray constants(DType::int16, {1, static_cast<std::int64_t>(table.size())});
  for (std::size_t i = 0; i < table.size(); ++i) constants.set_int64(static_cast<std::int64_t>(i), table[i]);
  return constants;
}

Program table_program(const TableSpec& spec, const Core& config) {
  Definition d(spec.name);
  const Axes axes = pixel_axes(spec.y);
  const Buffer x = d.input("X0", DType::int8, spec.x.program_shape());
  const Widener widen(d, spec.widening, config);
  const Buffer table = on_chip_table(d);
  return finish(d, Stages(d, axes, "").look_up("entry", widen("x0.", x, spec.x.border, axes), table), spec.y, false);
}

NdArray lines_constants(const LinesSpec& spec, const Core& config) {
  const std::int64_t channels = spec.by_channel() ? spec.y.padded_c() : config.block_out;
  NdArray constants(DType::int32, {config.batch, channels, spec.words()});
  const auto bits = [](std::int32_t slope) {
    return std::bit_cast<std::int32_t>(std::ldexp(static_cast<float>(slope), -kSlopeBits));
  };
  for (std::int64_t i = 0; i < config.batch * channels; ++i) {
    const auto channel = spec.by_channel() ? static_cast<std::size_t>(i % channels) : std::size_t{0};
    // Channels beyond the model's may have any slopes.
    const auto& [left, right] = spec.lines.slopes[std::min(channel, spec.lines.slopes.size() - 1)];
    const std::int32_t with_requant[] = {bits(left), -spec.lines.x_zero, bits(right), -spec.lines.x_zero},
                       without[] = {left, right};
    std::copy_n(spec.form == Epilogue::Form::requant ? with_requant : without, spec.words(),
                &constants.data<std::int32_t>()[static_cast<std::size_t>(i * spec.words())]);
  }
  return constants;
}

Program lines_program(const LinesSpec& spec, const Core& config) {
  const PiecewiseLinear& lines = spec.lines;
  const bool requants = spec.form == Epilogue::Form::requant;
  Definition d(spec.name);
  const Axes axes = pixel_axes(spec.y);
  std::vector<Buffer> inputs;
  for (int i = 0; i < (requants ? 2 : 1); ++i)
    inputs.push_back(d.input(fmt::format("X{}", i), DType::int8, spec.x.program_shape()));
  const Widener widen(d, spec.widening, config);
  const std::int64_t channels = spec.by_channel() ? spec.y.padded_c() : config.block_out;
  const Buffer k = on_chip(d, "constants", d.constant("K", DType::int32, {config.batch, channels, spec.words()}));
  Stages stages(d, axes, "");
  const BinaryOp chosen = lines.larger ? BinaryOp::max : BinaryOp::min;
  Buffer value = widen("x0.", inputs[0], spec.x.border, axes);
  if (requants) {
    const Buffer other = widen("x1.", inputs[1], spec.x.border, axes);
    value = stages.requant("left", value, k, lines.y_zero, 0);
    value = stages.combine("chosen", chosen, value, stages.requant("right", other, k, lines.y_zero, 2));
  } else {
    value = stages.with_immediate("center", BinaryOp::add, value, -lines.x_zero);
    const Buffer other = stages.copy("other", value);
    value = stages.with_constant("left", BinaryOp::mul, value, k, 0);
    value = stages.combine("chosen", chosen, value, stages.with_constant("right", BinaryOp::mul, other, k, 1));
    value = stages.with_immediate("half", BinaryOp::add, value, 1 << (kSlopeBits - 1));
    value = stages.shift_right("rounded", value, kSlopeBits);
    if (lines.y_zero != 0) value = stages.with_immediate("zero_point", BinaryOp::add, value, lines.y_zero);
  }
  if (!spec.saturate || lines.y_min > -128) value = stages.with_immediate("max", BinaryOp::max, value, lines.y_min);
  if (!spec.saturate || lines.y_max < 127) value = stages.with_immediate("min", BinaryOp::min, value, lines.y_max);
  return finish(d, value, spec.y, spec.saturate);
}

}  // namespace dovetail::accel
