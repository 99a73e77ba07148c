// Gemm: alpha * A' * B' + beta * C.
#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

bool transposed(const Operands& operands, std::string_view attribute) {
  return graph::int_attribute(operands.node, attribute, 0) != 0;
}

Result<Types> infer_gemm(const Operands& operands) {
  const graph::TensorType &a = operands.type(0), &b = operands.type(1);
  if (a.shape.size() != 2 || b.shape.size() != 2)
    return refuse(operands,
                  fmt::format("A {} and B {} have ranks {} and {}, expected 2", to_string(a.shape), to_string(b.shape),
                              a.shape.size(), b.shape.size()),
                  "use MatMul, or a Flatten before the node");
  const bool trans_a = transposed(operands, "transA"), trans_b = transposed(operands, "transB");
  const std::int64_t k = a.shape[trans_a ? 0 : 1], k_of_b = b.shape[trans_b ? 1 : 0];
  if (k != k_of_b)
    return refuse(operands,
                  fmt::format("A {} (transA {:d}) has K = {}, B {} (transB {:d}) has K = {}", to_string(a.shape),
                              trans_a, k, to_string(b.shape), trans_b, k_of_b),
                  "fix the shapes, or the transA and transB attributes");
  for (const std::string_view factor : {"alpha", "beta"})
    if (const double value = graph::float_attribute(operands.node, factor, 1); !is_floating(a.dtype) && value != 1)
      return refuse(operands, fmt::format("{} is {}, but must be 1 for {}", factor, value, name(a.dtype)),
                    "cast the inputs to float32");
  Shape y{a.shape[trans_a ? 1 : 0], b.shape[trans_b ? 0 : 1]};
  if (operands.has(2)) DOVETAIL_TRY(require_broadcastable(operands, 2, y));
  return Types{{a.dtype, std::move(y)}};
}

Result<loops::Program> define_gemm(const Operands& operands) {
  Naive program(operands);
  const graph::TensorType& y = operands.output(0);
  const DType wide = accumulator(y.dtype);
  const bool trans_a = transposed(operands, "transA"), trans_b = transposed(operands, "transB");
  const Axes axes{{"m", y.shape[0]}, {"n", y.shape[1]}};
  const std::int64_t k = operands.type(0).shape[trans_a ? 0 : 1];
  const loops::Buffer product = program.reduce(
      "gemm", wide, axes, {{"k", k}}, tensor::product_sum_reducer(), [&](const Indices& i, const Indices& r) {
        const Indices a = trans_a ? Indices{r[0], i[0]} : Indices{i[0], r[0]};
        const Indices b = trans_b ? Indices{i[1], r[0]} : Indices{r[0], i[1]};
        return loops::cast(wide, loops::load(program.in(0), a)) * loops::cast(wide, loops::load(program.in(1), b));
      });
  const double alpha = graph::float_attribute(operands.node, "alpha", 1),
               beta = graph::float_attribute(operands.node, "beta", 1);
  const bool adds = operands.has(2) && beta != 0;
  if (alpha == 1 && !adds && wide == y.dtype) return program.finish({product});
  return program.finish({program.compute("bias", y.dtype, axes, [&](const Indices& i) {
    loops::Expr value = loops::load(product, i);
    if (alpha != 1) value = loops::constant(alpha, wide) * value;
    if (adds) {
      const loops::Expr c = loops::cast(wide, load_broadcast(program.in(2), i));
      value = value + (beta == 1 ? c : loops::constant(beta, wide) * c);
    }
    return loops::cast(y.dtype, value);
  })});
}

}  // namespace

std::vector<OpDef> gemm_ops() {
  constexpr DTypeSet kTypes = kFloat | kIndex | only(DType::uint32) | only(DType::uint64);
  return {{"Gemm",
           Category::complex_out_fusable,
           infer_gemm,
           define_gemm,
           {},
           {{{"A", kTypes, 'T'}, {"B", kTypes, 'T'}, {"C", kTypes, 'T', Presence::optional}},
            {{"alpha", AttributeKind::real},
             {"beta", AttributeKind::real},
             {"transA", AttributeKind::integer},
             {"transB", AttributeKind::integer}}}}};
}

}  // namespace dovetail::ops
