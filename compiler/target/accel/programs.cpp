#include "compiler/target/accel/programs.h"

#include <bit>
#include <cmath>

#include "compiler/target/accel/intrinsics.h"
#include "compiler/tensor/tensor.h"
#include "loops/verify.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Definition;
using tensor::Indices;

namespace {

Expr int32(std::int64_t value) { return int_imm(value, DType::int32); }

Axes pixel_axes(const TensorLayout& y) { return {{"n", y.padded_n()}, {"o", y.padded_c()}, {"y", y.h}, {"x", y.w}}; }

// A chain of ALU stages over the same axes; each stage is a block `<prefix><step>` with an int32 buffer of that name.
class Stages {
 public:
  Stages(Definition& definition, Axes axes, std::string prefix) : definition_(definition), axes_(std::move(axes)), prefix_(std::move(prefix)) {}

  Buffer stage(const std::string& step, const std::function<Expr(const Indices&)>& body) {
    return definition_.compute(prefix_ + step, DType::int32, axes_, body);
  }
  // Word `word` of the constants at the channel of `i`; constants of one channel block serve all blocks.
  Expr constant(const Buffer& k, const Indices& i, std::int64_t word) const {
    const Expr channel = k->shape[1] == axes_[1].extent ? i[1] : floor_mod(i[1], k->shape[1]);
    return load(k, {floor_mod(i[0], k->shape[0]), channel, int_imm(word)});
  }
  Buffer with_constant(const std::string& step, BinaryOp op, const Buffer& a, const Buffer& k, std::int64_t word) {
    return stage(step, [&](const Indices& i) { return binary(op, load(a, i), constant(k, i, word)); });
  }
  Buffer with_immediate(const std::string& step, BinaryOp op, const Buffer& a, std::int64_t imm) {
    return stage(step, [&](const Indices& i) { return binary(op, load(a, i), int32(imm)); });
  }
  Buffer requant(const std::string& step, const Buffer& a, const Buffer& k, std::int32_t zero_point) {
    return stage(step, [&](const Indices& i) {
      return call(Function::requantize, {load(a, i) + constant(k, i, 1), bitcast(DType::float32, constant(k, i, 0)), int32(zero_point)});
    });
  }

  // acc -> the int32 value that the store narrows (Epilogue).
  Buffer epilogue(const Epilogue& e, Buffer a, const Buffer& k) {
    if (e.requant) {
      a = requant("requant", a, k, e.zero_point);
    } else {
      a = with_constant("bias", BinaryOp::add, a, k, 0);
      if (e.rounds) {
        // t = minus bit s of a: a copy (ALU operations are in place), shifted to the sign and back.
        Buffer t = stage("tie_zero", [&](const Indices&) { return int32(0); });
        t = stage("tie_copy", [&](const Indices& i) { return load(t, i) + load(a, i); });
        t = stage("tie_left", [&](const Indices& i) { return shr_expression(load(t, i), constant(k, i, 1)); });
        t = stage("tie_sign", [&](const Indices& i) { return shr_expression(load(t, i), int32(31)); });
        a = stage("tie", [&](const Indices& i) { return load(a, i) + load(t, i); });
        a = with_constant("half", BinaryOp::add, a, k, 2);
        a = stage("shift", [&](const Indices& i) { return shr_expression(load(a, i), constant(k, i, 3)); });
      }
      if (e.zero_point != 0) a = with_immediate("zero_point", BinaryOp::add, a, e.zero_point);
    }
    if (!e.saturate || e.y_min > -128) a = with_immediate("max", BinaryOp::max, a, e.y_min);
    if (!e.saturate || e.y_max < 127) a = with_immediate("min", BinaryOp::min, a, e.y_max);
    return a;
  }

 private:
  Definition& definition_;
  Axes axes_;
  std::string prefix_;
};

// The constants' copy on chip: a block named as its buffer.
Buffer on_chip(Definition& d, const std::string& name, const Buffer& k) {
  return d.compute(name, DType::int32, {{"n", k->shape[0]}, {"o", k->shape[1]}, {"word", k->shape[2]}}, [&](const Indices& i) { return load(k, i); });
}

// The last block: narrows to int8 into the interior of Y. `saturate`: the cast clamps, as STORE does with the extension.
Program finish(Definition& definition, const Buffer& a, const TensorLayout& layout, bool saturate) {
  const Buffer y = make_buffer("Y", DType::int8, layout.program_shape());
  Block block;
  block.name = "out";
  Indices i;
  std::vector<Var> loop_vars;
  const Axes axes = pixel_axes(layout);
  for (const tensor::Axis& axis : axes) {
    loop_vars.push_back(make_var("out." + axis.name));
    const Var iterator = make_var("v" + axis.name);
    block.iterators.push_back({iterator, axis.extent, IterKind::spatial, ref(loop_vars.back())});
    i.push_back(ref(iterator));
  }
  Expr value = load(a, i);
  if (saturate) value = binary(BinaryOp::min, binary(BinaryOp::max, value, int32(-128)), int32(127));
  const auto shifted = [](const Expr& e, std::int64_t by) { return by == 0 ? e : e + by; };
  block.body = store(y, {i[0], i[1], shifted(i[2], layout.border.top), shifted(i[3], layout.border.left)}, cast(DType::int8, value));
  BlockRegions regions = infer_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  Stmt stmt = make_stmt(std::move(block));
  for (std::size_t d = axes.size(); d-- > 0;) stmt = make_stmt(For{loop_vars[d], axes[d].extent, ForKind::serial, "", {}, std::move(stmt)});
  definition.statement(stmt, {y});
  return definition.build({y});
}

// Index of output pixel `o` at kernel tap `k`, in input pixels without pads.
Expr tap(const Expr& o, std::int64_t stride, const Expr& k, std::int64_t dilation) {
  return (stride == 1 ? o : o * stride) + (dilation == 1 ? k : k * dilation);
}

Expr within(const Expr& e, std::int64_t extent) {
  return logical_and(binary(BinaryOp::ge, e, int_imm(0)), binary(BinaryOp::lt, e, int_imm(extent)));
}

}  // namespace

std::optional<int> shift_of_scale(float scale) {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  const int exponent = static_cast<int>(bits >> 23);  // sign bit set makes it larger than 255
  if ((bits & 0x7fffff) != 0 || exponent > 127 || exponent < 127 - 30) return std::nullopt;
  return 127 - exponent;
}

NdArray epilogue_constants(const Epilogue& e, std::int64_t batch, std::int64_t channels, std::span<const std::int32_t> bias,
                           std::span<const float> scale) {
  NdArray constants(DType::int32, {batch, channels, e.words()});
  const auto words = constants.data<std::int32_t>();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t o = 0; o < channels; ++o) {
      std::int32_t* row = &words[static_cast<std::size_t>((b * channels + o) * e.words())];
      // Channels beyond the model's are padding: nothing reads what they yield. They take the first scale, which the passes can do.
      const std::int32_t own_bias = o < static_cast<std::int64_t>(bias.size()) ? bias[static_cast<std::size_t>(o)] : 0;
      const float own_scale = o < static_cast<std::int64_t>(scale.size()) ? scale[static_cast<std::size_t>(o)] : scale[0];
      if (e.requant) {
        row[0] = std::bit_cast<std::int32_t>(own_scale);
        row[1] = own_bias;
        continue;
      }
      const int s = shift_of_scale(own_scale).value();
      if (!e.rounds) {
        row[0] = own_bias;
        continue;
      }
      DOVETAIL_CHECK(s >= 1, "s = 0 beside other shifts would need a left shift by 32; select.cpp refuses such mixtures");
      row[0] = own_bias + (std::int32_t{1} << s);
      row[1] = s - 31;
      row[2] = -(std::int32_t{1} << (s - 1));
      row[3] = s;
    }
  }
  return constants;
}

Program conv_program(const ConvSpec& spec, const isa::HardwareConfig& config) {
  Definition d(spec.name);
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  const Buffer w = d.constant("W", DType::int8, {spec.y.padded_c(), spec.x.padded_c(), spec.kernel_h, spec.kernel_w});
  const Buffer k = d.constant("K", DType::int32, {config.batch, spec.y.padded_c(), spec.epilogue.words()});

  Buffer image = x;
  std::int64_t row0 = spec.x.border.top - spec.pad_top, column0 = spec.x.border.left - spec.pad_left;
  if (spec.pads_in_load) {
    const std::int64_t rows = (spec.y.h - 1) * spec.stride_h + (spec.kernel_h - 1) * spec.dilation_h + 1;
    const std::int64_t columns = (spec.y.w - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w + 1;
    image = d.compute("pad", DType::int8, {{"n", spec.x.padded_n()}, {"c", spec.x.padded_c()}, {"y", rows}, {"x", columns}}, [&](const Indices& i) {
      const Expr row = i[2] - spec.pad_top, column = i[3] - spec.pad_left;
      return select(logical_and(within(row, spec.x.h), within(column, spec.x.w)),
                    load(x, {i[0], i[1], row + spec.x.border.top, column + spec.x.border.left}), int_imm(0, DType::int8));
    });
    row0 = column0 = 0;
  }
  const Axes axes = pixel_axes(spec.y);
  const Buffer acc = d.reduce("conv", DType::int32, axes, {{"c", spec.x.padded_c()}, {"ky", spec.kernel_h}, {"kx", spec.kernel_w}}, tensor::sum_reducer(),
                              [&](const Indices& i, const Indices& r) {
                                const Expr row = tap(i[2], spec.stride_h, r[1], spec.dilation_h) + row0;
                                const Expr column = tap(i[3], spec.stride_w, r[2], spec.dilation_w) + column0;
                                return cast(DType::int32, load(image, {i[0], r[0], row, column})) *
                                       cast(DType::int32, load(w, {i[1], r[0], r[1], r[2]}));
                              });
  Stages stages(d, axes, "");
  return finish(d, stages.epilogue(spec.epilogue, acc, on_chip(d, "constants", k)), spec.y, spec.epilogue.saturate);
}

Program add_program(const AddSpec& spec, const isa::HardwareConfig& config) {
  Definition d(spec.name);
  const Axes axes = pixel_axes(spec.y);
  const Buffer inputs[2] = {d.input("A", DType::int8, spec.a.program_shape()), d.input("B", DType::int8, spec.b.program_shape())};
  const Shape constants{config.batch, config.block_out, 2};
  const Buffer operand_constants[2] = {d.constant("KA", DType::int32, constants), d.constant("KB", DType::int32, constants)};
  const Buffer k = d.constant("K", DType::int32, {config.batch, config.block_out, spec.epilogue.words()});
  Buffer scaled[2];
  for (int side = 0; side < 2; ++side) {
    const Border& border = (side == 0 ? spec.a : spec.b).border;
    Stages stages(d, axes, side == 0 ? "a." : "b.");
    Buffer value = stages.stage("load", [&](const Indices& i) {
      return cast(DType::int32, load(inputs[side], {i[0], i[1], i[2] + border.top, i[3] + border.left}));
    });
    const Buffer constants_on_chip = on_chip(d, side == 0 ? "a.constants" : "b.constants", operand_constants[side]);
    if (spec.epilogue.requant) {
      value = stages.requant("requant", value, constants_on_chip, 0);
    } else {
      value = stages.with_constant("centre", BinaryOp::add, value, constants_on_chip, 0);
      const std::int32_t shift = side == 0 ? spec.a_shift : spec.b_shift;
      if (shift != 0) value = stages.stage("scale", [&](const Indices& i) { return shr_expression(load(value, i), int32(-shift)); });
    }
    scaled[side] = value;
  }
  Stages stages(d, axes, "");
  const Buffer sum = stages.stage("sum", [&](const Indices& i) { return load(scaled[0], i) + load(scaled[1], i); });
  return finish(d, stages.epilogue(spec.epilogue, sum, on_chip(d, "constants", k)), spec.y, spec.epilogue.saturate);
}

Program max_pool_program(const MaxPoolSpec& spec, const isa::HardwareConfig&) {
  Definition d(spec.name);
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  const Buffer wide = d.compute("load", DType::int32, {{"n", spec.x.padded_n()}, {"o", spec.x.padded_c()}, {"y", spec.x.h}, {"x", spec.x.w}},
                                [&](const Indices& i) {
                                  return cast(DType::int32, load(x, {i[0], i[1], i[2] + spec.x.border.top, i[3] + spec.x.border.left}));
                                });
  // int8 has no smaller value, so the reduction may start at -128 instead of int32's minimum, and fits the ALU's immediate.
  const tensor::Reducer max_of_int8{"max_int8", [](const std::vector<DType>&) { return std::vector<Expr>{int32(-128)}; },
                                    [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
                                      return std::vector<Expr>{binary(BinaryOp::max, a[0], b[0])};
                                    }};
  const Buffer pooled = d.reduce("pool", DType::int32, pixel_axes(spec.y), {{"ky", spec.kernel_h}, {"kx", spec.kernel_w}}, max_of_int8,
                                 [&](const Indices& i, const Indices& r) -> Expr {
                                   const Expr row = tap(i[2], spec.stride_h, r[0], spec.dilation_h) - spec.pad_top;
                                   const Expr column = tap(i[3], spec.stride_w, r[1], spec.dilation_w) - spec.pad_left;
                                   const Expr value = load(wide, {i[0], i[1], row, column});
                                   const std::int64_t last_row = (spec.y.h - 1) * spec.stride_h + (spec.kernel_h - 1) * spec.dilation_h - spec.pad_top;
                                   const std::int64_t last_column = (spec.y.w - 1) * spec.stride_w + (spec.kernel_w - 1) * spec.dilation_w - spec.pad_left;
                                   if (spec.pad_top == 0 && spec.pad_left == 0 && last_row < spec.x.h && last_column < spec.x.w) return value;
                                   return select(logical_and(within(row, spec.x.h), within(column, spec.x.w)), value, int32(-128));
                                 });
  return finish(d, pooled, spec.y, false);
}

}  // namespace dovetail::accel
