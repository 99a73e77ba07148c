// TopK: the k largest or smallest elements along an axis, sorted; among equal elements, the first. NaN is the worst.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using loops::IterKind;

Result<Types> infer_top_k(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const NdArray& k = *operands.constant(1);
  Shape shape = operands.type(0).shape;
  if (k.count() != 1) return refuse(operands, fmt::format("k has {} elements, expected 1", k.count()), "give a scalar");
  if (const std::int64_t requested = k.as_int64(0); requested < 0 || requested > shape[axis])
    return refuse(operands, fmt::format("k is {}, but axis {} has extent {}", requested, axis, shape[axis]),
                  "k must be between 0 and the extent");
  shape[axis] = k.as_int64(0);
  Types types{{operands.type(0).dtype, shape}, {DType::int64, shape}};
  types.resize(operands.node.outputs.size());
  return types;
}

// Whether x is ordered before y.
Expr is_better(const Expr& x, const Expr& y, bool largest) {
  const Expr better = largest ? tensor::greater(x, y) : tensor::less(x, y);
  if (!is_floating(x->dtype)) return better;
  const auto is_nan = [](const Expr& e) { return loops::unary(loops::UnaryOp::is_nan, e); };
  return tensor::logical_or(better,
                            loops::logical_and(is_nan(y), loops::unary(loops::UnaryOp::logical_not, is_nan(x))));
}

// Insertion into the list of the best elements so far, shifting worse ones down: most elements of a long axis are only
// compared with the last of the list.
Result<loops::Program> define_top_k(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const Shape& x = operands.type(0).shape;
  const std::int64_t k = operands.output(0).shape[axis];
  const bool largest = graph::int_attribute(operands.node, "largest", 1) != 0;
  Naive program(operands);
  const loops::Buffer values = program.declare("values", operands.type(0).dtype, operands.output(0).shape),
                      places = program.declare("places", DType::int64, operands.output(0).shape);
  std::vector<tensor::Definition::UpdateAxis> axes;
  const Axes named = tensor_axes(x);
  for (std::size_t d = 0; d < x.size(); ++d)
    if (d != axis) axes.push_back({named[d].name, named[d].extent});
  axes.push_back({named[axis].name, named[axis].extent, IterKind::ordered});
  if (k > 0)
    program.update(program.block(), axes, [&](const Indices& all) {
      const Expr i = all.back();  // the elements before it are in the list, if it is long enough
      Indices row(all.begin(), all.end() - 1);
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(axis), i);
      const Expr element = loops::load(program.in(0), row);
      const auto at = [&](const loops::Buffer& list, const Expr& p) {
        return loops::load(list, with_index(row, axis, p));
      };
      const auto put = [&](const Expr& p, const Expr& value, const Expr& place) {
        const Indices target = with_index(row, axis, p);
        return loops::make_stmt(loops::Store{{{values, target, value}, {places, target, place}}});
      };
      const loops::Var from_end = loops::make_var("from_end");
      const Expr p = tensor::index(k - 1) - loops::ref(from_end), before = tensor::maximum(p - 1, tensor::index(0));
      // The element is inserted before its predecessor at p: that one moves to p.
      const Expr moves = loops::select(loops::logical_and(tensor::less(tensor::index(0), p), tensor::less_equal(p, i)),
                                       is_better(element, at(values, before), largest), loops::bool_imm(false));
      const Expr belongs =
          loops::select(tensor::less(p, i), is_better(element, at(values, p), largest), tensor::equal(p, i));
      const loops::Stmt step =
          loops::make_stmt(loops::If{moves, put(p, at(values, before), at(places, before)),
                                     loops::make_stmt(loops::If{belongs, put(p, element, i), nullptr})});
      const Expr enters = loops::select(tensor::less(i, tensor::index(k)), loops::bool_imm(true),
                                        is_better(element, at(values, tensor::index(k - 1)), largest));
      return loops::make_stmt(
          loops::If{enters, loops::make_stmt(loops::For{from_end, k, loops::ForKind::serial, {}, {}, step}), nullptr});
    });
  std::vector<loops::Buffer> outputs{values, places};
  outputs.resize(operands.node.outputs.size());
  return program.finish(outputs);
}

}  // namespace

std::vector<OpDef> top_k_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{.op = "TopK",
           .category = Category::opaque,
           .infer = infer_top_k,
           .define = define_top_k,
           .compile_time_inputs = {1},
           .signature = {
               {{"X", kNumber}, {"K", kInt64}}, {{"axis", integer}, {"largest", integer}, {"sorted", integer}}, 2}}};
}

}  // namespace dovetail::ops
