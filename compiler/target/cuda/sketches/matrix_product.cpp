// Contractions (matrix products, convolutions in one group) as products of tiles. A block of threads makes a tile of
// the result; each of its threads a few rows times a few columns of it, in registers. The operands come through shared
// memory, a piece of the depth at a time, each fetched by all threads together, neighbours in memory by neighbouring
// threads. What follows the sum point by point is done where a thread writes its results.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/contraction.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/sketches/sketches.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

// Elements that a thread reads at once where they are neighbours: of shared memory, and where patches are gathered; of
// an operand that is copied as it lies as many as are so many bytes.
constexpr std::int64_t kVector = 4, kVectorBytes = 16;
// Of one operand in shared memory: what its fetch can be shown to fill.
constexpr std::int64_t kMostElements = 4096;
constexpr std::int64_t kMostUnrolled = 1024, kMostSums = 64;
constexpr std::int64_t kWarp = 32, kMostThreads = 256;  // of a block: each may then have 255 registers
// Below, threads have nothing to share.
constexpr std::int64_t kFewestRows = 2, kFewestColumns = 8, kFewestProducts = 1 << 12;

// What a contraction is to the machine.
struct Extents {
  std::int64_t batch, rows, columns, depth;
  std::int64_t bytes;  // of an element of each operand, together
  bool columns_by_depth;
  bool plain_left, plain_right;  // it is read as it lies, no patches are gathered
};

struct Tile {
  std::int64_t sum_rows, sum_columns, rows_of_threads, columns_of_threads, depth;
  std::int64_t stages;  // pieces of the depth that have a place: those behind the first come while it is multiplied
  explicit Tile(std::span<const std::int64_t> v)
      : sum_rows(v[0]), sum_columns(v[1]), rows_of_threads(v[2]), columns_of_threads(v[3]), depth(v[4]), stages(v[5]) {}
  std::int64_t rows() const { return sum_rows * rows_of_threads; }
  std::int64_t columns() const { return sum_columns * columns_of_threads; }
  std::int64_t threads() const { return rows_of_threads * columns_of_threads; }
};

std::int64_t pieces(std::int64_t extent, std::int64_t piece) { return (extent + piece - 1) / piece; }

// Cycles of the processor that has the most to do; nullopt: the tile does not fit. By what a processor of compute
// capability 8.0 or 9.0 can do at most (CUDA C++ Programming Guide), and estimates; nothing of it was measured.
std::optional<double> cycles(const Extents& e, const Tile& tile, const Gpu& gpu) {
  constexpr double kQuarters = 4;                      // of a processor; each issues an operation of a warp a cycle
  constexpr double kSharedBytes = 64, kFarBytes = 24;  // a cycle, from shared memory and from the second level
  constexpr double kWait = 800, kBarrier = 40;         // for what lies there, and for one another
  constexpr double kLatency = 10;                      // of a sum, and of its factors' way to registers
  constexpr double kRegisters = 65536, kShared = 160 << 10;  // of a processor
  const std::int64_t threads = tile.threads(), sums = tile.sum_rows * tile.sum_columns;
  if (threads % kWarp != 0 || threads > kMostThreads || sums > kMostSums || sums * tile.depth > kMostUnrolled)
    return std::nullopt;
  for (const std::int64_t elements : {tile.rows() * tile.depth, tile.columns() * tile.depth})
    if (elements % threads != 0 || elements > kMostElements) return std::nullopt;
  const std::int64_t between_rows = kBankBytes * 2 * std::max({tile.depth, tile.rows(), tile.columns()});
  const std::int64_t piece_bytes = (tile.rows() + tile.columns()) * tile.depth * e.bytes + between_rows;
  const std::int64_t rounds_of_depth = pieces(e.depth, tile.depth);
  if (tile.stages * piece_bytes > gpu.shared_bytes) return std::nullopt;
  if (tile.stages > 1 && tile.stages > rounds_of_depth) return std::nullopt;

  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double blocks = number(e.batch * pieces(e.rows, tile.rows()) * pieces(e.columns, tile.columns()));
  const double here = std::ceil(blocks / number(gpu.processors));
  // A thread has its sums, a row and a column of factors for some steps of the depth, and addresses.
  const double registers = number(sums + 5 * (tile.sum_rows + tile.sum_columns) + 24);
  const double at_once = std::clamp(
      std::floor(std::min(kRegisters / (registers * number(threads)), kShared / number(tile.stages * piece_bytes))),
      1.0, here);
  const double warps = number(threads) / number(kWarp);
  // Of one step of the depth, on average over blocks that run at once: operations, with those that bring factors to
  // registers, of which each quarter of the processor does a warp's a cycle; bytes of both memories.
  const double operations = number(sums) + 0.75 * number(tile.sum_rows + tile.sum_columns);
  const double issues = std::ceil(at_once * warps / kQuarters) * operations / at_once;
  const std::int64_t warp_columns = std::min(kWarp, tile.columns_of_threads), warp_rows = kWarp / warp_columns;
  const double near = warps * number(warp_rows * tile.sum_rows + warp_columns * tile.sum_columns) * number(e.bytes) / 2;
  const double far = number(tile.rows() + tile.columns()) * number(e.bytes) / 2;
  const double step = std::max({issues, near / kSharedBytes, far / kFarBytes, kLatency / at_once});
  // A piece that is not there yet is waited for, unless other blocks, or the pieces before it, are multiplied
  // meanwhile.
  const double rounds = number(rounds_of_depth), round = number(tile.depth) * step;
  const double wait = std::max(0.0, kWait - number(tile.stages - 1) * round * at_once);
  return here * (rounds * round + (rounds * (wait + kBarrier) + kWait) / at_once);
}

class MatrixProduct {
 public:
  MatrixProduct(schedule::Context& c, const Gpu& gpu, std::string name, const Extents& extents)
      : c_(c), gpu_(gpu), name_(std::move(name)), extents_(extents) {}

  bool schedule() {
    const auto tile = choose();
    if (!tile) return false;
    const std::vector<std::string> behind = blocks_behind();
    c_.s.matrix_form(name_, tile->rows(), tile->columns(), tile->depth, left(), right(), sum(), result());
    for (const std::string& block : behind) c_.attempt("reverse_inline", {block});
    // Threads have the same rows and columns of the result as of the sums.
    c_.s.pad(result(), "m", tile->rows());
    c_.s.pad(result(), "n", tile->columns());
    c_.s.set_scope(left(), "shared");
    c_.s.set_scope(right(), "shared");
    c_.s.set_scope(sum(), "register");
    cut(*tile);
    finish(*tile);
    for (const std::string& operand : {left(), right()}) fetch_together(operand, *tile);
    for (const std::string& block : {name_ + ".init", name_}) give_to_threads(block);
    if (tile->stages > 1) c_.s.pipeline(loop("ko"), tile->stages);
    return c_.s.status().ok();
  }

 private:
  std::string left() const { return name_ + ".left"; }
  std::string right() const { return name_ + ".right"; }
  std::string sum() const { return name_ + ".sums"; }
  std::string result() const { return name_ + ".result"; }
  std::string loop(std::string_view axis) const { return fmt::format("{}.{}", name_, axis); }

  std::optional<Tile> choose() {
    const auto among = [](std::vector<std::int64_t> values) {
      return [values = std::move(values)](std::span<const std::int64_t>) { return values; };
    };
    const std::array<schedule::Choice, 6> choices{{{"sum_rows", among({8, 4, 2, 1})},
                                                   {"sum_columns", among({8, 4, 2, 1})},
                                                   {"rows_of_threads", among({16, 8, 4, 2})},
                                                   {"columns_of_threads", among({16, 8, 32})},
                                                   {"tile_depth", among({8, 16, 32})},
                                                   {"stages", among({2, 3, 4, 1})}}};
    const std::vector<std::int64_t> chosen = c_.sample(choices, [&] {
      return Result<schedule::Cost>(
          [&](std::span<const std::int64_t> values) { return cycles(extents_, Tile(values), gpu_); });
    });
    return chosen.empty() ? std::nullopt : std::optional<Tile>(chosen);
  }

  std::vector<std::string> blocks_behind() const {
    std::vector<std::string> behind = c_.blocks();
    behind.erase(behind.begin(), std::ranges::find(behind, name_) + 1);
    return behind;
  }

  // Cuts `rows` and `columns`, loops over a tile, into {rows of threads, columns of threads} and what a thread has:
  // its rows are neighbours; its columns lie a vector at a time as far apart as all threads need.
  void cut_tile(const std::string& rows, const std::string& columns, const Tile& tile,
                std::vector<std::string>& threads, std::vector<std::string>& own) {
    const std::int64_t vector = extents_.columns_by_depth ? 1 : std::min(kVector, tile.sum_columns);
    const auto [ty, rm] = split(rows, tile.sum_rows);
    const auto [round, others] = split(columns, tile.columns_of_threads * vector);
    const auto [tx, rv] = split(others, vector);
    threads = {ty, tx};
    own = {rm, round, rv};
  }

  // Of a loop that is there: both parts are, if of one iteration.
  std::pair<std::string, std::string> split(const std::string& loop, std::int64_t factor) {
    const std::pair<std::string, std::string> names{loop + "o", loop + "i"};
    c_.s.split(loop, factor, names.first, names.second);
    return names;
  }

  void cut(const Tile& tile) {
    const std::vector<std::string> loops = c_.own_loops(name_);
    std::vector<std::string> blocks{loops.begin(), loops.end() - 3};  // of the batch
    const auto [block_row, row] = split(loop("m"), tile.rows());
    const auto [block_column, column] = split(loop("n"), tile.columns());
    const auto [piece, depth] = split(loop("k"), tile.depth);
    std::vector<std::string> threads, own;
    cut_tile(row, column, tile, threads, own);
    blocks.insert(blocks.end(), {block_row, block_column});
    std::vector<std::string> order = blocks;
    order.push_back(piece);
    order.insert(order.end(), threads.begin(), threads.end());
    order.push_back(depth);
    order.insert(order.end(), own.begin(), own.end());
    c_.reorder(order);
    threads_ = threads;
    unrolled_ = own;
    unrolled_.insert(unrolled_.begin(), depth);
    c_.s.reverse_compute_at(result(), block_column);
    c_.s.decompose_reduction(name_, piece, name_ + ".init");
    c_.s.compute_at(right(), piece);
    c_.s.compute_at(left(), piece);
    if (c_.s.status().ok() && !bind_points(c_, {blocks, {}}))
      c_.s.fail({schedule::refuse("sketch", name_, "its tiles cannot be given to blocks", "use another schedule")});
  }

  // The results of a tile, as its sums.
  void finish(const Tile& tile) {
    if (!c_.s.status().ok()) return;
    const std::vector<std::string> made = c_.own_loops(result());
    DOVETAIL_CHECK(made.size() == 2, "a tile has several rows and columns");
    std::vector<std::string> threads, own;
    cut_tile(made[0], made[1], tile, threads, own);
    std::vector<std::string> order = threads;
    order.insert(order.end(), own.begin(), own.end());
    c_.reorder(order);
    bind(threads);
    for (const std::string& one : own) c_.unroll(one);
  }

  void bind(const std::vector<std::string>& threads) {
    c_.s.bind(threads[0], "thread.y");
    c_.s.bind(threads[1], "thread.x");
  }

  void give_to_threads(const std::string& block) {
    std::vector<std::string> threads;
    for (const std::string& one : threads_) threads.push_back(in(block, one));
    bind(threads);
    for (const std::string& one : unrolled_)
      if (const std::string there = in(block, one); c_.has_loop(there)) c_.unroll(there);
  }

  // The loop that decompose_reduction has made of one.
  std::string in(const std::string& block, const std::string& one) const {
    return block == name_ ? one : block + "." + one;
  }

  // All elements of a piece of an operand, a vector at a time as far as they come out even.
  void fetch_together(const std::string& operand, const Tile& tile) {
    std::vector<std::string> loops = c_.own_loops(operand);
    std::string all = loops.front();
    for (std::size_t i = 1; i < loops.size(); ++i) {
      const std::string fused = fmt::format("{}.all{}", operand, i);
      c_.s.fuse(all, loops[i], fused);
      all = fused;
    }
    const std::int64_t elements = c_.extent(all);
    const bool plain = operand == left() ? extents_.plain_left : extents_.plain_right;
    std::int64_t vector = plain ? kVectorBytes / size_bytes(c_.buffer(operand)->dtype) : kVector;
    while (vector > 1 && elements % (vector * tile.threads()) != 0) vector /= 2;
    const auto [outer, within] = split(all, vector);
    const auto [rest, tx] = split(outer, tile.columns_of_threads);
    const auto [round, ty] = split(rest, tile.rows_of_threads);
    c_.reorder({ty, tx, round, within});
    bind({ty, tx});
    c_.unroll(round);
    c_.unroll(within);
  }

  schedule::Context& c_;
  const Gpu& gpu_;
  std::string name_;
  Extents extents_;
  std::vector<std::string> threads_, unrolled_;  // loops of a tile that go to threads; those written out
};

// An element whose place is that of the product's iterators.
bool is_plain(const Expr& factor) {
  const auto* n = std::get_if<LoadExpr>(&factor->node);
  return n != nullptr && std::ranges::all_of(n->indices, [](const Expr& index) {
           return std::holds_alternative<VarRef>(index->node) || std::holds_alternative<IntImm>(index->node);
         });
}

// The first contraction that has something to share.
std::optional<std::pair<std::string, Extents>> find_product(const schedule::Context& c) {
  for (const std::string& name : c.blocks()) {
    const auto path = schedule::find_block(c.s.program().body, name);
    const auto product = schedule::require_contraction(*path, "sketch");
    if (!product.ok()) continue;
    const Block& block = *schedule::as_block(path->back());
    const Extents e{product->extent(block, product->batch),
                    product->extent(block, product->rows),
                    product->extent(block, product->columns),
                    product->extent(block, product->depth),
                    size_bytes(product->left.stored->dtype) + size_bytes(product->right.stored->dtype),
                    product->right.depth_last,
                    is_plain(product->left.stored),
                    is_plain(product->right.stored)};
    if (e.rows >= kFewestRows && e.columns >= kFewestColumns && e.rows * e.columns * e.depth >= kFewestProducts)
      return std::pair(name, e);
  }
  return std::nullopt;
}

}  // namespace

bool sketch_matrix_product(schedule::Context& c, const Gpu& gpu) {
  for (const Parameter& parameter : c.task.program.parameters)
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  inline_elementwise(c);
  const auto found = find_product(c);
  if (!found) return false;
  if (!MatrixProduct(c, gpu, found->first, found->second).schedule()) return !c.s.status().ok();
  schedule_points(c);
  return true;
}

}  // namespace dovetail::cuda
