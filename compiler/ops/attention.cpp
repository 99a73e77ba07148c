// dovetail.attention: softmax(q * k * scale + mask) * v, the softmax along the last axis. q is [..., m, d], k [..., d,
// n], v [..., n, e]; the leading axes are equal. The optional mask broadcasts to [..., m, n]. Made by
// compiler/passes/recognize_attention.cpp from attention written as separate operators; ONNX's Attention (opset 23 on)
// has the keys transposed.
#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

Result<Types> infer_attention(const Operands& operands) {
  const Shape &q = operands.type(0).shape, &k = operands.type(1).shape, &v = operands.type(2).shape;
  const std::size_t rank = q.size();
  if (rank < 2 || k.size() != rank || v.size() != rank)
    return refuse(operands,
                  fmt::format("q {}, k {} and v {} have ranks {}, {} and {}", to_string(q), to_string(k), to_string(v),
                              rank, k.size(), v.size()),
                  "give all three the same rank, at least 2");
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (q[i] != k[i] || q[i] != v[i])
      return refuse(operands, fmt::format("axis {} has extents {}, {} and {} in q, k and v", i, q[i], k[i], v[i]),
                    "leading axes must be equal; insert an Expand");
  if (q[rank - 1] != k[rank - 2] || k[rank - 1] != v[rank - 2])
    return refuse(operands,
                  fmt::format("q {}, k {} and v {} cannot be multiplied", to_string(q), to_string(k), to_string(v)),
                  "they must be [..., m, d], [..., d, n] and [..., n, e]");
  Shape scores = q, y = q;
  scores[rank - 1] = k[rank - 1];
  y[rank - 1] = v[rank - 1];
  if (operands.has(3)) DOVETAIL_TRY(require_broadcastable(operands, 3, scores));
  return Types{{operands.type(0).dtype, std::move(y)}};
}

Result<loops::Program> define_attention(const Operands& operands) {
  const Shape &q = operands.type(0).shape, &v = operands.type(2).shape;
  const std::size_t rank = q.size();
  const std::int64_t d = q[rank - 1], n = v[rank - 2], e = v[rank - 1];
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  Axes rows;
  for (std::size_t i = 0; i + 2 < rank; ++i) rows.push_back({fmt::format("b{}", i), q[i]});
  rows.push_back({"m", q[rank - 2]});
  const auto with = [](Axes axes, std::string name, std::int64_t extent) {
    axes.push_back({std::move(name), extent});
    return axes;
  };
  const auto at = [](Indices indices, const Expr& last) {
    indices.push_back(last);
    return indices;
  };
  const auto column = [](const Indices& row, const Expr& inner, const Expr& last) {
    Indices indices(row.begin(), row.end() - 1);
    indices.push_back(inner);
    indices.push_back(last);
    return indices;
  };
  const loops::Buffer scores =
      program.reduce("scores", wide, with(rows, "n", n), {{"d", d}}, tensor::product_sum_reducer(),
                     [&](const Indices& i, const Indices& r) {
                       const Indices row(i.begin(), i.end() - 1);
                       return loops::cast(wide, loops::load(program.in(0), at(row, r[0]))) *
                              loops::cast(wide, loops::load(program.in(1), column(row, r[0], i.back())));
                     });
  const double scale = graph::float_attribute(operands.node, "scale", 1);
  const auto score = [&](const Indices& i) {
    Expr value = loops::load(scores, i);
    if (scale != 1) value = value * loops::constant(scale, wide);
    if (operands.has(3)) value = value + loops::cast(wide, load_broadcast(program.in(3), i));
    return value;
  };
  const loops::Buffer largest = program.reduce("max", wide, rows, {{"n", n}}, tensor::max_reducer(),
                                               [&](const Indices& i, const Indices& r) { return score(at(i, r[0])); });
  const loops::Buffer exp = program.compute("exp", wide, with(rows, "n", n), [&](const Indices& i) {
    return tensor::exponential(score(i) - loops::load(largest, Indices(i.begin(), i.end() - 1)));
  });
  const loops::Buffer sum =
      program.reduce("sum", wide, rows, {{"n", n}}, tensor::sum_reducer(),
                     [&](const Indices& i, const Indices& r) { return loops::load(exp, at(i, r[0])); });
  // Weights have the type of v, like those of a separate softmax. The division is per result instead of per weight.
  const loops::Buffer weighted =
      program.reduce("weighted", wide, with(rows, "e", e), {{"n", n}}, tensor::product_sum_reducer(),
                     [&](const Indices& i, const Indices& r) {
                       const Indices row(i.begin(), i.end() - 1);
                       return loops::cast(wide, loops::cast(dtype, loops::load(exp, at(row, r[0])))) *
                              loops::cast(wide, loops::load(program.in(2), column(row, r[0], i.back())));
                     });
  return program.finish({program.compute("attention", dtype, with(rows, "e", e), [&](const Indices& i) {
    return loops::cast(dtype,
                       tensor::divide(loops::load(weighted, i), loops::load(sum, Indices(i.begin(), i.end() - 1))));
  })});
}

}  // namespace

std::vector<OpDef> attention_ops() {
  return {{"dovetail.attention",
           Category::opaque,
           infer_attention,
           define_attention,
           {},
           {{{"q", kFloat, 'T'}, {"k", kFloat, 'T'}, {"v", kFloat, 'T'}, {"mask", kFloat, 'T', Presence::optional}},
            {{"scale", AttributeKind::real}}}}};
}

}  // namespace dovetail::ops
