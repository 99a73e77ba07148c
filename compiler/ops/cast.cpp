// Cast: value conversion. Reals become integers by truncation and saturate; anything non-zero becomes true.
#include <fmt/format.h>

#include "base/onnx_types.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_cast(const Operands& operands) {
  const std::int64_t to = graph::int_attribute(operands.node, "to", 0);
  const std::optional<DType> dtype = dtype_from_onnx(static_cast<int>(to));
  if (!dtype)
    return refuse(operands, fmt::format("element type {} is not supported", onnx_type_name(to)),
                  "use an 8- to 64-bit integer, float16, bfloat16, float32, float64 or bool");
  return Types{{*dtype, operands.type(0).shape}};
}

Result<loops::Program> define_cast(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const loops::Expr x = loops::load(program.in(0), i);
    const DType to = operands.output(0).dtype;
    return to == DType::boolean && x->dtype != to ? tensor::not_equal(x, tensor::like(0, x)) : loops::cast(to, x);
  });
}

// BitCast: the same bits as another type of the same size.
Result<Types> infer_bit_cast(const Operands& operands) {
  DOVETAIL_ASSIGN(Types types, infer_cast(operands));
  const DType from = operands.type(0).dtype, to = types[0].dtype;
  if (size_bytes(from) != size_bytes(to) || to == DType::boolean)
    return refuse(operands,
                  fmt::format("{} has {} bytes, but {} has {}", name(from), size_bytes(from), name(to), size_bytes(to)),
                  "choose a type of the same size, but not bool");
  return types;
}

Result<loops::Program> define_bit_cast(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const loops::Expr x = loops::load(program.in(0), i);
    const DType to = operands.output(0).dtype;
    if (x->dtype == to) return x;
    return x->dtype == DType::boolean ? loops::cast(to, x) : loops::bitcast(to, x);
  });
}

Result<Types> infer_like(const Operands& operands) { return Types{{operands.type(1).dtype, operands.type(0).shape}}; }

}  // namespace

std::vector<OpDef> cast_ops() {
  // `saturate` affects the 8-bit floats only, which are not supported.
  const AttributeRule saturate{"saturate", AttributeKind::integer};
  return {
      {"BitCast",
       Category::injective,
       infer_bit_cast,
       define_bit_cast,
       {},
       {{{"input"}}, {{"to", AttributeKind::integer, Presence::required}}}},
      {"Cast",
       Category::injective,
       infer_cast,
       define_cast,
       {},
       {{{"input"}}, {{"to", AttributeKind::integer, Presence::required}, saturate}}},
      {"CastLike", Category::injective, infer_like, define_cast, {}, {{{"input"}, {"target_type"}}, {saturate}}},
  };
}

}  // namespace dovetail::ops
