// online_softmax BLOCK ROWS COLUMNS WIDTH LANES VECTOR
//
//   M[i] = max x(i, n)   P[i, n] = exp(x(i, n) - M[i])   S[i] = sum P[i, n]
//   BLOCK: W[i, e] = W[i, e] + P[i, n] * v[n, e]         Y[i, e] = W[i, e] / S[i]
//   ==>   values: V[n, e] = v[n, e], 0 beyond it
//         for rows {                                      ROWS of i
//           M = -inf  S = 0  W = 0
//           for pieces { for piece in 1 {                 COLUMNS of n
//             x: X[i, c] = x(i, n), -inf beyond it        next: N[i] = max(M[i], max X[i, c])
//             fade: F[i] = exp(M[i] - N[i])  M[i] = N[i]  power: P[i, c] = exp(X[i, c] - N[i])
//             S[i] = S[i] * F[i] + sum P[i, c]            W[i, e] = W[i, e] * F[i]
//             BLOCK: W[i, e] = W[i, e] + P[i, c] * V[n, e] } }
//           Y[i, e] = W[i, e] / S[i] }
//
// A softmax that weighs the rows of a matrix, computed tile by tile along its row: the sums so far are scaled by
// exp(old largest - new largest) if a piece contains a larger value (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018). Neither x nor P is ever stored completely. The width of v is rounded up to a
// multiple of WIDTH. The largest value and the sum of a piece are computed from LANES parts, of VECTOR neighbors each
// in turn: a loop over lanes for threads. If all of a row so far is -inf, its largest value counts as 0, so that no
// additional -inf - -inf arises.
//
// Loops of one tile are called BLOCK.part.axis: axes m (rows), j, t, v (columns: LANES times VECTOR together make one
// of j), e. Sums are reassociated, and rounded once more for each piece. Legal if the block is such a product
// (online_softmax.h), and LANES * VECTOR divides COLUMNS.
#include <limits>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/caching.h"
#include "compiler/schedule/online_softmax.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kOnline = "online_softmax";
constexpr std::int64_t kLargestTile = 4096;

struct Sizes {
  std::int64_t rows, columns, width, lanes, vector;
};

std::int64_t rounded_up(std::int64_t extent, std::int64_t multiple) {
  return (extent + multiple - 1) / multiple * multiple;
}

class Online {
 public:
  Online(const WeightedSoftmax& form, const Sizes& sizes)
      : form_(form),
        sizes_(sizes),
        product_(*as_block(form.weighted.back())),
        rows_(rounded_up(form.rows, sizes.rows)),
        columns_(rounded_up(form.columns, sizes.columns)),
        width_(rounded_up(form.width, sizes.width)),
        tile_(make_var(product_.name + ".rows")),
        piece_(make_var(product_.name + ".pieces")) {
    for (std::size_t i = 0; i < form.batch; ++i) outer_.push_back(make_var(fmt::format("{}.b{}", product_.name, i)));
    const DType type = form.type;
    x_ = per_row("x", type, {sizes.columns});
    power_ = per_row("power", type, {sizes.columns});
    weight_ = per_row("weight", form.product.left.stored->dtype, {sizes.columns});
    largest_ = per_row("largest", type, {});
    sum_ = per_row("sum", type, {});
    total_ = per_row("total", product_.writes.front().buffer->dtype, {width_});
    of_lane_ = per_row("lanes_largest", type, {sizes.lanes});
    of_piece_ = per_row("piece_largest", type, {});
    next_ = per_row("next", type, {});
    fade_ = per_row("fade", type, {});
    lane_sum_ = per_row("lanes_sum", type, {sizes.lanes});
    piece_sum_ = per_row("piece_sum", type, {});
    Shape shape;
    for (std::size_t i = 0; i < form.batch; ++i) shape.push_back(product_.iterators[i].extent);
    shape.insert(shape.end(), {columns_, width_});
    values_ = make_buffer(part("values"), form.product.right.stored->dtype, std::move(shape));
    buffers.push_back(values_);
  }

  std::vector<Buffer> buffers;
  std::set<std::string> names;  // names of blocks and loops

  // V, for the whole matrix.
  Stmt values() {
    std::vector<Iterator> iterators;
    VarMap map;
    std::vector<Expr> place;
    const auto add = [&](const std::string& name, std::int64_t extent, const Iterator& of) {
      iterators.push_back({make_var(name), extent, IterKind::spatial, nullptr});
      place.push_back(ref(iterators.back().var));
      map[of.var.get()] = place.back();
    };
    const std::size_t rank = product_.iterators.size();
    for (std::size_t i = 0; i < form_.batch; ++i)
      add(fmt::format("b{}", i), product_.iterators[i].extent, product_.iterators[i]);
    add("n", columns_, product_.iterators[rank - 1]);
    add("e", width_, product_.iterators[rank - 2]);
    Expr inside;
    if (columns_ != form_.columns) inside = below(place[form_.batch], form_.columns);
    if (width_ != form_.width) inside = conjunction(inside, below(place[form_.batch + 1], form_.width));
    Expr value = substitute(form_.product.right.stored, map);
    if (inside) value = select(inside, value, constant(0, value->dtype));
    names.insert(part("values"));
    for (std::size_t d = 0; d < iterators.size(); ++d) names.insert(fmt::format("{}.{}", part("values"), d));
    return compute_nest(part("values"), std::move(iterators), values_, place, std::move(value));
  }

  Stmt nest() {
    std::vector<Stmt> tile{
        set("start_largest", Axes::rows, largest_, [&](At&) { return float_imm(-kInfinity, form_.type); }),
        set("start_sum", Axes::rows, sum_, [&](At&) { return constant(0, form_.type); }),
        set("start", Axes::width, total_, [&](At&) { return constant(0, total_->dtype); })};
    Stmt one = loop(make_var(part("piece")), 1, sequence(of_piece()));
    tile.push_back(loop(piece_, columns_ / sizes_.columns, std::move(one)));
    tile.push_back(last());
    Stmt all = loop(tile_, rows_ / sizes_.rows, sequence(std::move(tile)));
    for (std::size_t i = outer_.size(); i-- > 0;) all = loop(outer_[i], product_.iterators[i].extent, std::move(all));
    return all;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  enum class Axes : std::uint8_t { rows, columns, width };

  // A block's iterators with the enclosing loops, as far as it has separate ones.
  struct At {
    std::string name;
    std::vector<Iterator> iterators;
    std::vector<std::pair<Var, std::int64_t>> loops;
    std::vector<Expr> batch;
    Expr row, column, lane, width, piece;  // in the block
    std::vector<Expr> place(const Expr& last = nullptr) const {
      std::vector<Expr> list = batch;
      list.push_back(row);
      if (last) list.push_back(last);
      return list;
    }
  };

  std::string part(std::string_view what) const { return fmt::format("{}.{}", product_.name, what); }
  static Expr below(const Expr& a, std::int64_t end) { return binary(BinaryOp::lt, a, int_imm(end)); }

  Buffer per_row(std::string_view what, DType type, const Shape& more) {
    Shape shape;
    for (std::size_t i = 0; i < form_.batch; ++i) shape.push_back(product_.iterators[i].extent);
    shape.push_back(rows_);
    shape.insert(shape.end(), more.begin(), more.end());
    buffers.push_back(make_buffer(part(what), type, std::move(shape)));
    return buffers.back();
  }

  Stmt loop(const Var& var, std::int64_t extent, Stmt body) {
    names.insert(var->name);
    return make_stmt(For{var, extent, ForKind::serial, "", {}, std::move(body)});
  }

  Expr iterate(At& at, const std::string& name, std::int64_t extent, IterKind kind, Expr binding) const {
    at.iterators.push_back({make_var(name), extent, kind, std::move(binding)});
    return ref(at.iterators.back().var);
  }
  Expr own_loop(At& at, std::string_view axis, std::int64_t extent) const {
    at.loops.emplace_back(make_var(fmt::format("{}.{}", at.name, axis)), extent);
    return ref(at.loops.back().first);
  }

  // Loops over a tile's rows.
  At rows_of(const std::string& name) const {
    At at{name, {}, {}, {}, nullptr, nullptr, nullptr, nullptr, nullptr};
    for (std::size_t i = 0; i < outer_.size(); ++i)
      at.batch.push_back(
          iterate(at, fmt::format("b{}", i), product_.iterators[i].extent, IterKind::spatial, ref(outer_[i])));
    at.row = iterate(at, "m", rows_, IterKind::spatial, ref(tile_) * sizes_.rows + own_loop(at, "m", sizes_.rows));
    return at;
  }
  void over_columns(At& at) const {
    const Expr j = own_loop(at, "j", sizes_.columns / (sizes_.lanes * sizes_.vector)),
               t = own_loop(at, "t", sizes_.lanes), v = own_loop(at, "v", sizes_.vector);
    at.column = iterate(at, "c", sizes_.columns, IterKind::spatial, (j * sizes_.lanes + t) * sizes_.vector + v);
  }
  void over_width(At& at) const { at.width = iterate(at, "e", width_, IterKind::spatial, own_loop(at, "e", width_)); }
  void of_its_piece(At& at, IterKind kind) const {
    at.piece = iterate(at, "o", columns_ / sizes_.columns, kind, ref(piece_));
  }

  Stmt finish(At at, const Buffer& to, const std::vector<Expr>& place, Expr value, Expr init = nullptr,
              Annotations annotations = {}, Expr predicate = nullptr) {
    Block block;
    block.name = at.name;
    block.iterators = std::move(at.iterators);
    block.predicate = std::move(predicate);
    block.annotations = std::move(annotations);
    if (init) block.init = store(to, place, std::move(init));
    block.body = store(to, place, std::move(value));
    names.insert(block.name);
    Stmt stmt = make_stmt(with_inferred_regions(std::move(block)));
    for (std::size_t i = at.loops.size(); i-- > 0;) stmt = loop(at.loops[i].first, at.loops[i].second, std::move(stmt));
    return stmt;
  }

  template <typename Value>
  Stmt set(std::string_view what, Axes axes, const Buffer& to, const Value& value) {
    At at = rows_of(part(what));
    if (axes == Axes::columns) over_columns(at);
    if (axes == Axes::width) over_width(at);
    Expr made = value(at);
    const std::vector<Expr> place = at.place(axes == Axes::columns ? at.column : at.width);
    return finish(std::move(at), to, place, std::move(made));
  }

  // Each lane's part of a row's piece, and the result over all lanes.
  Stmt of_lanes(std::string_view what, BinaryOp op, const Buffer& from, const Buffer& to) {
    At at = rows_of(part(what));
    at.lane = iterate(at, "t", sizes_.lanes, IterKind::spatial, own_loop(at, "t", sizes_.lanes));
    const std::int64_t times = sizes_.columns / (sizes_.lanes * sizes_.vector);
    const Expr j = iterate(at, "j", times, IterKind::reduce, own_loop(at, "j", times)),
               v = iterate(at, "v", sizes_.vector, IterKind::reduce, own_loop(at, "v", sizes_.vector));
    const std::vector<Expr> place = at.place(at.lane);
    const Expr element = load(from, at.place((j * sizes_.lanes + at.lane) * sizes_.vector + v));
    return finish(std::move(at), to, place, binary(op, load(to, place), element), identity(op));
  }
  Stmt joined(std::string_view what, BinaryOp op, const Buffer& from, const Buffer& to) {
    At at = rows_of(part(what));
    const Expr lane = iterate(at, "t", sizes_.lanes, IterKind::reduce, own_loop(at, "t", sizes_.lanes));
    const std::vector<Expr> place = at.place();
    const Expr element = load(from, at.place(lane));
    return finish(std::move(at), to, place, binary(op, load(to, place), element), identity(op));
  }
  Expr identity(BinaryOp op) const {
    return op == BinaryOp::max ? float_imm(-kInfinity, form_.type) : constant(0, form_.type);
  }

  // The reference value of exponents: any number is valid if all values so far are -inf.
  Expr base(const Expr& largest) const {
    const Expr lowest = float_imm(-kInfinity, form_.type);
    return select(binary(BinaryOp::eq, largest, lowest), constant(0, form_.type), largest);
  }

  std::vector<Stmt> of_piece() {
    const auto at_row = [](const Buffer& buffer, const At& at) { return load(buffer, at.place()); };
    std::vector<Stmt> body{element()};
    body.push_back(of_lanes("lanes_largest", BinaryOp::max, x_, of_lane_));
    body.push_back(joined("piece_largest", BinaryOp::max, of_lane_, of_piece_));
    body.push_back(set("next", Axes::rows, next_,
                       [&](At& at) { return binary(BinaryOp::max, at_row(largest_, at), at_row(of_piece_, at)); }));
    body.push_back(set("fade", Axes::rows, fade_,
                       [&](At& at) { return unary(UnaryOp::exp, at_row(largest_, at) - base(at_row(next_, at))); }));
    body.push_back(set("keep", Axes::rows, largest_, [&](At& at) { return at_row(next_, at); }));
    body.push_back(set("power", Axes::columns, power_, [&](At& at) {
      return unary(UnaryOp::exp, load(x_, at.place(at.column)) - base(at_row(next_, at)));
    }));
    body.push_back(of_lanes("lanes_sum", BinaryOp::add, power_, lane_sum_));
    body.push_back(joined("piece_sum", BinaryOp::add, lane_sum_, piece_sum_));
    body.push_back(set("add", Axes::rows, sum_,
                       [&](At& at) { return at_row(sum_, at) * at_row(fade_, at) + at_row(piece_sum_, at); }));
    body.push_back(weight());
    body.push_back(set("faded", Axes::width, total_, [&](At& at) {
      return load(total_, at.place(at.width)) * cast(total_->dtype, at_row(fade_, at));
    }));
    body.push_back(product());
    return body;
  }

  // x of the definition's iterators: of rows and columns, including those beyond the last.
  VarMap iterators_of(const Block& block, const At& at, const Expr& column) const {
    VarMap map;
    for (std::size_t i = 0; i < form_.batch; ++i) map[block.iterators[i].var.get()] = at.batch[i];
    map[block.iterators[form_.batch].var.get()] = at.row;
    map[block.iterators.back().var.get()] = column;
    return map;
  }

  Stmt element() {
    At at = rows_of(part("x"));
    over_columns(at);
    of_its_piece(at, IterKind::spatial);
    const Expr column = at.piece * sizes_.columns + at.column;
    Expr inside;
    if (rows_ != form_.rows) inside = below(at.row, form_.rows);
    if (columns_ != form_.columns) inside = conjunction(inside, below(column, form_.columns));
    Expr value = substitute(form_.x, iterators_of(*as_block(form_.exp.back()), at, column));
    if (inside) value = select(inside, value, float_imm(-kInfinity, form_.type));
    const std::vector<Expr> place = at.place(at.column);
    return finish(std::move(at), x_, place, std::move(value));
  }

  // The factor in the form in which the product stores it.
  Stmt weight() {
    At at = rows_of(part("weights"));
    over_columns(at);
    const BufferNode* const powers = as_block(form_.exp.back())->writes.front().buffer.get();
    const Expr value = rewrite_expr(form_.product.left.stored, [&](const Expr& e) {
      const auto* n = std::get_if<LoadExpr>(&e->node);
      return n != nullptr && n->buffer.get() == powers ? load(power_, at.place(at.column)) : e;
    });
    const std::vector<Expr> place = at.place(at.column);
    return finish(std::move(at), weight_, place, value);
  }

  Stmt product() {
    At at = rows_of(product_.name);
    over_width(at);
    of_its_piece(at, IterKind::reduce);
    const Expr k = iterate(at, "k", sizes_.columns, IterKind::reduce, own_loop(at, "k", sizes_.columns));
    std::vector<Expr> value = at.batch;
    value.insert(value.end(), {at.piece * sizes_.columns + k, at.width});
    const std::vector<Expr> place = at.place(at.width);
    const Expr term = cast(total_->dtype, load(weight_, at.place(k))) * cast(total_->dtype, load(values_, value));
    return finish(std::move(at), total_, place, load(total_, place) + term, nullptr, product_.annotations);
  }

  // The block that divides, over a tile's rows.
  Stmt last() {
    const Block& block = *as_block(form_.last.back());
    const BufferNode* const totals = product_.writes.front().buffer.get();
    const BufferNode* const sums = as_block(form_.sum.back())->writes.front().buffer.get();
    const StoreTarget& target = std::get<Store>(block.body->node).targets[0];
    At at = rows_of(block.name);
    over_width(at);
    VarMap map;
    visit_exprs(target.value, [&](const Expr& e) {
      const auto* n = std::get_if<LoadExpr>(&e->node);
      if (n == nullptr || n->buffer.get() != totals) return;
      const std::vector<Expr> place = at.place(at.width);
      for (std::size_t d = 0; d < place.size(); ++d)
        if (const auto* var = std::get_if<VarRef>(&n->indices[d]->node)) map[var->var.get()] = place[d];
    });
    for (const Iterator& iterator : block.iterators)
      if (!map.contains(iterator.var.get())) map[iterator.var.get()] = int_imm(0);  // of one value
    const auto moved = [&](const Expr& expr) {
      return substitute(rewrite_expr(expr,
                                     [&](const Expr& e) {
                                       const auto* n = std::get_if<LoadExpr>(&e->node);
                                       if (n != nullptr && n->buffer.get() == totals) return load(total_, n->indices);
                                       return n != nullptr && n->buffer.get() == sums ? load(sum_, n->indices) : e;
                                     }),
                        map);
    };
    std::vector<Expr> place;
    for (const Expr& index : target.indices) place.push_back(moved(index));
    Expr inside;
    if (rows_ != form_.rows) inside = below(at.row, form_.rows);
    if (width_ != form_.width) inside = conjunction(inside, below(at.width, form_.width));
    Expr value = moved(target.value);
    return finish(std::move(at), target.buffer, place, std::move(value), nullptr, block.annotations, inside);
  }

  const WeightedSoftmax& form_;
  const Sizes sizes_;
  const Block& product_;
  const std::int64_t rows_, columns_, width_;  // rounded up
  const Var tile_, piece_;
  std::vector<Var> outer_;
  Buffer x_, power_, weight_, largest_, sum_, total_, of_lane_, of_piece_, next_, fade_, lane_sum_, piece_sum_, values_;
};

}  // namespace

Result<Program> apply_online_softmax(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const WeightedSoftmax form, require_weighted_softmax(program, name, kOnline));
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < step.arguments.size(); ++i) {
    DOVETAIL_ASSIGN(const std::int64_t number, require_integer(step.arguments[i], 1, "a size", kOnline));
    if (number > kLargestTile)
      return refuse(kOnline, name, fmt::format("the size {} is above {}", number, kLargestTile), "give a smaller tile");
    numbers.push_back(number);
  }
  const Sizes sizes{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
  if (sizes.columns % (sizes.lanes * sizes.vector) != 0)
    return refuse(kOnline, name,
                  fmt::format("{} lanes of {} do not divide {} columns", sizes.lanes, sizes.vector, sizes.columns),
                  "give a multiple of lanes times vector");
  Online online(form, sizes);
  const Stmt values = online.values(), nest = online.nest();
  std::vector<std::string> freed;
  std::set<std::string> changed;
  for (const Path* path : {&form.largest, &form.exp, &form.sum, &form.weighted, &form.last}) {
    freed.push_back(as_block(path->back())->name);
    for (const For* loop : loops_of(*path)) freed.push_back(loop->var->name);
  }
  for (const std::string& made : online.names) DOVETAIL_TRY(require_new_name(program, made, kOnline, name, freed));
  for (const Buffer& buffer : online.buffers)
    if (!online.names.contains(buffer->name))
      DOVETAIL_TRY(require_new_name(program, buffer->name, kOnline, name, freed));
  Program result = program;
  result.body = replace(program.body, top_statement(form.last), sequence({values, nest}));
  for (const Path* path : {&form.largest, &form.exp, &form.sum, &form.weighted}) {
    result.body = replace(result.body, top_statement(*path), nullptr);
    std::erase(result.allocations, as_block(path->back())->writes.front().buffer);
  }
  result.allocations.insert(result.allocations.end(), online.buffers.begin(), online.buffers.end());
  for (const Path& path : blocks_below(sequence({values, nest}))) changed.insert(as_block(path.back())->name);
  return if_proven(std::move(result), changed, intrinsics, kOnline, name, "leave it as it is");
}

}  // namespace dovetail::schedule
