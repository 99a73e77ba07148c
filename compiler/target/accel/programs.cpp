#include "compiler/target/accel/programs.h"

#include "compiler/target/accel/stages.h"
#include "compiler/tensor/tensor.h"
#include "loops/verify.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Definition;
using tensor::Indices;

namespace {

Axes pixel_axes(const TensorLayout& y) { return {{"n", y.padded_n()}, {"o", y.padded_c()}, {"y", y.h}, {"x", y.w}}; }

// The constants' copy on chip: a block named as its buffer.
Buffer on_chip(Definition& d, const std::string& name, const Buffer& k) {
  return d.compute(name, DType::int32, {{"n", k->shape[0]}, {"o", k->shape[1]}, {"word", k->shape[2]}},
                   [&](const Indices& i) { return load(k, i); });
}

// The last block: narrows to int8 into the interior of Y. `saturate`: the cast clamps, as STORE does with the
// extension.
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
  block.body = store(y, {i[0], i[1], shifted(i[2], layout.border.top), shifted(i[3], layout.border.left)},
                     cast(DType::int8, value));
  BlockRegions regions = infer_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  Stmt stmt = make_stmt(std::move(block));
  for (std::size_t d = axes.size(); d-- > 0;)
    stmt = make_stmt(For{loop_vars[d], axes[d].extent, ForKind::serial, "", {}, std::move(stmt)});
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
    image =
        d.compute("pad", DType::int8, {{"n", spec.x.padded_n()}, {"c", spec.x.padded_c()}, {"y", rows}, {"x", columns}},
                  [&](const Indices& i) {
                    const Expr row = i[2] - spec.pad_top, column = i[3] - spec.pad_left;
                    return select(logical_and(within(row, spec.x.h), within(column, spec.x.w)),
                                  load(x, {i[0], i[1], row + spec.x.border.top, column + spec.x.border.left}),
                                  int_imm(0, DType::int8));
                  });
    row0 = column0 = 0;
  }
  const Axes axes = pixel_axes(spec.y);
  const Buffer acc =
      d.reduce("conv", DType::int32, axes, {{"c", spec.x.padded_c()}, {"ky", spec.kernel_h}, {"kx", spec.kernel_w}},
               tensor::sum_reducer(), [&](const Indices& i, const Indices& r) {
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
  const Buffer inputs[2] = {d.input("A", DType::int8, spec.a.program_shape()),
                            d.input("B", DType::int8, spec.b.program_shape())};
  const bool requant = spec.epilogue.form == Epilogue::Form::requant;
  const Shape constants{config.batch, config.block_out, requant ? 2 : 4};
  const Buffer operand_constants[2] = {d.constant("KA", DType::int32, constants),
                                       d.constant("KB", DType::int32, constants)};
  const Buffer k = d.constant("K", DType::int32, {config.batch, config.block_out, spec.epilogue.words()});
  Buffer scaled[2];
  for (int side = 0; side < 2; ++side) {
    const Border& border = (side == 0 ? spec.a : spec.b).border;
    Stages stages(d, axes, side == 0 ? "a." : "b.");
    const Buffer on_chip_constants = on_chip(d, side == 0 ? "a.constants" : "b.constants", operand_constants[side]);
    const Buffer value = stages.stage("load", [&](const Indices& i) {
      return cast(DType::int32, load(inputs[side], {i[0], i[1], i[2] + border.top, i[3] + border.left}));
    });
    if (requant) scaled[side] = stages.requant("requant", value, on_chip_constants, 0);
    else
      scaled[side] = stages.multiplied(side == 0 ? spec.a_multiplier : spec.b_multiplier,
                                       stages.with_constant("centre", BinaryOp::add, value, on_chip_constants, 0),
                                       on_chip_constants);
  }
  Stages stages(d, axes, "");
  const Buffer sum = stages.stage("sum", [&](const Indices& i) { return load(scaled[0], i) + load(scaled[1], i); });
  return finish(d, stages.epilogue(spec.epilogue, sum, on_chip(d, "constants", k)), spec.y, spec.epilogue.saturate);
}

Program max_pool_program(const MaxPoolSpec& spec, const isa::HardwareConfig&) {
  Definition d(spec.name);
  const Buffer x = d.input("X", DType::int8, spec.x.program_shape());
  const Buffer wide = d.compute(
      "load", DType::int32, {{"n", spec.x.padded_n()}, {"o", spec.x.padded_c()}, {"y", spec.x.h}, {"x", spec.x.w}},
      [&](const Indices& i) {
        return cast(DType::int32, load(x, {i[0], i[1], i[2] + spec.x.border.top, i[3] + spec.x.border.left}));
      });
  // int8 has no smaller value, so the reduction may start at -128 instead of int32's minimum, and fits the ALU's
  // immediate.
  const tensor::Reducer max_of_int8{"max_int8",
                                    [](const std::vector<DType>&) { return std::vector<Expr>{int32(-128)}; },
                                    [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
                                      return std::vector<Expr>{binary(BinaryOp::max, a[0], b[0])};
                                    }};
  const Buffer pooled =
      d.reduce("pool", DType::int32, pixel_axes(spec.y), {{"ky", spec.kernel_h}, {"kx", spec.kernel_w}}, max_of_int8,
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

}  // namespace dovetail::accel
