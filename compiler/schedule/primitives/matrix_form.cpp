// matrix_form BLOCK ROWS COLUMNS DEPTH -> LEFT RIGHT SUM RESULT
//
//   B: Y[i, j] = Y[i, j] + A[i, k] * X[j + k]          i in 10, j in 20, k in 3
//   ==>   LEFT: L[m, k] = m < 10 ? A[m, k] : 0         m in 16, k in 4                        (ROWS 16, COLUMNS 8,
//   DEPTH 4)
//         RIGHT: R[k, n] = n < 20 && k < 3 ? X[n + k] : 0
//         B: SUM[m, n] = SUM[m, n] + L[m, k] * R[k, n]
//         RESULT: Y[i, j] = SUM[i, j]
//
// A contraction (contraction.h) becomes a matrix product of two copies, whatever the form of its operands: iterators of
// only one factor become rows or columns, those of both a batch, those that are summed over the depth, each list one
// mixed-radix number. Rows, columns and depth are rounded up to multiples; the padding of the depth contributes zeros.
// Where the order of a sum of floats is fixed, R has -0 in place of 0 there, so that 0 * -0 leaves every sum as it is;
// where it is free (loops/product_sum.h), so is the sign of a sum that is zero. The products are added in the order of
// the definition. compute_at and reverse_compute_at bring the copies to the tiles of the product. Legal if the block is
// a contraction as its operator defines it.
#include <map>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/caching.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/product_axes.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kMatrixForm = "matrix_form";
class MatrixForm {
 public:
  MatrixForm(const Block& block, const Contraction& contraction, ProductAxes axes)
      : block_(block), c_(contraction), axes_(std::move(axes)) {}

  // The names of the new loops around the product.
  std::vector<std::string> loop_names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < c_.batch.size(); ++i) names.push_back(fmt::format("{}.b{}", block_.name, i));
    for (const AxisOfProduct axis : {kRows, kColumns, kDepth})
      names.push_back(fmt::format("{}.{}", block_.name, axes_[axis].name));
    return names;
  }

  // LEFT, RIGHT or SUM: its part of the batch, and two axes.
  Buffer operand(const std::string& name, bool left) const {
    const Contraction::Factor& factor = left ? c_.left : c_.right;
    return make(name, factor.stored->dtype, factor.batch, ProductAxes::order_of(factor, left));
  }
  Buffer sum(const std::string& name) const { return make(name, c_.target.buffer->dtype, c_.batch, {kRows, kColumns}); }

  Stmt copy(const Buffer& to, bool left) const {
    const Contraction::Factor& factor = left ? c_.left : c_.right;
    Points at = points(factor.batch, ProductAxes::order_of(factor, left), true);
    Expr value = axes_.factor_at(left, at.digits, at.inside);
    const std::vector<Expr> to_indices = at.indices(factor.batch, ProductAxes::order_of(factor, left));
    return compute_nest(to->name, std::move(at.iterators), to, to_indices, std::move(value));
  }

  Stmt result(const std::string& name, const Buffer& sum) const {
    Points at = points(c_.batch, {kRows, kColumns}, false);
    std::vector<Expr> to;
    for (const Expr& index : c_.target.indices) to.push_back(substitute(index, at.digits));
    Expr value = load(sum, at.indices(c_.batch, {kRows, kColumns}));
    return compute_nest(name, std::move(at.iterators), c_.target.buffer, to, std::move(value));
  }

  Stmt product(const Buffer& left, const Buffer& right, const Buffer& sum) const {
    Points at = points(c_.batch, {kRows, kColumns, kDepth}, true);
    at.iterators.back().kind = IterKind::reduce;
    const std::vector<Expr> place = at.indices(c_.batch, {kRows, kColumns});
    const Expr a = load(left, at.indices(c_.left.batch, ProductAxes::order_of(c_.left, true))),
               b = load(right, at.indices(c_.right.batch, ProductAxes::order_of(c_.right, false)));
    Block block = block_;
    block.iterators = std::move(at.iterators);
    block.init = store(sum, place, std::get<Store>(block_.init->node).targets[0].value);
    block.body = store(sum, place, load(sum, place) + cast(c_.left.type, a) * cast(c_.right.type, b));
    std::vector<Var> loops;
    const std::vector<std::string> names = loop_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
      loops.push_back(make_var(names[i]));
      block.iterators[i].binding = ref(loops.back());
    }
    Stmt stmt = make_stmt(with_inferred_regions(block));
    for (std::size_t i = loops.size(); i-- > 0;)
      stmt = make_stmt(For{loops[i], block.iterators[i].extent, ForKind::serial, "", {}, std::move(stmt)});
    return stmt;
  }

 private:
  static constexpr AxisOfProduct kRows = AxisOfProduct::rows, kColumns = AxisOfProduct::columns,
                                 kDepth = AxisOfProduct::depth;
  using Axes = std::vector<AxisOfProduct>;

  struct Points {
    std::vector<Iterator> iterators;
    std::map<std::size_t, Expr> of_batch;  // by the contraction's iterator
    std::map<AxisOfProduct, Expr> of_axis;
    VarMap digits;  // the contraction's iterators as digits of them
    Expr inside;

    std::vector<Expr> indices(const std::vector<std::size_t>& batch, const Axes& order) const {
      std::vector<Expr> list;
      for (const std::size_t i : batch) list.push_back(of_batch.at(i));
      for (const AxisOfProduct axis : order) list.push_back(of_axis.at(axis));
      return list;
    }
  };

  // Iterators over the batch and some axes, in that order.
  Points points(const std::vector<std::size_t>& batch, const Axes& order, bool padded) const {
    Points made;
    const auto add = [&](const std::string& name, std::int64_t extent) {
      made.iterators.push_back({make_var(name), extent, IterKind::spatial, nullptr});
      return ref(made.iterators.back().var);
    };
    for (const std::size_t i : batch) {
      const Iterator& iterator = block_.iterators[i];
      made.of_batch[i] = add(fmt::format("b{}", made.iterators.size()), iterator.extent);
      made.digits[iterator.var.get()] = made.of_batch[i];
    }
    for (const AxisOfProduct id : order) {
      ProductAxis axis = axes_[id];
      if (!padded) axis.padded = axis.extent;
      made.of_axis[id] = add(axis.name, axis.padded);
      axis.read(block_, made.of_axis[id], made.digits, made.inside);
    }
    return made;
  }

  Buffer make(const std::string& name, DType dtype, const std::vector<std::size_t>& batch, const Axes& order) const {
    Shape shape;
    for (const std::size_t i : batch) shape.push_back(block_.iterators[i].extent);
    for (const AxisOfProduct axis : order) shape.push_back(axes_[axis].padded);
    return make_buffer(name, dtype, shape);
  }

  const Block& block_;
  const Contraction& c_;
  ProductAxes axes_;
};

}  // namespace

Result<Program> apply_matrix_form(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const Path path, require_block(program, step.arguments[0], kMatrixForm));
  const Block& block = *as_block(path.back());
  DOVETAIL_ASSIGN(const Contraction contraction, require_contraction(path, kMatrixForm));
  DOVETAIL_ASSIGN(ProductAxes axes, ProductAxes::of(block, contraction, step));
  const MatrixForm form(block, contraction, std::move(axes));
  if (step.results.empty())
    step.results = {block.name + ".left", block.name + ".right", block.name + ".sum", block.name + ".result"};
  std::vector<std::string> freed;
  for (const For* loop : loops_of(path)) freed.push_back(loop->var->name);
  std::vector<std::string> names = form.loop_names();
  for (const std::string& made : step.results) {
    names.push_back(made);
    for (std::size_t d = 0; d < contraction.batch.size() + 2; ++d) names.push_back(fmt::format("{}.{}", made, d));
  }
  for (const std::string& name : names) DOVETAIL_TRY(require_new_name(program, name, kMatrixForm, block.name, freed));

  const Buffer left = form.operand(step.results[0], true), right = form.operand(step.results[1], false),
               sum = form.sum(step.results[2]);
  Program result = program;
  for (const Buffer& made : {left, right, sum}) result.allocations.push_back(made);
  result.body = replace(program.body, top_statement(path),
                        sequence({form.copy(left, true), form.copy(right, false), form.product(left, right, sum),
                                  form.result(step.results[3], sum)}));
  return if_proven(std::move(result), {step.results[0], step.results[1], block.name, step.results[3]}, intrinsics,
                   kMatrixForm, block.name, "leave it as it is");
}

}  // namespace dovetail::schedule
