#include <limits>

#include "compiler/tensor/expr.h"
#include "compiler/tensor/tensor.h"
#include "loops/integer.h"

namespace dovetail::tensor {
namespace {

using loops::Expr;

// The identities of max and min: the lowest value for max, the highest for min. Immediates hold the bits of a uint64.
Expr lowest(DType dtype) {
  if (is_floating(dtype)) return loops::float_imm(-std::numeric_limits<double>::infinity(), dtype);
  return loops::int_imm(is_signed_integer(dtype) ? loops::type_min(dtype) : 0, dtype);
}

Expr highest(DType dtype) {
  if (is_floating(dtype)) return loops::float_imm(std::numeric_limits<double>::infinity(), dtype);
  return loops::int_imm(dtype == DType::uint64 ? -1 : loops::type_max(dtype), dtype);
}

// `identity` and `combine` of a reduction on scalars.
Reducer scalar_reducer(std::string name, Expr (*identity)(DType), loops::BinaryOp combine, bool of_products = false) {
  return {std::move(name),
          [identity](const std::vector<DType>& dtypes) { return std::vector<Expr>{identity(dtypes.at(0))}; },
          [combine](const std::vector<Expr>& accumulated, const std::vector<Expr>& value) {
            return std::vector<Expr>{loops::binary(combine, accumulated.at(0), value.at(0))};
          },
          of_products};
}

// (value, index): the better value wins; of equal values, the smaller index; NaN is better than any number, as for the
// reducers of values. This makes the reducer commutative and associative, so that schedules may reorder it like any
// other reduction.
Reducer arg_reducer(std::string name, Expr (*worst)(DType), loops::BinaryOp better) {
  return {std::move(name),
          [worst](const std::vector<DType>& dtypes) {
            return std::vector<Expr>{worst(dtypes.at(0)), highest(dtypes.at(1))};
          },
          [better](const std::vector<Expr>& accumulated, const std::vector<Expr>& value) {
            Expr ahead = loops::binary(better, value.at(0), accumulated.at(0)),
                 level = equal(value.at(0), accumulated.at(0));
            if (is_floating(value.at(0)->dtype)) {
              const Expr is_nan = loops::unary(loops::UnaryOp::is_nan, value.at(0)),
                         was_nan = loops::unary(loops::UnaryOp::is_nan, accumulated.at(0));
              ahead = logical_or(ahead, loops::logical_and(is_nan, loops::unary(loops::UnaryOp::logical_not, was_nan)));
              level = logical_or(level, loops::logical_and(is_nan, was_nan));
            }
            const Expr wins = logical_or(ahead, loops::logical_and(level, less(value.at(1), accumulated.at(1))));
            return std::vector<Expr>{loops::select(wins, value.at(0), accumulated.at(0)),
                                     loops::select(wins, value.at(1), accumulated.at(1))};
          },
          false};
}

Expr zero(DType dtype) { return loops::constant(0, dtype); }
Expr one(DType dtype) { return loops::constant(1, dtype); }

}  // namespace

const Reducer& sum_reducer() {
  static const Reducer reducer = scalar_reducer("sum", zero, loops::BinaryOp::add);
  return reducer;
}
const Reducer& product_sum_reducer() {
  static const Reducer reducer = scalar_reducer("sum", zero, loops::BinaryOp::add, true);
  return reducer;
}
const Reducer& product_reducer() {
  static const Reducer reducer = scalar_reducer("product", one, loops::BinaryOp::mul);
  return reducer;
}
const Reducer& max_reducer() {
  static const Reducer reducer = scalar_reducer("max", lowest, loops::BinaryOp::max);
  return reducer;
}
const Reducer& min_reducer() {
  static const Reducer reducer = scalar_reducer("min", highest, loops::BinaryOp::min);
  return reducer;
}
const Reducer& arg_max_reducer() {
  static const Reducer reducer = arg_reducer("arg_max", lowest, loops::BinaryOp::gt);
  return reducer;
}
const Reducer& arg_min_reducer() {
  static const Reducer reducer = arg_reducer("arg_min", highest, loops::BinaryOp::lt);
  return reducer;
}

}  // namespace dovetail::tensor
