// Attention: softmax(q k + mask) v as one kernel. A thread block handles some rows of q; it iterates over tiles of the
// keys, and rescales its partial results when a later tile has a larger score (online_softmax). Scores and their
// exponentials are computed in registers; q, a tile of k and of v, and the tile's exponentials as operands of the
// second product are in shared memory. Both products use tensor cores if these support the types.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/online_softmax.h"
#include "compiler/target/cuda/intrinsics.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/sketches/product.h"
#include "compiler/target/cuda/sketches/sketches.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

constexpr std::int64_t kRowsOfLanes = kMmaRows / kLanesInY, kColumnsOfLane = kMmaColumns / kLanesInX;
constexpr std::int64_t kMostKept = 176;  // values per thread
constexpr std::int64_t kMostUnrolledHere = 512;

// How a tile is distributed over threads. With tensor cores, `y` are warps, each with `own_rows` fragments of rows;
// otherwise threads in y with that many neighboring rows each.
struct AttentionTile {
  std::int64_t own_rows, y, x, columns, stages;
  bool tensor;
  AttentionTile(std::span<const std::int64_t> v, bool by_tensor_cores)
      : own_rows(v[0]), y(v[1]), x(v[2]), columns(v[3]), stages(v[4]), tensor(by_tensor_cores) {}
  std::int64_t warp_rows() const { return own_rows * kMmaRows; }
  std::int64_t rows() const { return tensor ? y * warp_rows() : y * own_rows; }
  std::int64_t threads() const { return tensor ? y * kWarpLanes : y * x; }
};

struct Attention {
  schedule::WeightedSoftmax form;
  std::string scores, weighted, last;  // names of blocks
  Product product, values;             // their products: scores; weighted
  std::optional<MatrixMultiply> mma;
  std::int64_t depth(const AttentionTile&) const {
    const std::int64_t multiple = mma ? mma->depth : kVector;
    return pieces(product.depth, multiple) * multiple;
  }
  // Contiguous elements of the width per thread.
  std::int64_t vector(const AttentionTile& tile) const {
    return tile.tensor ? kColumnsOfLane : std::clamp<std::int64_t>(form.width / tile.x, 1, kVector);
  }
  std::int64_t width_multiple(const AttentionTile& tile) const {
    return tile.tensor ? kMmaColumns : tile.x * vector(tile);
  }
  std::int64_t width(const AttentionTile& tile) const {
    return pieces(form.width, width_multiple(tile)) * width_multiple(tile);
  }
};

// As in matrix_product.cpp: an estimate that was never compared with a measurement.
std::optional<double> attention_cycles(const Attention& a, const AttentionTile& tile, const Gpu& gpu) {
  constexpr double kFarBytes = 24, kWait = 800, kBarrier = 40, kQuarters = 4, kExpCycles = 2, kPerScore = 14;
  constexpr double kShared = 160 << 10, kRegisters = 65536;
  const std::int64_t rows = tile.rows(), columns = tile.columns, depth = a.depth(tile), width = a.width(tile);
  const std::int64_t threads = tile.threads();
  if (tile.tensor ? tile.x != kLanesInX || columns % a.mma->depth != 0 : tile.y * tile.x % kWarpLanes != 0)
    return std::nullopt;
  if (columns % (tile.x * (tile.tensor ? kColumnsOfLane : 1)) != 0) return std::nullopt;
  const Product::Operand &left = a.product.left, &right = a.product.right, &values = a.values.right;
  if (!can_fetch(left, rows * depth, threads, 1) || !can_fetch(right, columns * depth, threads, tile.stages) ||
      !can_fetch(values, columns * width, threads, tile.stages))
    return std::nullopt;
  const std::int64_t bytes_of_q = size_bytes(left.stored), bytes_of_k = size_bytes(right.stored),
                     bytes_of_v = size_bytes(values.stored);
  const auto with_gaps = [](std::int64_t lines, std::int64_t elements, std::int64_t bytes) {
    return lines * (elements * bytes + kBankBytes);
  };
  const std::int64_t far_bytes =
      std::max(with_gaps(columns, depth, bytes_of_k), with_gaps(depth, columns, bytes_of_k)) +
      std::max(with_gaps(columns, width, bytes_of_v), with_gaps(width, columns, bytes_of_v));
  const std::int64_t shared = std::max(with_gaps(rows, depth, bytes_of_q), with_gaps(depth, rows, bytes_of_q)) +
                              with_gaps(rows, columns, size_bytes(a.values.left.stored)) + tile.stages * far_bytes;
  if (shared > gpu.shared_bytes) return std::nullopt;
  const std::int64_t rounds = pieces(a.form.columns, columns);
  if (tile.stages > 1 && tile.stages > rounds) return std::nullopt;
  // Registers for scores, exponentials and sums, and for a few values per row, which all threads in x have.
  const std::int64_t kept = (3 * rows * columns + rows * width) / threads + 8 * rows * tile.x / threads;
  if (kept > kMostKept) return std::nullopt;

  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double here = std::ceil(number(a.product.batch * pieces(a.form.rows, rows)) / number(gpu.processors));
  const double at_once = std::clamp(
      std::floor(std::min(kRegisters / (number(kept + 40) * number(threads)), kShared / number(shared))), 1.0, here);
  const double warps = number(threads) / number(kWarpLanes);
  const double busy = std::min(1.0, at_once * warps / kQuarters);
  const double products = number(rows * columns) * number(depth + width);
  const double multiplied =
      tile.tensor ? products * number(bytes_of_q) / 2048 : products / (kWarpLanes * kQuarters) * 1.3;
  const double scores = number(rows * columns) * (kPerScore + kExpCycles * kQuarters) / (kWarpLanes * kQuarters);
  const double round = std::max((multiplied + scores) / busy, number(far_bytes) / kFarBytes);
  const double wait = std::max(0.0, kWait - number(tile.stages - 1) * round * at_once);
  return here * (number(rounds) * round + (number(rounds) * (wait + 3 * kBarrier) + kWait) / at_once);
}

class AttentionSketch {
 public:
  AttentionSketch(schedule::Context& c, const Gpu& gpu, Attention attention)
      : c_(c), gpu_(gpu), a_(std::move(attention)), name_(a_.weighted) {}

  bool schedule() {
    const auto tile = choose();
    if (!tile) return false;
    const std::int64_t lane_columns = tile->tensor ? kColumnsOfLane : 1;
    c_.s.online_softmax(name_, tile->rows(), tile->columns, a_.width_multiple(*tile), tile->x, lane_columns);
    c_.s.matrix_form(a_.scores, tile->rows(), tile->columns, a_.mma ? a_.mma->depth : kVector, left(), right(), sums(),
                     a_.scores + ".result");
    c_.s.inline_block(a_.scores + ".result");
    c_.s.compute_at(a_.scores, part("piece"));
    c_.s.compute_at(values(), part("pieces"));
    c_.s.compute_at(right(), part("pieces"));
    c_.s.compute_at(left(), part("rows"));
    for (const std::string& buffer : {left(), right(), values(), part("weight")}) c_.s.set_scope(buffer, "shared");
    for (const std::string& buffer : {sums(), part("total")}) c_.s.set_scope(buffer, "register");
    if (!c_.s.status().ok()) return false;
    multiply_scores(*tile);
    for (const char* what : {"x", "power", "weights"}) over_columns(part(what), *tile);
    for (const char* what : {"lanes_largest", "lanes_sum"}) over_lanes(part(what), *tile);
    for (const char* what : {"piece_largest", "piece_sum"}) join(part(what), *tile);
    for (const char* what : {"start_largest", "start_sum", "next", "fade", "keep", "add"}) over_rows(part(what), *tile);
    for (const std::string& block : {part("start"), part("faded"), a_.last}) over_width(block, *tile);
    multiply_values(*tile);
    if (!c_.s.status().ok()) return false;
    if (!bind_points(c_, {blocks(), {}})) {
      c_.s.fail({schedule::refuse("sketch", name_, "the tiles cannot be bound to blocks", "use another schedule")});
      return false;
    }
    std::vector<ThreadAxis> threads{{"thread.x", tile->x}, {"thread.y", tile->tensor ? kLanesInY : tile->y}};
    if (tile->tensor) threads.push_back({"thread.z", tile->y});
    fetch_together(c_, left(), a_.product.left.plain, threads);
    fetch_together(c_, right(), a_.product.right.plain, threads);
    fetch_together(c_, values(), a_.values.right.plain, threads);
    if (tile->tensor) {
      lay_out(*tile);
      for (const std::string& fragment : fragments_) c_.s.tensorize(fragment, a_.mma->name());
    }
    for (const std::string& loop : unrolled_) c_.unroll(loop);
    if (tile->stages > 1) c_.s.pipeline(part("pieces"), tile->stages);
    return c_.s.status().ok();
  }

 private:
  using Names = std::vector<std::string>;
  std::string part(std::string_view what) const { return fmt::format("{}.{}", name_, what); }
  std::string left() const { return a_.scores + ".left"; }
  std::string right() const { return a_.scores + ".right"; }
  std::string sums() const { return a_.scores + ".sums"; }
  std::string values() const { return part("values"); }
  Names blocks() const {
    Names loops;
    for (std::size_t i = 0; i < a_.form.batch; ++i) loops.push_back(part(fmt::format("b{}", i)));
    loops.push_back(part("rows"));
    return loops;
  }

  std::optional<AttentionTile> choose() {
    const auto among = [](std::vector<std::int64_t> values) {
      return [values = std::move(values)](std::span<const std::int64_t>) { return values; };
    };
    const bool tensor = a_.mma.has_value();
    const std::array<schedule::Choice, 5> choices{
        {{tensor ? "row_fragments" : "sum_rows", tensor ? among({1, 2}) : among({4, 8, 2, 1})},
         {tensor ? "warps" : "rows_of_threads", tensor ? among({4, 2, 8, 1}) : among({8, 16, 4})},
         {"columns_of_threads", tensor ? among({kLanesInX}) : among({16, 8, 32})},
         {"piece_columns", among({64, 32, 16, 128})},
         {"stages", among({2, 1, 3})}}};
    const std::vector<std::int64_t> chosen = c_.sample(choices, [&] {
      return Result<schedule::Cost>(
          [&](std::span<const std::int64_t> v) { return attention_cycles(a_, AttentionTile(v, tensor), gpu_); });
    });
    return chosen.empty() ? std::nullopt : std::optional<AttentionTile>(AttentionTile(chosen, tensor));
  }

  // The loops over a tile's rows: bound ones, and those of a thread.
  struct Rows {
    Names bound, own;  // bound: z, y or y
  };
  Rows cut_rows(const std::string& m, const AttentionTile& tile) {
    if (!tile.tensor) {
      const auto [y, own] = split_loop(c_, m, tile.own_rows);
      return {{y}, {own}};
    }
    const auto [warp, rows] = split_loop(c_, m, tile.warp_rows());
    const auto [fragment, row] = split_loop(c_, rows, kMmaRows);
    const auto [half, y] = split_loop(c_, row, kLanesInY);
    return {{warp, y}, {fragment, half}};
  }
  void bind_rows(const Rows& rows) {
    if (rows.bound.size() == 2) c_.s.bind(rows.bound.front(), "thread.z");
    c_.s.bind(rows.bound.back(), "thread.y");
  }
  // Columns of the width: distributed over lanes, a few neighbors each.
  struct Width {
    std::string round, x, own;
  };
  Width cut_width(const std::string& e, const AttentionTile& tile) {
    const auto [round, within] = split_loop(c_, e, tile.x * a_.vector(tile));
    const auto [x, own] = split_loop(c_, within, a_.vector(tile));
    return {round, x, own};
  }

  // Bound loops outside, all others inside and unrolled.
  void arrange(Names bound, const std::string& x, const Names& own, const Rows& rows) {
    bound.push_back(x);
    bound.insert(bound.end(), own.begin(), own.end());
    c_.reorder(c_.present(bound));
    bind_rows(rows);
    if (!x.empty()) c_.s.bind(x, "thread.x");
    unrolled_.insert(unrolled_.end(), own.begin(), own.end());
  }
  static Names together(const Names& a, const Names& b) {
    Names all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
  }

  void over_rows(const std::string& block, const AttentionTile& tile) {
    const Rows rows = cut_rows(block + ".m", tile);
    c_.reorder(together(rows.bound, rows.own));
    bind_rows(rows);
    unrolled_.insert(unrolled_.end(), rows.own.begin(), rows.own.end());
  }
  void over_columns(const std::string& block, const AttentionTile& tile) {
    const Rows rows = cut_rows(block + ".m", tile);
    arrange(rows.bound, block + ".t", together(rows.own, {block + ".j", block + ".v"}), rows);
  }
  // Splits the loops j and v over lanes; both are reduced.
  void over_lanes(const std::string& block, const AttentionTile& tile) { over_columns(block, tile); }
  // Combines the lanes' partial results: only loops of threads are around it.
  void join(const std::string& block, const AttentionTile& tile) {
    const Rows rows = cut_rows(block + ".m", tile);
    c_.reorder(together(rows.own, together(rows.bound, {block + ".t"})));
    bind_rows(rows);
    c_.s.bind(block + ".t", "thread.x");
    unrolled_.insert(unrolled_.end(), rows.own.begin(), rows.own.end());
  }
  void over_width(const std::string& block, const AttentionTile& tile) {
    const Rows rows = cut_rows(block + ".m", tile);
    const Width width = cut_width(block + ".e", tile);
    arrange(rows.bound, width.x, together(rows.own, {width.round, width.own}), rows);
  }

  // A product of a tile: rows, columns over lanes (`round`, `x`, `own`), and the depth.
  void multiply(const Rows& rows, const Width& columns, const std::string& depth, const AttentionTile& tile,
                const std::function<void()>& start) {
    if (tile.tensor) {
      const auto [fragment, within] = split_loop(c_, depth, a_.mma->depth);
      c_.reorder({rows.bound[0], fragment, rows.own[0], columns.round, rows.own[1], rows.bound[1], columns.x,
                  columns.own, within});
      start();
      c_.s.bind(rows.bound[0], "thread.z");
      fragments_.push_back(rows.own[1]);
      unrolled_.insert(unrolled_.end(), {fragment, rows.own[0], columns.round});
      return;
    }
    const std::int64_t copies = tile.own_rows * c_.extent(columns.round) * c_.extent(columns.own);
    std::int64_t steps = 16;
    while (steps > 1 && (steps * copies > kMostUnrolledHere || c_.extent(depth) % steps != 0)) steps /= 2;
    const auto [piece, within] = split_loop(c_, depth, steps);
    c_.reorder({rows.bound[0], columns.x, piece, within, rows.own[0], columns.round, columns.own});
    start();
    bind_rows(rows);
    c_.s.bind(columns.x, "thread.x");
    unrolled_.insert(unrolled_.end(), {within, rows.own[0], columns.round, columns.own});
  }

  void multiply_scores(const AttentionTile& tile) {
    const std::string& block = a_.scores;
    const Rows rows = cut_rows(block + ".m", tile);
    const auto [round, within] = split_loop(c_, block + ".n", tile.x * (tile.tensor ? kColumnsOfLane : 1));
    const auto [x, own] = split_loop(c_, within, tile.tensor ? kColumnsOfLane : 1);
    const Width columns{round, x, own};
    multiply(rows, columns, block + ".k", tile, [&] {
      c_.s.decompose_reduction(block, rows.bound[0], block + ".init");
      const auto in = [&](const std::string& loop) { return fmt::format("{}.init.{}", block, loop); };
      Rows first;
      for (const std::string& loop : rows.bound) first.bound.push_back(in(loop));
      for (const std::string& loop : rows.own) first.own.push_back(in(loop));
      arrange(first.bound, in(x), together(first.own, {in(round), in(own)}), first);
    });
  }
  void multiply_values(const AttentionTile& tile) {
    const Rows rows = cut_rows(name_ + ".m", tile);
    const Width columns = cut_width(name_ + ".e", tile);
    multiply(rows, columns, name_ + ".k", tile, [] {});
  }

  // One dimension for each coordinate of a lane's elements, for the buffers private to lanes.
  void lay_out(const AttentionTile& tile) {
    const std::size_t m = a_.form.batch;
    const auto turn = [&](const std::string& buffer, bool columns) {
      const Shape shape = c_.buffer(buffer)->shape;
      Names parts;
      for (std::size_t d = 0; d < m; ++d) parts.push_back(fmt::format("i{}", d));
      if (shape[m] > tile.rows()) parts.push_back(fmt::format("i{}/{}", m, tile.rows()));
      if (tile.y > 1)
        parts.push_back(shape[m] > tile.rows() ? fmt::format("i{}/{}%{}", m, tile.warp_rows(), tile.y)
                                               : fmt::format("i{}/{}", m, tile.warp_rows()));
      parts.push_back(shape[m] > tile.warp_rows() ? fmt::format("i{}/{}%{}", m, kLanesInY, tile.warp_rows() / kLanesInY)
                                                  : fmt::format("i{}/{}", m, kLanesInY));
      parts.push_back(fmt::format("i{}%{}", m, kLanesInY));
      if (columns) {
        parts.push_back(fmt::format("i{}/{}", m + 1, kMmaColumns));
        parts.push_back(fmt::format("i{}/{}%{}", m + 1, kColumnsOfLane, kLanesInX));
        parts.push_back(fmt::format("i{}%{}", m + 1, kColumnsOfLane));
      } else if (shape.size() > m + 1) {
        parts.push_back(fmt::format("i{}", m + 1));
      }
      c_.s.transform_layout(buffer, fmt::format("{}", fmt::join(parts, ",")));
    };
    for (const std::string& buffer : {sums(), part("x"), part("power"), part("total")}) turn(buffer, true);
    for (const char* what :
         {"largest", "sum", "lanes_largest", "lanes_sum", "piece_largest", "piece_sum", "next", "fade"})
      turn(part(what), false);
  }

  schedule::Context& c_;
  const Gpu& gpu_;
  const Attention a_;
  const std::string name_;
  Names fragments_, unrolled_;
};

std::optional<Attention> find_attention(const schedule::Context& c) {
  for (const std::string& name : c.blocks()) {
    const auto form = schedule::require_weighted_softmax(c.s.program(), name, "sketch");
    if (!form.ok()) continue;
    // The product whose sums are the elements of the softmax.
    for (const std::string& scores : c.blocks()) {
      const Buffer written = c.written_by(scores);
      bool read = false;
      visit_exprs(form->x, [&](const Expr& e) {
        const auto* n = std::get_if<LoadExpr>(&e->node);
        read |= n != nullptr && n->buffer == written;
      });
      auto product = read ? product_of(c, scores) : std::nullopt;
      auto values = product ? product_of(c, name) : std::nullopt;
      if (!values || product->rows != form->rows || product->columns != form->columns) continue;
      Attention found{*form,    scores,  name,        schedule::as_block(form->last.back())->name,
                      *product, *values, std::nullopt};
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace

bool sketch_attention(schedule::Context& c, const Gpu& gpu) {
  constexpr std::int64_t kFewestRows = 2, kFewestColumns = 8;
  if (!c.task.facts.value(kFreeSums, false)) return false;
  auto found = find_attention(c);
  if (!found || found->form.rows < kFewestRows || found->form.columns < kFewestColumns) return false;
  for (const Parameter& parameter : c.task.program.parameters)
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  const DType factor = found->product.left.stored;
  const bool one_type = factor == found->product.right.stored && factor == found->values.left.stored &&
                        factor == found->values.right.stored && found->product.type == found->values.type;
  if (one_type) found->mma = allowed_instruction(gpu, factor, factor, found->product.type);
  if (!AttentionSketch(c, gpu, *std::move(found)).schedule()) return !c.s.status().ok();
  schedule_points(c);
  return true;
}

}  // namespace dovetail::cuda
