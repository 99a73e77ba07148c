// dovetail.qtable: any function of one int8 tensor, tabulated (docs/reference/quantization.md). y = table[x + 128];
// with a table per slice of `axis`, y = table[c][x + 128], c the position on that axis.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

constexpr std::int64_t kSteps = 256;

Result<Types> infer_qtable(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &table = operands.type(1).shape;
  const bool per_slice = operands.node.attributes.count("axis") != 0;
  Shape expected{kSteps};
  if (per_slice) {
    DOVETAIL_ASSIGN(const std::size_t axis,
                    normalize_axis(operands, graph::int_attribute(operands.node, "axis", 0), x.size()));
    expected.insert(expected.begin(), x[axis]);
  }
  if (table != expected)
    return refuse(
        operands, fmt::format("the table has shape {}, expected {}", to_string(table), to_string(expected)),
        per_slice ? "give 256 entries per position of the axis" : "give 256 entries, the first for step -128");
  return Types{operands.type(0)};
}

Result<loops::Program> define_qtable(const Operands& operands) {
  Naive program(operands);
  const bool per_slice = operands.node.attributes.count("axis") != 0;
  std::size_t axis = 0;
  if (per_slice) {
    DOVETAIL_ASSIGN(
        axis, normalize_axis(operands, graph::int_attribute(operands.node, "axis", 0), operands.type(0).shape.size()));
  }
  return program.map([&](const Indices& i) {
    const loops::Expr entry = loops::cast(DType::int64, loops::load(program.in(0), i)) + 128;
    return loops::load(program.in(1), per_slice ? Indices{i[axis], entry} : Indices{entry});
  });
}

}  // namespace

std::vector<OpDef> qtable_ops() {
  return {{"dovetail.qtable",
           Category::injective,
           infer_qtable,
           define_qtable,
           {},
           {{{"x", kInt8}, {"table", kInt8}}, {{"axis", AttributeKind::integer}}}}};
}

}  // namespace dovetail::ops
