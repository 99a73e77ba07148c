// Operators whose output depends on attributes and compile-time inputs only: Constant, ConstantOfShape, Range, EyeLike.
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

// ---- Constant

// The importer turns Constant nodes into graph constants of any size. A node created by a pass is written as a chain of
// selects, hence the limit.
constexpr std::int64_t kMaxConstant = 64;

const NdArray& value_of(const Operands& operands) { return std::get<NdArray>(operands.node.attributes.at("value")); }

Result<Types> infer_constant(const Operands& operands) {
  const NdArray& value = value_of(operands);
  if (value.count() > kMaxConstant)
    return refuse(
        operands,
        fmt::format("value has {} elements, but a Constant node may have at most {}", value.count(), kMaxConstant),
        "make it an initializer");
  return Types{{value.dtype(), value.shape()}};
}

Result<loops::Program> define_constant(const Operands& operands) {
  const NdArray& value = value_of(operands);
  Naive program(operands);
  return program.map([&](const Indices& i) {
    loops::Expr flat = tensor::index(0);
    for (std::size_t k = 0; k < i.size(); ++k) flat = flat * value.shape()[k] + i[k];
    loops::Expr element = immediate(value, value.count() - 1);
    for (std::int64_t k = value.count() - 1; k-- > 0;)
      element = loops::select(tensor::equal(flat, tensor::index(k)), immediate(value, k), element);
    return element;
  });
}

// ---- ConstantOfShape

const NdArray* fill_of(const Operands& operands) {
  const auto found = operands.node.attributes.find("value");
  return found == operands.node.attributes.end() ? nullptr : &std::get<NdArray>(found->second);
}

Result<Types> infer_fill(const Operands& operands) {
  Shape shape = integers_of(*operands.constant(0));
  for (const std::int64_t extent : shape)
    if (extent < 0)
      return refuse(operands,
                    fmt::format("shape [{}] contains {}, but extents must be at least 0", join(shape), extent),
                    "fix the exporter");
  const NdArray* fill = fill_of(operands);
  if (fill != nullptr && fill->count() != 1)
    return refuse(operands, fmt::format("value has {} elements, expected 1", fill->count()), "fix the exporter");
  return Types{{fill != nullptr ? fill->dtype() : DType::float32, std::move(shape)}};
}

Result<loops::Program> define_fill(const Operands& operands) {
  Naive program(operands);
  const NdArray* fill = fill_of(operands);
  return program.map([&](const Indices&) { return fill != nullptr ? immediate(*fill, 0) : loops::float_imm(0); });
}

// ---- Range

Result<Types> infer_range(const Operands& operands) {
  for (std::size_t i = 0; i < 3; ++i)
    if (operands.constant(i)->count() != 1)
      return refuse(operands,
                    fmt::format("input {} has shape {}, expected one element", i, to_string(operands.type(i).shape)),
                    "give scalars");
  const DType dtype = operands.type(0).dtype;
  const NdArray &start = *operands.constant(0), &limit = *operands.constant(1), &delta = *operands.constant(2);
  if (delta.as_double(0) == 0) return refuse(operands, "delta must not be 0", "fix the exporter");
  double count = std::ceil((limit.as_double(0) - start.as_double(0)) / delta.as_double(0));
  if (!is_floating(dtype)) {  // exact: binary64 would round
    const std::int64_t step = delta.as_int64(0), distance = limit.as_int64(0) - start.as_int64(0);
    count = static_cast<double>(distance / step + (distance % step != 0 && (distance < 0) == (step < 0)));
  }
  if (!(count < 0x1p31))
    return refuse(operands, fmt::format("the range has {} elements, but may have at most 2^31", count),
                  "fix limit and delta");
  return Types{{dtype, {count > 0 ? static_cast<std::int64_t>(count) : 0}}};
}

Result<loops::Program> define_range(const Operands& operands) {
  Naive program(operands);
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  return program.map([&](const Indices& i) {
    const loops::Expr start = loops::cast(wide, immediate(*operands.constant(0), 0)),
                      delta = loops::cast(wide, immediate(*operands.constant(2), 0));
    return loops::cast(dtype, start + loops::cast(wide, i[0]) * delta);
  });
}

// ---- EyeLike

Result<Types> infer_eye(const Operands& operands) {
  graph::TensorType y = operands.type(0);
  if (y.shape.size() != 2)
    return refuse(operands,
                  fmt::format("input of shape {} has rank {}, expected 2", to_string(y.shape), y.shape.size()),
                  "give a matrix");
  const std::int64_t number = graph::int_attribute(operands.node, "dtype", info(y.dtype).onnx);
  const std::optional<DType> dtype = dtype_from_onnx(static_cast<int>(number));
  if (!dtype)
    return refuse(operands, fmt::format("element type {} is not one of the {} supported types", number, kDTypes.size()),
                  "use another dtype");
  y.dtype = *dtype;
  return Types{std::move(y)};
}

Result<loops::Program> define_eye(const Operands& operands) {
  Naive program(operands);
  const DType dtype = operands.output(0).dtype;
  const std::int64_t diagonal = graph::int_attribute(operands.node, "k", 0);
  return program.map([&](const Indices& i) {
    return loops::select(tensor::equal(i[1], i[0] + diagonal), loops::constant(1, dtype), loops::constant(0, dtype));
  });
}

}  // namespace

std::vector<OpDef> fill_ops() {
  constexpr auto integer = AttributeKind::integer, tensor = AttributeKind::tensor;
  constexpr DTypeSet kRange = kFloat | only(DType::int16) | kIndex;
  return {
      {"Constant",
       Category::injective,
       infer_constant,
       define_constant,
       {},
       {{}, {{"value", tensor, Presence::required}}}},
      {"ConstantOfShape",
       Category::injective,
       infer_fill,
       define_fill,
       {0},
       {{{"input", kInt64}}, {{"value", tensor}}}},
      {"EyeLike", Category::injective, infer_eye, define_eye, {}, {{{"input"}}, {{"dtype", integer}, {"k", integer}}}},
      {"Range",
       Category::injective,
       infer_range,
       define_range,
       {0, 1, 2},
       {{{"start", kRange, 'T'}, {"limit", kRange, 'T'}, {"delta", kRange, 'T'}}}},
  };
}

}  // namespace dovetail::ops
