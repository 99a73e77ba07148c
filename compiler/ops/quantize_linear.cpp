// QuantizeLinear and DequantizeLinear, per tensor, per axis or per block of an axis; DynamicQuantizeLinear. y =
// saturate(round_half_even(x / scale) + zero point), division in float32; x = (y - zero point) * scale.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"
#include "loops/integer.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

// Scale and zero point: one element per tensor, one per position along an axis, or one per block of `block` positions
// along the axis.
struct Parameters {
  std::optional<std::size_t> axis;  // none: per tensor
  std::int64_t block = 0;           // 0: one per position
  Expr at(const Naive& program, std::size_t input, const Indices& i) const {
    if (!axis) return program.scalar(input);
    if (block == 0) return loops::load(program.in(input), {i[*axis]});
    return loops::load(program.in(input), with_index(i, *axis, loops::floor_div(i[*axis], block)));
  }
};

Result<Parameters> block_parameters_of(const Operands& operands, std::int64_t block) {
  const Shape &x = operands.type(0).shape, &scale = operands.type(1).shape;
  DOVETAIL_ASSIGN(const std::size_t axis,
                  normalize_axis(operands, graph::int_attribute(operands.node, "axis", 1), x.size()));
  Shape blocks = x;
  if (block > 0) blocks[axis] = (x[axis] + block - 1) / block;
  if (block > 0 && element_count(scale) == 1 && element_count(blocks) == 1) return Parameters{};
  if (block < 0 || scale != blocks)
    return refuse(operands,
                  fmt::format("scale has shape {} for blocks of {} along axis {} of {}", to_string(scale), block, axis,
                              to_string(x)),
                  fmt::format("expected {}", to_string(blocks)));
  return Parameters{axis, block};
}

Result<Parameters> parameters_of(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &scale = operands.type(1).shape;
  // A single element is a scalar: exporters write it as [] or [1], sometimes differently for scale and zero point, and
  // with a meaningless axis.
  const bool one_scale = element_count(scale) == 1,
             one_zero_point = !operands.has(2) || element_count(operands.type(2).shape) == 1;
  if (operands.has(2) && operands.type(2).shape != scale && !(one_scale && one_zero_point))
    return refuse(
        operands,
        fmt::format("zero point has shape {}, but scale has {}", to_string(operands.type(2).shape), to_string(scale)),
        "make them equal");
  if (const std::int64_t block = graph::int_attribute(operands.node, "block_size", 0); block != 0)
    return block_parameters_of(operands, block);
  if (one_scale) return Parameters{};
  if (scale.size() != 1)
    return refuse(operands,
                  fmt::format("scale of shape {} has rank {}, but must have 0 or 1", to_string(scale), scale.size()),
                  "quantize per tensor or per axis");
  DOVETAIL_ASSIGN(const std::size_t axis,
                  normalize_axis(operands, graph::int_attribute(operands.node, "axis", 1), x.size()));
  if (scale[0] != x[axis])
    return refuse(operands,
                  fmt::format("scale has {} elements, but axis {} of {} has {}", scale[0], axis, to_string(x), x[axis]),
                  "give one scale per position of the axis");
  return Parameters{axis};
}

Result<Types> infer_quantize(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const Parameters parameters, parameters_of(operands));
  const std::int64_t requested = graph::int_attribute(operands.node, "output_dtype", 0);
  const DType dtype = operands.has(2)  ? operands.type(2).dtype
                      : requested == 0 ? DType::uint8
                                       : dtype_from_onnx(static_cast<int>(requested)).value_or(DType::float64);
  if (is_floating(dtype) || size_bytes(dtype) > 2 || (requested != 0 && requested != info(dtype).onnx))
    return refuse(operands, fmt::format("output_dtype is {}, but the zero point is {}", requested, name(dtype)),
                  "make them equal: int8, uint8, int16 or uint16");
  return Types{{dtype, operands.type(0).shape}};
}

Result<loops::Program> define_quantize(const Operands& operands) {
  DOVETAIL_ASSIGN(const Parameters parameters, parameters_of(operands));
  const DType dtype = operands.output(0).dtype;
  const std::int64_t low = loops::type_min(dtype), high = loops::type_max(dtype);
  const auto int32 = [](std::int64_t value) { return loops::int_imm(value, DType::int32); };
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const Expr scaled = tensor::divide(loops::cast(DType::float32, loops::load(program.in(0), i)),
                                       loops::cast(DType::float32, parameters.at(program, 1, i)));
    const Expr steps = loops::cast(DType::int32, loops::unary(loops::UnaryOp::round_even, scaled));  // saturates
    if (!operands.has(2)) return loops::cast(dtype, tensor::clamp(steps, int32(low), int32(high)));
    // Anything beyond high - low saturates whatever the zero point; after clamping there, the sum cannot overflow.
    const Expr cut = tensor::clamp(steps, int32(low - high), int32(high - low));
    const Expr shifted = cut + loops::cast(DType::int32, parameters.at(program, 2, i));
    return loops::cast(dtype, tensor::clamp(shifted, int32(low), int32(high)));
  });
}

Result<Types> infer_dequantize(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const Parameters parameters, parameters_of(operands));
  const std::int64_t requested = graph::int_attribute(operands.node, "output_dtype", 0);
  const DType dtype =
      requested == 0 ? operands.type(1).dtype : dtype_from_onnx(static_cast<int>(requested)).value_or(DType::boolean);
  if (!is_floating(dtype))
    return refuse(operands, fmt::format("output_dtype {} is not a supported floating-point type", requested),
                  "use float32, float16 or bfloat16");
  return Types{{dtype, operands.type(0).shape}};
}

Result<loops::Program> define_dequantize(const Operands& operands) {
  DOVETAIL_ASSIGN(const Parameters parameters, parameters_of(operands));
  const DType dtype = operands.output(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Expr steps = loops::cast(DType::int32, loops::load(program.in(0), i));
    if (operands.has(2)) steps = steps - loops::cast(DType::int32, parameters.at(program, 2, i));
    return loops::cast(dtype, loops::cast(wide, steps) * loops::cast(wide, parameters.at(program, 1, i)));
  });
}

// DynamicQuantizeLinear: uint8 steps over the range of the tensor, extended to include 0. scale = (max - min) / 255, or
// 1 if all elements are 0; zero point = saturate(round_half_even(-min / scale)).
Result<Types> infer_dynamic(const Operands& operands) {
  Types types{{DType::uint8, operands.type(0).shape}, {DType::float32, {}}, {DType::uint8, {}}};
  types.resize(operands.node.outputs.size());  // unused trailing ones are dropped on import
  return types;
}

Result<loops::Program> define_dynamic(const Operands& operands) {
  Naive program(operands);
  const Axes axes = tensor_axes(operands.type(0).shape);
  const auto extreme = [&](const char* name, const tensor::Reducer& reducer) {
    return program.reduce(name, DType::float32, {}, axes, reducer,
                          [&](const Indices&, const Indices& r) { return loops::load(program.in(0), r); });
  };
  const loops::Buffer least = extreme("least", tensor::min_reducer()),
                      greatest = extreme("greatest", tensor::max_reducer());
  const Expr zero = loops::constant(0, DType::float32);
  const auto low = [&] { return tensor::minimum(loops::load(least, {}), zero); };
  const loops::Buffer scale = program.compute("scale", DType::float32, {}, [&](const Indices&) {
    const Expr range = tensor::maximum(loops::load(greatest, {}), zero) - low();
    return loops::select(tensor::equal(range, zero), loops::constant(1, DType::float32),
                         tensor::divide(range, loops::constant(255, DType::float32)));
  });
  const auto steps = [](const Expr& real) {
    return loops::cast(DType::int32, loops::unary(loops::UnaryOp::round_even, real));
  };
  const auto saturated = [](const Expr& wide) {
    return loops::cast(DType::uint8,
                       tensor::clamp(wide, loops::int_imm(0, DType::int32), loops::int_imm(255, DType::int32)));
  };
  const loops::Buffer zero_point = program.compute("zero_point", DType::uint8, {}, [&](const Indices&) {
    return saturated(steps(tensor::divide(zero - low(), loops::load(scale, {}))));
  });
  const loops::Buffer quantized = program.compute("quantize", DType::uint8, axes, [&](const Indices& i) {
    return saturated(steps(tensor::divide(loops::load(program.in(0), i), loops::load(scale, {}))) +
                     loops::cast(DType::int32, loops::load(zero_point, {})));
  });
  std::vector<loops::Buffer> outputs{quantized, scale, zero_point};
  outputs.resize(operands.node.outputs.size());
  return program.finish(outputs);
}

}  // namespace

std::vector<OpDef> quantize_linear_ops() {
  constexpr auto integer = AttributeKind::integer;
  constexpr DTypeSet kNarrow = kByte | only(DType::int16) | only(DType::uint16), kReal = kFloat & ~only(DType::float64);
  // `saturate` affects the 8-bit floats only.
  return {
      {.op = "DequantizeLinear",
       .category = Category::injective,
       .infer = infer_dequantize,
       .define = define_dequantize,
       .signature = {{{"x", kNarrow | kInt32, 'Q'},
                      {"x_scale", kReal},
                      {"x_zero_point", kNarrow | kInt32, 'Q', Presence::optional}},
                     {{"axis", integer}, {"block_size", integer}, {"output_dtype", integer}}},
       .quantizes = true},
      {"DynamicQuantizeLinear", Category::opaque, infer_dynamic, define_dynamic, {}, {{{"x", kFloat32}}, {}, 3}},
      {.op = "QuantizeLinear",
       .category = Category::injective,
       .infer = infer_quantize,
       .define = define_quantize,
       .signature = {{{"x", kReal | kInt32}, {"y_scale", kReal}, {"y_zero_point", kNarrow, 0, Presence::optional}},
                     {{"axis", integer}, {"block_size", integer}, {"output_dtype", integer}, {"saturate", integer}}},
       .quantizes = true},
  };
}

}  // namespace dovetail::ops
