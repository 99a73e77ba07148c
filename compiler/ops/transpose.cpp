// Transpose: output axis i is input axis perm[i]; without perm the axes are reversed.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

Result<std::vector<std::size_t>> permutation(const Operands& operands) {
  const std::size_t rank = operands.type(0).shape.size();
  std::vector<std::int64_t> reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  const std::vector<std::int64_t> perm = graph::ints_attribute(operands.node, "perm", reversed);
  if (perm.size() != rank)
    return refuse(operands,
                  fmt::format("perm has {} entries, but the input {} has rank {}", perm.size(),
                              to_string(operands.type(0).shape), rank),
                  "give each axis once");
  return normalize_axes(operands, perm, rank);
}

Result<Types> infer_transpose(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<std::size_t> perm, permutation(operands));
  Shape shape;
  for (const std::size_t axis : perm) shape.push_back(operands.type(0).shape[axis]);
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_transpose(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<std::size_t> perm, permutation(operands));
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Indices source(perm.size());
    for (std::size_t k = 0; k < perm.size(); ++k) source[perm[k]] = i[k];
    return loops::load(program.in(0), source);
  });
}

}  // namespace

std::vector<OpDef> transpose_ops() {
  return {{.op = "Transpose",
           .category = Category::injective,
           .infer = infer_transpose,
           .define = define_transpose,
           .signature = {{{"data"}}, {{"perm", AttributeKind::integers}}},
           .movement = Movement::rearranges}};
}

}  // namespace dovetail::ops
