// matrix_form BLOCK ROWS COLUMNS DEPTH -> LEFT RIGHT SUM RESULT
//
//   B: Y[i, j] = Y[i, j] + A[i, k] * X[j + k]          i in 10, j in 20, k in 3
//   ==>   LEFT: L[m, k] = m < 10 ? A[m, k] : 0         m in 16, k in 4                        (ROWS 16, COLUMNS 8,
//   DEPTH 4)
//         RIGHT: R[k, n] = n < 20 && k < 3 ? X[n + k] : 0
//         B: SUM[m, n] = SUM[m, n] + L[m, k] * R[k, n]
//         RESULT: Y[i, j] = SUM[i, j]
//
// A contraction (contraction.h) becomes a matrix product of two copies, whatever its operands look like: iterators of
// one factor alone become rows or columns, those of both a batch, those that are summed over the depth, each list one
// number of mixed radix. Rows, columns and depth are rounded up to multiples; what is added to the depth adds zeros.
// Where the order of a sum of floats is fixed, R has -0 in place of 0 there, so that 0 * -0 leaves every sum as it is;
// where it is free (loops/product_sum.h), so is the sign of a sum that is zero. The products are added in the order of
// the definition. compute_at and
// reverse_compute_at bring the copies to the tiles of the product. Legal where the block is a contraction as its
// operator defines it.
#include <map>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/caching.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/product_sum.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kMatrixForm = "matrix_form";
constexpr std::int64_t kLargestMultiple = 4096;

// One axis of the product: a list of iterators as the digits of a number.
struct Axis {
  std::string name;
  std::vector<std::size_t> iterators;
  std::int64_t extent = 1, padded = 1;

  // Each digit of `value`, and what holds where it is below `extent`; null: it always is.
  void read(const Block& block, const Expr& value, VarMap& digits, Expr& inside) const {
    std::int64_t stride = extent;
    bool leading = true;
    for (const std::size_t i : iterators) {
      const Iterator& iterator = block.iterators[i];
      stride /= iterator.extent;
      if (iterator.extent == 1) {
        digits[iterator.var.get()] = int_imm(0);
        continue;
      }
      Expr digit = stride == 1 ? value : floor_div(value, stride);
      // The others begin anew where the one before them goes on.
      if (leading && padded != extent)
        inside = conjunction(inside, binary(BinaryOp::lt, digit, int_imm(iterator.extent)));
      digits[iterator.var.get()] = leading ? digit : floor_mod(digit, iterator.extent);
      leading = false;
    }
    if (leading && padded != extent) inside = conjunction(inside, binary(BinaryOp::lt, value, int_imm(extent)));
  }
};

class MatrixForm {
 public:
  MatrixForm(const Block& block, const Contraction& contraction) : block_(block), c_(contraction) {}

  Result<void> pad(const Step& step) {
    axes_ = {{"m", c_.rows}, {"n", c_.columns}, {"k", c_.depth}};
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      Axis& axis = axes_[i];
      DOVETAIL_ASSIGN(const std::int64_t multiple,
                      require_integer(step.arguments[i + 1], 1, "the multiple", kMatrixForm));
      if (multiple > kLargestMultiple)
        return refuse(kMatrixForm, block_.name, fmt::format("the multiple {} is above {}", multiple, kLargestMultiple),
                      "give a smaller multiple");
      axis.extent = c_.extent(block_, axis.iterators);
      axis.padded = (axis.extent + multiple - 1) / multiple * multiple;
    }
    return {};
  }

  // The names that the new loops around the product have.
  std::vector<std::string> loop_names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < c_.batch.size(); ++i) names.push_back(fmt::format("{}.b{}", block_.name, i));
    for (const Axis& axis : axes_) names.push_back(fmt::format("{}.{}", block_.name, axis.name));
    return names;
  }

  // LEFT, RIGHT or SUM: its part of the batch, and two axes.
  Buffer operand(const std::string& name, bool left) const {
    const Contraction::Factor& factor = left ? c_.left : c_.right;
    return make(name, factor.stored->dtype, factor.batch, order_of(left));
  }
  Buffer sum(const std::string& name) const { return make(name, c_.target.buffer->dtype, c_.batch, {kRows, kColumns}); }

  Stmt copy(const Buffer& to, bool left) const {
    const Contraction::Factor& factor = left ? c_.left : c_.right;
    Points at = points(factor.batch, order_of(left), true);
    Expr value = substitute(factor.stored, at.digits);
    // 0 * -0 = -0, and x + -0 is x for every x. What rows and columns have more goes into no result.
    const bool keeps_sign = axes_[kDepth].padded != axes_[kDepth].extent && !is_product_sum(block_);
    const Expr zero = !left && keeps_sign && is_floating(factor.stored->dtype) ? float_imm(-0.0, factor.stored->dtype)
                                                                               : constant(0, factor.stored->dtype);
    if (at.inside) value = select(at.inside, std::move(value), zero);
    const std::vector<Expr> to_indices = at.indices(factor.batch, order_of(left));
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
    const Expr a = load(left, at.indices(c_.left.batch, order_of(true))),
               b = load(right, at.indices(c_.right.batch, order_of(false)));
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
  enum AxisId : std::uint8_t { kRows, kColumns, kDepth };
  using Axes = std::vector<AxisId>;

  struct Points {
    std::vector<Iterator> iterators;
    std::map<std::size_t, Expr> of_batch;  // by the contraction's iterator
    std::map<AxisId, Expr> of_axis;
    VarMap digits;  // the contraction's iterators in them
    Expr inside;

    std::vector<Expr> indices(const std::vector<std::size_t>& batch, const Axes& order) const {
      std::vector<Expr> list;
      for (const std::size_t i : batch) list.push_back(of_batch.at(i));
      for (const AxisId axis : order) list.push_back(of_axis.at(axis));
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
    for (const AxisId id : order) {
      Axis axis = axes_[id];
      if (!padded) axis.padded = axis.extent;
      made.of_axis[id] = add(axis.name, axis.padded);
      axis.read(block_, made.of_axis[id], made.digits, made.inside);
    }
    return made;
  }

  // In the order in which the operand lies in memory.
  Axes order_of(bool left) const {
    const AxisId own = left ? kRows : kColumns;
    return (left ? c_.left : c_.right).depth_last ? Axes{own, kDepth} : Axes{kDepth, own};
  }

  Buffer make(const std::string& name, DType dtype, const std::vector<std::size_t>& batch, const Axes& order) const {
    Shape shape;
    for (const std::size_t i : batch) shape.push_back(block_.iterators[i].extent);
    for (const AxisId axis : order) shape.push_back(axes_[axis].padded);
    return make_buffer(name, dtype, shape);
  }

  const Block& block_;
  const Contraction& c_;
  std::vector<Axis> axes_;  // by AxisId
};

}  // namespace

Result<Program> apply_matrix_form(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const Path path, require_block(program, step.arguments[0], kMatrixForm));
  const Block& block = *as_block(path.back());
  DOVETAIL_ASSIGN(const Contraction contraction, require_contraction(path, kMatrixForm));
  MatrixForm form(block, contraction);
  DOVETAIL_TRY(form.pad(step));
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
