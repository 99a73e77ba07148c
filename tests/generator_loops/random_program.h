// Random loop programs that verify: elementwise blocks, reductions, scans, scatters and tuple reductions over split,
// fused, reordered loops.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "loops/ir.h"
#include "loops/verify.h"

namespace dovetail::loops::test {

struct RandomProgram {
  Program program;
  std::vector<NdArray> arguments;
};

class ProgramGenerator {
 public:
  explicit ProgramGenerator(std::uint64_t seed) : random_(seed) {}

  RandomProgram generate() {
    RandomProgram result;
    program_.name = "random";
    const int inputs = 1 + pick(3);
    for (int i = 0; i < inputs; ++i) {
      const Buffer buffer = make_buffer("x" + std::to_string(i), any_type(), shape(), i == 2 ? "accel.inp" : "global");
      program_.parameters.push_back({buffer, i == 1 ? ParameterRole::constant : ParameterRole::input});
      readable_.push_back(buffer);
      result.arguments.push_back(values(buffer));
    }
    const int stages = 1 + pick(3);
    std::vector<Stmt> body;
    for (int i = 0; i < stages; ++i) body.push_back(stage(i, i + 1 == stages || chance(30)));
    program_.body = sequence(std::move(body));
    result.program = std::move(program_);
    return result;
  }

 private:
  struct Loop {
    Var var;
    std::int64_t extent;
  };
  struct Axis {
    Var var;
    std::int64_t extent;
    IterKind kind;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  DType any_type() { return static_cast<DType>(pick(13)); }
  Shape shape() {
    Shape result(static_cast<std::size_t>(1 + pick(3)));
    for (auto& extent : result) extent = 1 + pick(6);
    if (chance(10)) result = {300 + pick(300)};
    return result;
  }
  NdArray values(const Buffer& buffer) {
    NdArray array(buffer->dtype, buffer->shape);
    for (std::int64_t i = 0; i < array.count(); ++i) {
      if (is_floating(buffer->dtype)) array.set_double(i, (pick(2001) - 1000) / 64.0);
      else
        array.set_int64(i, buffer->dtype == DType::boolean ? pick(2)
                           : chance(20)                    ? static_cast<std::int64_t>(random_())
                                                           : pick(40) - 20);
    }
    return array;
  }

  // ---- Expressions ----

  Expr index_expr(int depth) {
    if (visible_.empty() || chance(10)) return int_imm(pick(7) - 3);
    const Expr var = ref(visible_[static_cast<std::size_t>(pick(static_cast<int>(visible_.size())))]);
    if (depth == 0 || chance(40)) return var;
    switch (pick(6)) {
      case 0: return var + index_expr(depth - 1);
      case 1: return var * (pick(7) - 3);
      case 2: return floor_div(index_expr(depth - 1), 1 + pick(4));
      case 3: return floor_mod(index_expr(depth - 1), 1 + pick(5));
      case 4: return index_expr(depth - 1) - index_expr(depth - 1);
      default: return binary(chance(50) ? BinaryOp::min : BinaryOp::max, index_expr(depth - 1), int_imm(pick(5)));
    }
  }

  Expr in_bounds(Expr index, std::int64_t extent) {
    if (chance(50)) return floor_mod(index, extent);
    return binary(BinaryOp::min, binary(BinaryOp::max, index, int_imm(0)), int_imm(extent - 1));
  }

  Expr load_of(const Buffer& buffer, int depth) {
    std::vector<Expr> indices;
    for (std::size_t i = 0; i < buffer->shape.size(); ++i) {
      const std::int64_t extent = buffer->shape[i];
      if (i < visible_.size() && visible_extents_[i] <= extent && chance(50)) indices.push_back(ref(visible_[i]));
      else if (chance(15) && depth > 0) indices.push_back(in_bounds(value(DType::int64, depth - 1), extent));
      else indices.push_back(in_bounds(index_expr(2), extent));
    }
    return load(buffer, indices);
  }

  // select(0 <= i < extent, buffer[i], otherwise): the read of a padded convolution.
  Expr padded_load(const Buffer& buffer, Expr otherwise) {
    std::vector<Expr> indices;
    Expr inside;
    for (const std::int64_t extent : buffer->shape) {
      indices.push_back(index_expr(2));
      const Expr both = logical_and(binary(BinaryOp::ge, indices.back(), int_imm(0)),
                                    binary(BinaryOp::lt, indices.back(), int_imm(extent)));
      inside = inside ? logical_and(inside, both) : both;
    }
    return select(inside, load(buffer, indices), otherwise);
  }

  Expr leaf(DType dtype, int depth) {
    std::vector<Buffer> same;
    for (const Buffer& buffer : readable_)
      if (buffer->dtype == dtype) same.push_back(buffer);
    if (!same.empty() && chance(70))
      return load_of(same[static_cast<std::size_t>(pick(static_cast<int>(same.size())))], depth);
    if (dtype == DType::int64 && chance(50)) return index_expr(2);
    if (is_floating(dtype)) return float_imm((pick(201) - 100) / 16.0, dtype);
    if (dtype == DType::boolean) return bool_imm(chance(50));
    return int_imm(is_signed_integer(dtype) ? pick(21) - 10 : pick(20), dtype);
  }

  Expr value(DType dtype, int depth) {
    if (depth == 0) return leaf(dtype, 0);
    switch (pick(6)) {
      case 0: return leaf(dtype, depth);
      case 1: return cast(dtype, value(any_type(), depth - 1));
      case 2: return select(value(DType::boolean, depth - 1), value(dtype, depth - 1), value(dtype, depth - 1));
      case 3: {
        std::vector<Buffer> same;
        for (const Buffer& buffer : readable_)
          if (buffer->dtype == dtype) same.push_back(buffer);
        if (same.empty()) return leaf(dtype, depth);
        return padded_load(same[static_cast<std::size_t>(pick(static_cast<int>(same.size())))],
                           value(dtype, depth - 1));
      }
      case 4: return unary_of(dtype, depth);
      default: return binary_of(dtype, depth);
    }
  }

  Expr unary_of(DType dtype, int depth) {
    if (dtype == DType::boolean) return unary(UnaryOp::logical_not, value(dtype, depth - 1));
    static constexpr UnaryOp kFloat[] = {UnaryOp::neg, UnaryOp::abs, UnaryOp::floor, UnaryOp::round_even,
                                         UnaryOp::sqrt};
    static constexpr UnaryOp kInteger[] = {UnaryOp::neg, UnaryOp::abs, UnaryOp::sign, UnaryOp::bit_not};
    return unary(is_floating(dtype) ? kFloat[pick(5)] : kInteger[pick(4)], value(dtype, depth - 1));
  }

  Expr binary_of(DType dtype, int depth) {
    if (dtype == DType::boolean) {
      if (chance(40))
        return binary(chance(50) ? BinaryOp::logical_and : BinaryOp::logical_or, value(dtype, depth - 1),
                      value(dtype, depth - 1));
      const DType compared = any_type();
      return binary(static_cast<BinaryOp>(static_cast<int>(BinaryOp::eq) + pick(6)), value(compared, depth - 1),
                    value(compared, depth - 1));
    }
    static constexpr BinaryOp kFloat[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul,
                                          BinaryOp::div, BinaryOp::min, BinaryOp::max};
    if (is_floating(dtype)) return binary(kFloat[pick(6)], value(dtype, depth - 1), value(dtype, depth - 1));
    static constexpr BinaryOp kInteger[] = {BinaryOp::add,    BinaryOp::sub,    BinaryOp::mul, BinaryOp::min,
                                            BinaryOp::max,    BinaryOp::shl,    BinaryOp::shr, BinaryOp::bit_and,
                                            BinaryOp::bit_or, BinaryOp::bit_xor};
    static constexpr BinaryOp kDivision[] = {BinaryOp::div, BinaryOp::mod, BinaryOp::floor_div, BinaryOp::floor_mod};
    if (!chance(25)) return binary(kInteger[pick(10)], value(dtype, depth - 1), value(dtype, depth - 1));
    const Expr divisor =
        chance(97) ? int_imm(1 + pick(9), dtype) : value(dtype, depth - 1);  // sometimes a division by zero
    return binary(kDivision[pick(4)], value(dtype, depth - 1), divisor);
  }

  // ---- Loops and blocks ----

  // Loops for the axes, split or not and in random order, around the block.
  Stmt nest(Block block, const std::vector<Axis>& axes, bool keep_order) {
    std::vector<Loop> loops;
    Expr predicate = block.predicate;
    for (const Axis& axis : axes) {
      const std::string name = block.name + "." + axis.var->name;
      if (axis.extent > 2 && axis.extent < 100 && chance(30)) {
        const std::int64_t inner = 2 + pick(3);
        const Loop outer_loop{make_var(name + ".o"), (axis.extent + inner - 1) / inner},
            inner_loop{make_var(name + ".i"), inner};
        const Expr binding = ref(outer_loop.var) * inner + ref(inner_loop.var);
        if (axis.extent % inner != 0) {
          const Expr inside = binary(BinaryOp::lt, ref(axis.var), int_imm(axis.extent));
          predicate = predicate ? logical_and(predicate, inside) : inside;
        }
        loops.push_back(outer_loop);
        loops.push_back(inner_loop);
        block.iterators.push_back({axis.var, axis.extent, axis.kind, binding});
      } else {
        loops.push_back({make_var(name), axis.extent});
        block.iterators.push_back({axis.var, axis.extent, axis.kind, ref(loops.back().var)});
      }
    }
    block.predicate = predicate;
    const BlockRegions regions = infer_regions(block);
    block.reads = regions.reads;
    block.writes = regions.writes;
    if (!keep_order && chance(50)) std::shuffle(loops.begin(), loops.end(), random_);
    Stmt result = make_stmt(std::move(block));
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      For statement{loop->var, loop->extent, chance(70) ? ForKind::serial : static_cast<ForKind>(pick(7)),
                    "",        {},           result};
      if (statement.kind == ForKind::thread) statement.thread_axis = "thread.x";
      if (chance(5)) statement.annotations["note"] = "a \"quoted\"\nvalue";
      result = make_stmt(std::move(statement));
    }
    return result;
  }

  std::vector<Axis> axes_of(const Shape& shape, IterKind kind, const std::string& prefix) {
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < shape.size(); ++i)
      axes.push_back({make_var(prefix + std::to_string(i)), shape[i], kind});
    return axes;
  }
  void show(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) visible_.push_back(axis.var), visible_extents_.push_back(axis.extent);
  }
  static std::vector<Expr> refs(const std::vector<Axis>& axes) {
    std::vector<Expr> result;
    for (const Axis& axis : axes) result.push_back(ref(axis.var));
    return result;
  }

  Buffer result_buffer(int stage, bool output, DType dtype, Shape extents, const std::string& suffix = "") {
    const Buffer buffer = make_buffer("t" + std::to_string(stage) + suffix, dtype, std::move(extents));
    if (output) program_.parameters.push_back({buffer, ParameterRole::output});
    else program_.allocations.push_back(buffer);
    return buffer;
  }

  Stmt stage(int number, bool output) {
    visible_.clear();
    visible_extents_.clear();
    switch (pick(6)) {
      case 0: return reduction(number, output);
      case 1: return scan(number, output);
      case 2: return scatter(number, output);
      case 3: return arg_max(number, output);
      default: return elementwise(number, output);
    }
  }

  Stmt elementwise(int number, bool output) {
    const Buffer to = result_buffer(number, output, any_type(), shape());
    const auto axes = axes_of(to->shape, IterKind::spatial, "i");
    show(axes);
    Block block;
    block.name = "b" + std::to_string(number);
    if (chance(5) && to->shape[0] > 1)
      block.predicate = binary(BinaryOp::lt, ref(axes[0].var),
                               int_imm(to->shape[0] - 1));  // the remaining elements are never written
    block.body = store(to, refs(axes), value(to->dtype, 3));
    if (chance(15))
      block.body = make_stmt(If{value(DType::boolean, 2), block.body, store(to, refs(axes), value(to->dtype, 2))});
    readable_.push_back(to);
    return nest(std::move(block), axes, false);
  }

  Stmt reduction(int number, bool output) {
    const DType dtype = any_type();
    const Buffer to = result_buffer(number, output, dtype, shape());
    auto axes = axes_of(to->shape, IterKind::spatial, "i");
    const auto reduce = axes_of(shape(), IterKind::reduce, "r");
    axes.insert(axes.end(), reduce.begin(), reduce.end());
    show(axes);
    Block block;
    block.name = "b" + std::to_string(number);
    std::vector<Expr> own;
    for (std::size_t i = 0; i < to->shape.size(); ++i) own.push_back(ref(axes[i].var));
    static constexpr BinaryOp kOps[] = {BinaryOp::add, BinaryOp::min, BinaryOp::max, BinaryOp::mul, BinaryOp::sub};
    const BinaryOp op =
        dtype == DType::boolean ? (chance(50) ? BinaryOp::logical_or : BinaryOp::logical_and) : kOps[pick(5)];
    block.init = store(to, own, leaf_constant(dtype));
    Expr added = value(dtype, 2);
    const bool swap = chance(20);
    block.body = store(to, own, swap ? binary(op, added, load(to, own)) : binary(op, load(to, own), added));
    readable_.push_back(to);
    return nest(std::move(block), axes, false);
  }

  Expr leaf_constant(DType dtype) {
    if (is_floating(dtype)) return float_imm(pick(5), dtype);
    return dtype == DType::boolean ? bool_imm(chance(50)) : int_imm(pick(5), dtype);
  }

  // t[i] = (i > 0 ? t[i-1] : 0) + value
  Stmt scan(int number, bool output) {
    const DType dtype = chance(50) ? DType::int32 : DType::float32;
    const Buffer to = result_buffer(number, output, dtype, {2 + pick(40)});
    const auto axes = axes_of(to->shape, IterKind::ordered, "i");
    show(axes);
    const Expr i = ref(axes[0].var);
    const Expr before = select(binary(BinaryOp::gt, i, int_imm(0)), load(to, {i - 1}), leaf_constant(dtype));
    Block block;
    block.name = "b" + std::to_string(number);
    block.body = store(to, {i}, before + value(dtype, 2));
    readable_.push_back(to);
    return nest(std::move(block), axes, true);
  }

  // Sets all elements, then some of them again at positions that depend on data.
  Stmt scatter(int number, bool output) {
    const DType dtype = any_type();
    const Buffer to = result_buffer(number, output, dtype, {1 + pick(9)});
    const auto clear_axes = axes_of(to->shape, IterKind::spatial, "i");
    Block clear;
    clear.name = "b" + std::to_string(number) + "c";
    clear.body = store(to, refs(clear_axes), leaf_constant(dtype));
    const Stmt first = nest(std::move(clear), clear_axes, false);
    const auto axes = axes_of({1 + pick(20)}, IterKind::ordered, "i");
    show(axes);
    Block block;
    block.name = "b" + std::to_string(number);
    const Expr place = floor_mod(value(DType::int64, 2), to->shape[0]);
    const Expr update = chance(50) || dtype == DType::boolean ? value(dtype, 2) : load(to, {place}) + value(dtype, 1);
    block.body = store(to, {place}, update);
    readable_.push_back(to);
    return sequence({first, nest(std::move(block), axes, true)});
  }

  Stmt arg_max(int number, bool output) {
    const DType dtype = chance(50) ? DType::float32 : DType::int8;
    const Shape extents{1 + pick(5)};
    const Buffer best = result_buffer(number, output, dtype, extents),
                 place = result_buffer(number, output, DType::int64, extents, "p");
    auto axes = axes_of(extents, IterKind::spatial, "i");
    axes.push_back({make_var("k"), 1 + pick(20), IterKind::reduce});
    show(axes);
    const std::vector<Expr> own{ref(axes[0].var)};
    const Expr candidate = value(dtype, 2);
    const Expr better = binary(BinaryOp::gt, candidate, load(best, own));
    Block block;
    block.name = "b" + std::to_string(number);
    block.init = make_stmt(Store{{{best, own, constant(-100, dtype)}, {place, own, int_imm(-1)}}});
    block.body = make_stmt(Store{{{best, own, select(better, candidate, load(best, own))},
                                  {place, own, select(better, ref(axes[1].var), load(place, own))}}});
    readable_.push_back(best);
    readable_.push_back(place);
    return nest(std::move(block), axes, false);
  }

  std::mt19937_64 random_;
  Program program_;
  std::vector<Buffer> readable_;
  std::vector<Var> visible_;
  std::vector<std::int64_t> visible_extents_;
};

inline RandomProgram random_program(std::uint64_t seed) { return ProgramGenerator(seed).generate(); }

}  // namespace dovetail::loops::test
