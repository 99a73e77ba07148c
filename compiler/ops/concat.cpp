// Concat along one axis.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_concat(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  graph::TensorType y = operands.type(0);
  Diagnostics errors;
  for (std::size_t k = 1; k < operands.count(); ++k) {
    Shape expected = y.shape;
    const Shape& shape = operands.type(k).shape;
    if (shape.size() == expected.size()) expected[axis] = shape[axis];
    if (shape != expected) {
      errors.push_back(
          refuse(operands,
                 fmt::format("input {} has shape {}, but input 0 has {}; all extents but that of axis {} must be equal",
                             k, to_string(shape), to_string(operands.type(0).shape), axis),
                 "insert a Reshape or a Slice"));
    } else {
      y.shape[axis] += shape[axis];
    }
  }
  if (!errors.empty()) return errors;
  return Types{std::move(y)};
}

// A chain of selects by the position along the axis; inputs without elements are skipped.
Result<loops::Program> define_concat(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  Naive program(operands);
  return program.map([&](const Indices& i) {
    std::int64_t begin = operands.output(0).shape[axis];
    loops::Expr value;
    for (std::size_t k = operands.count(); k-- > 0;) {
      const std::int64_t extent = operands.type(k).shape[axis], end = begin;
      begin -= extent;
      if (extent == 0) continue;
      const loops::Expr own = loops::load(program.in(k), begin == 0 ? i : with_index(i, axis, i[axis] - begin));
      value = value ? loops::select(tensor::less(i[axis], tensor::index(end)), own, value) : own;
    }
    return value;
  });
}

}  // namespace

std::vector<OpDef> concat_ops() {
  return {{.op = "Concat",
           .category = Category::injective,
           .infer = infer_concat,
           .define = define_concat,
           .signature = {{{"inputs", kAny, 'T', Presence::variadic}},
                         {{"axis", AttributeKind::integer, Presence::required}}},
           .movement = Movement::joins}};
}

}  // namespace dovetail::ops
