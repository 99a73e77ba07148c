// stream_k BLOCK ROWS COLUMNS DEPTH WORKERS -> LEFT RIGHT SUM START PRODUCT PART WHOLE JOINED
//
//   B: Y[i, j] = Y[i, j] + A[i, k] * X[k, j]           i in 20, j in 4, k in 10     (ROWS 4, COLUMNS 4, DEPTH 4,
//   ==>   for w in 3 { for i in 5 {                    5 tiles of 3 pieces each      WORKERS 3)
//           LEFT: L[w, i, m, k] = k' < 10 ? A[.., k'] : 0          m in 4, k in 4
//           RIGHT: R[w, i, k, n] = k' < 10 ? X[k', ..] : 0
//           START: S[w, m, n] = 0                                  where the piece is the worker's first of a tile
//           PRODUCT: S[w, m, n] = S[w, m, n] + L[w, i, m, k] * R[w, i, k, n]
//           PART: P[w, s, m, n] = S[w, m, n]                       where it is the last of a tile that workers share
//           WHOLE: Y[4 w + m, n] = S[w, m, n] } }                  where it is the last of an unshared tile
//         B: J[t, m, n] = J[t, m, n] + P[.., .., m, n]             t in 2, c in 2: the workers that share the tile
//         JOINED: Y[12 + 4 t + m, n] = J[t, m, n]
//
// A contraction (contraction.h) is divided into tiles of the result and pieces of the depth. Each worker first computes
// the same number of whole tiles: in the example, one. The pieces of the remaining tiles form one sequence, tile by
// tile, from which each worker takes the same number of consecutive pieces, independent of the borders of tiles: two.
// So all workers have the same amount of work, up to the rounding of that number. A worker's result for a shared tile
// is a part of its sum (slot s of the worker: the tile's number less that of its first one); B adds a tile's parts in
// the order of the depth, which depends only on the shapes. With fewer tiles than workers there is no WHOLE. Rows,
// columns and depth are rounded up as matrix_form does. START, PRODUCT, PART and WHOLE are one statement, a loop of one
// iteration, so that `pipeline` lets the copies run ahead of it, also across tiles. `reverse_inline` moves the
// consumers into WHOLE and JOINED. Legal if the block is a contraction as its operator defines it, and tiles do not
// divide evenly.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/product_axes.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kStreamK = "stream_k";
std::int64_t next_multiple(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }
Expr quotient(Expr value, std::int64_t by) { return by == 1 ? value : floor_div(std::move(value), by); }
Expr remainder(Expr value, std::int64_t by) { return by == 1 ? int_imm(0) : floor_mod(std::move(value), by); }
bool is_zero(const Expr& value) {
  const auto* n = std::get_if<IntImm>(&value->node);
  return n != nullptr && n->value == 0;
}
Expr times(Expr value, std::int64_t factor) { return factor == 1 ? value : std::move(value) * factor; }

class StreamK {
  using enum AxisOfProduct;

 public:
  StreamK(const Block& block, const Contraction& contraction, ProductAxes axes, const Step& step, std::int64_t workers)
      : block_(block), c_(contraction), axes_(std::move(axes)), names_(step.results) {
    for (std::size_t i = 0; i < tile_.size(); ++i) tile_[i] = std::stoll(step.arguments[i + 1]);
    batch_ = {"b", c_.batch, c_.extent(block, c_.batch), 1};
    row_tiles_ = tiles(rows), column_tiles_ = tiles(columns), pieces_ = tiles(depth);
    const std::int64_t all = batch_.extent * row_tiles_ * column_tiles_;
    own_ = all / workers, shared_ = all % workers;
    if (shared_ == 0) return;
    of_shared_ = next_multiple(shared_ * pieces_, workers);
    workers_ = own_ > 0 ? workers : next_multiple(shared_ * pieces_, of_shared_);
    exact_ = workers_ * of_shared_ == shared_ * pieces_;
    batch_.padded = batch_.extent + (exact_ ? 0 : 1);
    slots_ = (pieces_ - 1 + of_shared_ - 1) / pieces_ + 1;
    parts_ = (of_shared_ - 1 + pieces_ - 1) / of_shared_ + 1;
    const DType sum = c_.target.buffer->dtype;
    left_ = make_buffer(names_[0], c_.left.stored->dtype, shape_of(c_.left, true));
    right_ = make_buffer(names_[1], c_.right.stored->dtype, shape_of(c_.right, false));
    sum_ = make_buffer(names_[2], sum, {workers_, tile(rows), tile(columns)});
    part_ = make_buffer(names_[5], sum, {workers_, slots_, tile(rows), tile(columns)});
    joined_ = make_buffer(names_[7], sum, {shared_, tile(rows), tile(columns)});
  }

  // There must be parts of tiles to add: else every tile belongs to one worker.
  bool shares() const { return shared_ > 0 && of_shared_ < pieces_; }
  bool has_whole_tiles() const { return own_ > 0; }

  // Of loops; `names` of the step are not among them.
  std::vector<std::string> loop_names() const {
    std::vector<std::string> list;
    for (const char* of : {"w", "i", "u", "m", "n", "k"}) list.push_back(fmt::format("{}.{}", names_[4], of));
    for (const std::size_t i : {0, 1, 3, 5, 6})
      for (const int d : {0, 1}) list.push_back(fmt::format("{}.{}", names_[i], d));
    for (const std::string& of : {names_[7], block_.name})
      for (const int d : {0, 1, 2}) list.push_back(fmt::format("{}.{}", of, d));
    list.push_back(block_.name + ".c");
    return list;
  }
  std::vector<Buffer> buffers() const { return {left_, right_, sum_, part_, joined_}; }

  Stmt workers() const {
    const Var w = make_var(names_[4] + ".w"), i = make_var(names_[4] + ".i"), u = make_var(names_[4] + ".u");
    const auto loop = [](const Var& var, std::int64_t extent, Stmt body) {
      return make_stmt(For{var, extent, ForKind::serial, "", {}, std::move(body)});
    };
    std::vector<Stmt> sums{start(w, i), product(w, i), part(w, i)};
    if (has_whole_tiles()) sums.push_back(whole(w, i));
    return loop(w, workers_,
                loop(i, own_pieces() + of_shared_,
                     sequence({copy(true, w, i), copy(false, w, i), loop(u, 1, sequence(std::move(sums)))})));
  }

  // Adds the parts of each shared tile.
  Stmt joined() const {
    Nest made;
    made.block.name = block_.name;
    made.block.annotations = block_.annotations;
    const Expr t = made.add("t", block_.name + ".0", shared_);
    const Expr m = made.add("m", block_.name + ".1", tile(rows)), n = made.add("n", block_.name + ".2", tile(columns));
    const Expr c = made.add("c", block_.name + ".c", parts_, IterKind::reduce);
    const Expr worker = quotient(times(t, pieces_), of_shared_) + c;
    const Expr is_there = binary(BinaryOp::lt, worker * of_shared_, (t + 1) * pieces_);
    // Conditions that the bounds of a buffer need, and that existing workers satisfy.
    const auto within = [](const Expr& value, std::int64_t count) {
      return binary(BinaryOp::max, binary(BinaryOp::min, value, int_imm(count - 1)), int_imm(0));
    };
    const Expr slot = t - quotient(worker * of_shared_, pieces_);
    const Expr part = load(part_, {within(worker, workers_), within(slot, slots_), m, n}), zero = start_of_sum();
    made.block.init = store(joined_, {t, m, n}, zero);
    made.block.body = store(joined_, {t, m, n}, load(joined_, {t, m, n}) + select(is_there, part, zero));
    return std::move(made).finish();
  }
  Stmt result() const {
    Nest made;
    made.block.name = names_[7];
    const Expr t = made.add("t", names_[7] + ".0", shared_);
    std::vector<Expr> from{t};
    add_tile(made, names_[7], from, 1);
    store_result(made, own_ == 0 ? t : t + own_ * workers_, from[1], from[2], load(joined_, from));
    return std::move(made).finish();
  }

 private:
  struct Nest {
    Block block;
    std::vector<For> loops;

    // An iterator over a new loop.
    Expr add(const std::string& iterator, const std::string& loop, std::int64_t extent,
             IterKind kind = IterKind::spatial) {
      loops.push_back({make_var(loop), extent, ForKind::serial, "", {}, nullptr});
      return over(iterator, loops.back().var, extent, kind);
    }
    // An iterator over an existing loop.
    Expr over(const std::string& iterator, const Var& loop, std::int64_t extent, IterKind kind = IterKind::spatial) {
      block.iterators.push_back({make_var(iterator), extent, kind, ref(loop)});
      return ref(block.iterators.back().var);
    }
    Stmt finish() && {
      Stmt stmt = make_stmt(with_inferred_regions(std::move(block)));
      for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
        loop->body = std::move(stmt);
        stmt = make_stmt(std::move(*loop));
      }
      return stmt;
    }
  };

  // Worker and piece, as iterators of a block.
  struct Place {
    Expr worker, piece;
  };
  Place place(Nest& nest, const Var& w, const Var& i, IterKind of_pieces = IterKind::spatial) const {
    return {nest.over("w", w, workers_), nest.over("i", i, own_pieces() + of_shared_, of_pieces)};
  }
  std::int64_t own_pieces() const { return own_ * pieces_; }
  // The piece's number among those of shared tiles; earlier pieces of a worker count as the first.
  Expr number(const Place& at) const { return times(at.worker, of_shared_) + among_shared(at); }
  Expr among_shared(const Place& at) const {
    return own_ == 0 ? at.piece : binary(BinaryOp::max, at.piece - own_pieces(), int_imm(0));
  }
  Expr is_own(const Place& at) const { return binary(BinaryOp::lt, at.piece, int_imm(own_pieces())); }
  // Neighboring workers have neighboring tiles at the same time.
  Expr own_tile(const Place& at) const {
    return times(quotient(binary(BinaryOp::min, at.piece, int_imm(own_pieces() - 1)), pieces_), workers_) + at.worker;
  }
  Expr tile_of(const Place& at) const {
    const Expr shared = quotient(number(at), pieces_);
    return own_ == 0 ? shared : select(is_own(at), own_tile(at), shared + own_ * workers_);
  }
  Expr piece_of_tile(const Place& at) const {
    const Expr shared = remainder(number(at), pieces_);
    return own_ == 0 || pieces_ == 1 ? shared : select(is_own(at), remainder(at.piece, pieces_), shared);
  }

  std::int64_t tile(AxisOfProduct axis) const { return tile_[static_cast<std::size_t>(axis)]; }
  std::int64_t tiles(AxisOfProduct axis) const { return axes_[axis].padded / tile(axis); }
  Shape shape_of(const Contraction::Factor& factor, bool left) const {
    Shape shape{workers_, own_pieces() + of_shared_};
    for (const AxisOfProduct axis : ProductAxes::order_of(factor, left)) shape.push_back(tile(axis));
    return shape;
  }

  Stmt copy(bool left, const Var& w, const Var& i) const {
    const Contraction::Factor& factor = left ? c_.left : c_.right;
    const Buffer& to = left ? left_ : right_;
    Nest made;
    made.block.name = to->name;
    const Place at = place(made, w, i);
    const Expr of_tile = tile_of(at), across = quotient(of_tile, column_tiles_);
    VarMap digits;
    Expr inside;
    // After the last tile there are others, whose results are dropped; they read no elements out of bounds.
    ProductAxis of_rows = axes_[rows];
    if (batch_.extent > 1) {
      Expr in_batch;
      batch_.read(block_, quotient(across, row_tiles_), digits, in_batch);
      const auto leading =
          std::ranges::find_if(c_.batch, [&](std::size_t d) { return block_.iterators[d].extent > 1; });
      if (std::ranges::find(factor.batch, *leading) != factor.batch.end()) inside = in_batch;
    } else {
      for (const std::size_t d : c_.batch) digits[block_.iterators[d].var.get()] = int_imm(0);
      if (!exact_) ++of_rows.padded;
    }
    std::vector<Expr> to_indices{at.worker, at.piece};
    std::size_t d = 0;
    for (const AxisOfProduct axis : ProductAxes::order_of(factor, left)) {
      const ProductAxis& whole = axis == rows ? of_rows : axes_[axis];
      const Expr within = made.add(whole.name, fmt::format("{}.{}", to->name, d++), tile(axis));
      const Expr first = axis == depth       ? piece_of_tile(at)
                         : axis == columns   ? remainder(of_tile, column_tiles_)
                         : batch_.extent > 1 ? remainder(across, row_tiles_)
                                             : across;
      whole.read(block_, is_zero(first) ? within : times(first, tile(axis)) + within, digits, inside);
      to_indices.push_back(within);
    }
    made.block.body = store(to, to_indices, axes_.factor_at(left, digits, inside));
    return std::move(made).finish();
  }

  Stmt start(const Var& w, const Var& i) const {
    Nest made;
    made.block.name = names_[3];
    const Place at = place(made, w, i);
    std::vector<Expr> to{at.worker};
    add_tile(made, names_[3], to);
    made.block.predicate = binary(BinaryOp::logical_or, binary(BinaryOp::eq, at.piece, int_imm(own_pieces())),
                                  binary(BinaryOp::eq, piece_of_tile(at), int_imm(0)));
    made.block.body = store(sum_, to, start_of_sum());
    return std::move(made).finish();
  }

  Stmt product(const Var& w, const Var& i) const {
    Nest made;
    made.block.name = names_[4];
    made.block.annotations = block_.annotations;
    const Place at = place(made, w, i, IterKind::reduce);
    std::vector<Expr> of(3);
    for (const AxisOfProduct axis : {rows, columns, depth})
      of[static_cast<std::size_t>(axis)] = made.add(axes_[axis].name, fmt::format("{}.{}", names_[4], axes_[axis].name),
                                                    tile(axis), axis == depth ? IterKind::reduce : IterKind::spatial);
    const auto factor = [&](const Contraction::Factor& one, const Buffer& from, bool left) {
      std::vector<Expr> indices{at.worker, at.piece};
      for (const AxisOfProduct axis : ProductAxes::order_of(one, left))
        indices.push_back(of[static_cast<std::size_t>(axis)]);
      return cast(c_.left.type, load(from, indices));
    };
    const std::vector<Expr> to{at.worker, of[0], of[1]};
    made.block.body = store(sum_, to, load(sum_, to) + factor(c_.left, left_, true) * factor(c_.right, right_, false));
    return std::move(made).finish();
  }

  Stmt part(const Var& w, const Var& i) const {
    Nest made;
    made.block.name = names_[5];
    const Place at = place(made, w, i);
    std::vector<Expr> from{at.worker};
    add_tile(made, names_[5], from);
    const Expr ends = binary(BinaryOp::eq, remainder(number(at), pieces_), int_imm(pieces_ - 1));
    made.block.predicate =
        binary(BinaryOp::logical_or, binary(BinaryOp::eq, at.piece, int_imm(own_pieces() + of_shared_ - 1)),
               own_ == 0 ? ends : logical_and(binary(BinaryOp::ge, at.piece, int_imm(own_pieces())), ends));
    std::vector<Expr> to = from;
    to.insert(to.begin() + 1, quotient(remainder(at.worker * of_shared_, pieces_) + among_shared(at), pieces_));
    made.block.body = store(part_, to, load(sum_, from));
    return std::move(made).finish();
  }

  Stmt whole(const Var& w, const Var& i) const {
    Nest made;
    made.block.name = names_[6];
    const Place at = place(made, w, i);
    std::vector<Expr> from{at.worker};
    add_tile(made, names_[6], from);
    made.block.predicate =
        logical_and(is_own(at), binary(BinaryOp::eq, remainder(at.piece, pieces_), int_imm(pieces_ - 1)));
    store_result(made, own_tile(at), from[1], from[2], load(sum_, from));
    return std::move(made).finish();
  }

  // The block stores `value` if row `m` and column `n` of a tile are in the result, as far as given.
  void store_result(Nest& nest, const Expr& of_tile, const Expr& m, const Expr& n, Expr value) const {
    VarMap digits;
    Expr inside;
    const Expr across = quotient(of_tile, column_tiles_);
    ProductAxis batch = batch_;
    batch.padded = batch.extent;
    if (batch.extent > 1) batch.read(block_, quotient(across, row_tiles_), digits, inside);
    else
      for (const std::size_t d : c_.batch) digits[block_.iterators[d].var.get()] = int_imm(0);
    const auto read = [&](AxisOfProduct axis, const Expr& first, const Expr& within) {
      axes_[axis].read(block_, is_zero(first) ? within : times(first, tile(axis)) + within, digits, inside);
    };
    read(rows, batch.extent > 1 ? remainder(across, row_tiles_) : across, m);
    read(columns, remainder(of_tile, column_tiles_), n);
    std::vector<Expr> to;
    for (const Expr& index : c_.target.indices) to.push_back(substitute(index, digits));
    if (inside) nest.block.predicate = conjunction(nest.block.predicate, inside);
    nest.block.body = store(c_.target.buffer, std::move(to), std::move(value));
  }

  Expr start_of_sum() const { return std::get<Store>(block_.init->node).targets[0].value; }

  void add_tile(Nest& nest, const std::string& name, std::vector<Expr>& indices, int first_loop = 0) const {
    indices.push_back(nest.add("m", fmt::format("{}.{}", name, first_loop), tile(rows)));
    indices.push_back(nest.add("n", fmt::format("{}.{}", name, first_loop + 1), tile(columns)));
  }

  const Block& block_;
  const Contraction& c_;
  ProductAxes axes_;
  std::vector<std::string> names_;
  ProductAxis batch_;
  std::array<std::int64_t, 3> tile_{};
  std::int64_t row_tiles_ = 1, column_tiles_ = 1, pieces_ = 1;  // per batch; per tile
  std::int64_t own_ = 0, shared_ = 0;         // tiles of a single worker; tiles of several workers, over all workers
  std::int64_t workers_ = 1, of_shared_ = 0;  // number of pieces of shared tiles per worker
  std::int64_t slots_ = 1, parts_ = 1;        // maximum of shared tiles per worker, and of workers per shared tile
  bool exact_ = true;                         // all workers have as many pieces
  Buffer left_, right_, sum_, part_, joined_;
};

}  // namespace

Result<Program> apply_stream_k(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const Path path, require_block(program, step.arguments[0], kStreamK));
  const Block& block = *as_block(path.back());
  DOVETAIL_ASSIGN(const Contraction contraction, require_contraction(path, kStreamK));
  DOVETAIL_ASSIGN(ProductAxes axes, ProductAxes::of(block, contraction, step));
  DOVETAIL_ASSIGN(const std::int64_t workers, require_integer(step.arguments[4], 1, "the number of workers", kStreamK));
  if (step.results.empty())
    for (const char* made : {"left", "right", "sum", "start", "product", "part", "whole", "joined"})
      step.results.push_back(fmt::format("{}.{}", block.name, made));
  const StreamK form(block, contraction, std::move(axes), step, workers);
  std::vector<std::string> freed, names = form.loop_names();
  for (const For* loop : loops_of(path)) freed.push_back(loop->var->name);
  names.insert(names.end(), step.results.begin(), step.results.end());
  for (const std::string& name : names) DOVETAIL_TRY(require_new_name(program, name, kStreamK, block.name, freed));

  if (!form.shares())
    return refuse(kStreamK, block.name, fmt::format("with {} workers no tile is shared", workers),
                  "use matrix_form, or another number of workers");
  Program result = program;
  const std::vector<Buffer> made = form.buffers();
  result.allocations.insert(result.allocations.end(), made.begin(), made.end());
  result.body = replace(program.body, top_statement(path), sequence({form.workers(), form.joined(), form.result()}));
  std::set<std::string> changed{step.results.begin(), step.results.end()};
  changed.insert(block.name);
  if (!form.has_whole_tiles()) changed.erase(step.results[6]);
  return if_proven(std::move(result), changed, intrinsics, kStreamK, block.name, "leave it as it is");
}

}  // namespace dovetail::schedule
