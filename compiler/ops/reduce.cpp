// Reduce*: a function before the reduction, a reducer, a function after it. `axes` is an input; without it, all axes or
// none (noop_with_empty_axes).
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"
#include "loops/integer.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

struct ReduceRow {
  std::string_view op;
  DTypeSet types;
  const tensor::Reducer& (*reducer)();
  Expr (*before)(const Expr& element);
  Expr (*after)(const Expr& reduced, std::int64_t count);
};

Expr keep(const Expr& x) { return x; }
Expr absolute(const Expr& x) { return contains(kUnsigned, x->dtype) ? x : tensor::absolute(x); }
Expr as_is(const Expr& x, std::int64_t) { return x; }
Expr mean(const Expr& x, std::int64_t count) { return tensor::divide(x, tensor::like(static_cast<double>(count), x)); }
Expr root(const Expr& x, std::int64_t) { return tensor::square_root(x); }
Expr log(const Expr& x, std::int64_t) { return tensor::logarithm(x); }

const std::vector<ReduceRow>& reduce_rows() {
  static const std::vector<ReduceRow> table{
      {"ReduceL1", kNumber, tensor::sum_reducer, absolute, as_is},
      {"ReduceL2", kFloat, tensor::product_sum_reducer, tensor::square, root},
      {"ReduceLogSum", kFloat, tensor::sum_reducer, keep, log},
      // Relative to the maximum, which define_reduce() subtracts and adds back, so that exp does not overflow.
      {"ReduceLogSumExp", kFloat, tensor::sum_reducer, keep, log},
      {"ReduceMax", kAny, tensor::max_reducer, keep, as_is},
      {"ReduceMean", kNumber, tensor::sum_reducer, keep, mean},
      {"ReduceMin", kAny, tensor::min_reducer, keep, as_is},
      {"ReduceProd", kNumber, tensor::product_reducer, keep, as_is},
      {"ReduceSum", kNumber, tensor::sum_reducer, keep, as_is},
      {"ReduceSumSquare", kNumber, tensor::product_sum_reducer, tensor::square, as_is},
  };
  return table;
}

const ReduceRow& reduce_row(const Operands& operands) {
  const auto row = std::ranges::find(reduce_rows(), std::string_view(operands.node.op), &ReduceRow::op);
  DOVETAIL_CHECK(row != reduce_rows().end(), operands.node.op);
  return *row;
}

// Which axes are reduced.
Result<std::vector<bool>> reduced_axes(const Operands& operands) {
  const std::size_t rank = operands.type(0).shape.size();
  const std::vector<std::int64_t> given =
      operands.constant(1) != nullptr ? integers_of(*operands.constant(1)) : std::vector<std::int64_t>{};
  const bool none = given.empty() && graph::int_attribute(operands.node, "noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(rank, given.empty() && !none);
  DOVETAIL_ASSIGN(const std::vector<std::size_t> axes, normalize_axes(operands, given, rank));
  for (const std::size_t axis : axes) reduced[axis] = true;
  return reduced;
}

bool keeps_axes(const Operands& operands) { return graph::int_attribute(operands.node, "keepdims", 1) != 0; }

Result<Types> infer_reduce(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<bool> reduced, reduced_axes(operands));
  const graph::TensorType& x = operands.type(0);
  if (reduce_row(operands).after == mean && !is_floating(x.dtype) && element_count(x.shape) == 0)
    return refuse(
        operands,
        fmt::format("the mean of an empty tensor {} of {} divides by zero", to_string(x.shape), name(x.dtype)),
        "remove the node");
  std::int64_t count = 1;
  for (std::size_t i = 0; i < reduced.size(); ++i) count *= reduced[i] ? x.shape[i] : 1;
  if (reduce_row(operands).after == mean && is_integer(x.dtype) && size_bytes(x.dtype) < 8 &&
      count > loops::type_max(x.dtype))
    return refuse(operands,
                  fmt::format("the mean divides by {} elements > {}, the largest value of {}", count,
                              loops::type_max(x.dtype), name(x.dtype)),
                  "insert a Cast to int32 before the node");
  Shape shape;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) {
      shape.push_back(x.shape[i]);
    } else if (keeps_axes(operands)) {
      shape.push_back(1);
    }
  }
  return Types{{x.dtype, std::move(shape)}};
}

// The index spaces: output axes, reduced axes, and the input element for a pair of both.
struct Reduction {
  const Operands& operands;
  const std::vector<bool>& reduced;

  Axes output() const { return tensor_axes(operands.output(0).shape); }
  Axes over() const {
    Axes axes;
    for (std::size_t i = 0; i < reduced.size(); ++i)
      if (reduced[i]) axes.push_back({fmt::format("k{}", i), operands.type(0).shape[i]});
    return axes;
  }
  Indices element(const Indices& output, const Indices& over) const {
    Indices indices;
    std::size_t o = 0, r = 0;
    for (const bool is_reduced : reduced) {
      indices.push_back(is_reduced ? over[r++] : output[o]);
      if (!is_reduced || keeps_axes(operands)) ++o;
    }
    return indices;
  }
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const Axis& axis : over()) product *= axis.extent;
    return product;
  }
};

Result<loops::Program> define_reduce(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<bool> reduced, reduced_axes(operands));
  const ReduceRow& row = reduce_row(operands);
  const Reduction space{operands, reduced};
  const DType dtype = operands.type(0).dtype;
  const bool sums = row.reducer == tensor::sum_reducer || row.reducer == tensor::product_sum_reducer ||
                    row.reducer == tensor::product_reducer;
  const DType wide = sums ? accumulator(dtype) : dtype;
  Naive program(operands);
  const auto element = [&](const Indices& i, const Indices& r) {
    return loops::cast(wide, loops::load(program.in(0), space.element(i, r)));
  };

  loops::Buffer peak;  // for ReduceLogSumExp: the largest element, or 0 if infinite (inf - inf is NaN)
  if (operands.node.op == "ReduceLogSumExp") {
    const loops::Buffer largest =
        program.reduce("largest", wide, space.output(), space.over(), tensor::max_reducer(), element);
    peak = program.compute("peak", wide, space.output(), [&](const Indices& i) {
      const Expr value = loops::load(largest, i);
      return loops::select(loops::unary(loops::UnaryOp::is_inf, value), tensor::like(0, value), value);
    });
  }
  const loops::Buffer result = program.reduce(
      program.block(), wide, space.output(), space.over(), row.reducer(), [&](const Indices& i, const Indices& r) {
        return peak ? tensor::exponential(element(i, r) - loops::load(peak, i)) : row.before(element(i, r));
      });
  if (row.after == as_is && wide == dtype) return program.finish({result});
  return program.finish({program.compute("finish", dtype, space.output(), [&](const Indices& i) {
    const Expr value = row.after(loops::load(result, i), space.count());
    return loops::cast(dtype, peak ? value + loops::load(peak, i) : value);
  })});
}

}  // namespace

std::vector<OpDef> reduce_ops() {
  std::vector<OpDef> ops;
  for (const ReduceRow& row : reduce_rows())
    ops.push_back({row.op,
                   Category::reduction,
                   infer_reduce,
                   define_reduce,
                   {1},
                   {{{"data", row.types}, {"axes", kInt64, 0, Presence::optional}},
                    {{"keepdims", AttributeKind::integer}, {"noop_with_empty_axes", AttributeKind::integer}}}});
  return ops;
}

}  // namespace dovetail::ops
