// Contractions (matrix products, convolutions in one group) as tiled products. A block of threads computes a tile of
// the result; each of its threads a few rows times a few columns of it, in registers. The operands are staged in shared
// memory, one tile of the depth at a time, fetched cooperatively by all threads with contiguous accesses. Pointwise
// operations after the sum are done when a thread writes its results.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/sketches/product.h"
#include "compiler/target/cuda/sketches/sketches.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

constexpr std::int64_t kMostUnrolled = 1024, kMostSums = 128, kFewSums = 64, kMostRegisters = 200;
constexpr std::int64_t kWarp = 32, kMostThreads = 256;  // per block: each thread may then have 255 registers
struct Tile {
  std::int64_t sum_rows, sum_columns, rows_of_threads, columns_of_threads, depth;
  std::int64_t stages;  // pieces of the depth with a slot: later pieces are fetched while the first is multiplied
  Distribution distribution;
  bool turned;  // rows, or columns, are contiguous in copies of operands even if the depth is contiguous in memory
  explicit Tile(std::span<const std::int64_t> v)
      : sum_rows(v[0]),
        sum_columns(v[1]),
        rows_of_threads(v[2]),
        columns_of_threads(v[3]),
        depth(v[4]),
        stages(v[5]),
        distribution{v[6], v[7]},
        turned(v[8] != 0) {}
  std::int64_t rows() const { return sum_rows * rows_of_threads; }
  std::int64_t columns() const { return sum_columns * columns_of_threads; }
  std::int64_t threads() const { return rows_of_threads * columns_of_threads; }
};

// Whether the copy of an operand with contiguous depth can be transposed: an asynchronous copy of one element moves 4
// bytes.
bool can_turn(const Product::Operand& operand) {
  return operand.depth_last && operand.plain && size_bytes(operand.stored) == 4;
}
// The product with the layouts of its copies in shared memory.
Product as_copied(Product product, bool turned) {
  for (Product::Operand* const one : {&product.left, &product.right})
    one->depth_last = one->depth_last && !(turned && can_turn(*one));
  return product;
}

// Registers of a thread: its sums; the factors that it loads together, which are kVector of the depth if they are
// contiguous in the copy, else those of one point and the next; addresses.
std::int64_t registers_of(const Product& copied, const Tile& tile) {
  constexpr std::int64_t kAddresses = 20, kTogether = 8;  // registers are allocated in units of eight
  const auto factors = [](const Product::Operand& operand, std::int64_t own) {
    return own * (operand.depth_last ? kVector : 2);
  };
  const std::int64_t all = tile.sum_rows * tile.sum_columns + factors(copied.left, tile.sum_rows) +
                           factors(copied.right, tile.sum_columns) + kAddresses;
  return pieces(all, kTogether) * kTogether;
}

// Predicted cycles of the processor with the most work; nullopt: the tile does not fit. As many of its blocks run at
// once as fit; the last, incomplete wave leaves it partly idle. The constants are fitted to tiles measured on an H200
// (docs/explanation/cuda-backend.md).
std::optional<double> cycles(const Product& whole, const Tile& tile, const Gpu& gpu) {
  const Product e = as_copied(part_of(whole, tile.distribution.parts), tile.turned);
  constexpr double kQuarters = 4;                      // per processor; each issues one warp operation per cycle
  constexpr double kSharedBytes = 80, kFarBytes = 16;  // per cycle, from shared memory and from the second-level cache
  constexpr double kExposedFraction = 0.1;             // the part of the memory time that is not hidden
  constexpr double kWait = 500, kBarrier = 250;        // memory latency; synchronization of a few warps
  constexpr double kStart = 4000;                      // start and end of a block
  constexpr double kLatency = 20;                      // of a sum, and of loading its factors
  constexpr double kAlong = 2, kAcross = 1.5;          // operations to load a factor, depending on the layout of copies
  constexpr double kTurns = 4;                         // operations to copy an element separately
  constexpr double kAlone = 0.3;                       // slowdown of a warp that is alone on its quarter
  constexpr double kReservedShared = 1 << 10;          // bytes reserved per block, in addition to its own
  const std::int64_t threads = tile.threads(), sums = tile.sum_rows * tile.sum_columns;
  const std::int64_t registers = registers_of(e, tile);
  if (threads % kWarp != 0 || threads > kMostThreads || sums > kMostSums || sums * tile.depth > kMostUnrolled)
    return std::nullopt;
  if (sums > kFewSums && (size_bytes(e.type) > 4 || registers > kMostRegisters)) return std::nullopt;
  if (!can_fetch(e.left, tile.rows() * tile.depth, tile.threads(), tile.stages) ||
      !can_fetch(e.right, tile.columns() * tile.depth, tile.threads(), tile.stages))
    return std::nullopt;
  const std::int64_t shared = shared_bytes(e.left, tile.rows(), e.right, tile.columns(), tile.depth, tile.stages);
  if (shared > gpu.shared_bytes) return std::nullopt;
  const auto share =
      share_of(whole, tile.distribution, tile.rows(), tile.columns(), tile.depth, tile.stages, gpu.processors);
  if (!share) return std::nullopt;

  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double warps = number(threads) / kWarp;
  // Each quarter has separate registers.
  const double warps_at_once = kQuarters * std::floor(number(kRegistersOfProcessor / kWarp / registers) / kQuarters);
  const double room =
      std::floor(std::min(warps_at_once / warps, number(gpu.shared_bytes) / (number(shared) + kReservedShared)));
  const double most = std::max(room, 1.0);
  // Per piece of the depth: operations, including those that load factors to registers, one warp operation per quarter
  // and cycle; bytes from both memories.
  const auto loads = [](const Product::Operand& copied) { return copied.depth_last ? kAlong : kAcross; };
  double operations = number(tile.depth) * (number(sums) + loads(e.left) * number(tile.sum_rows) +
                                            loads(e.right) * number(tile.sum_columns));
  if (tile.turned && can_turn(whole.left)) operations += kTurns * number(tile.rows() * tile.depth / threads);
  if (tile.turned && can_turn(whole.right)) operations += kTurns * number(tile.columns() * tile.depth / threads);
  const std::int64_t warp_columns = std::min(kWarp, tile.columns_of_threads), warp_rows = kWarp / warp_columns;
  const auto bytes = [&](std::int64_t rows, std::int64_t columns) {
    return number(tile.depth * (rows * size_bytes(e.left.stored) + columns * size_bytes(e.right.stored)));
  };
  const double near = warps * bytes(warp_rows * tile.sum_rows, warp_columns * tile.sum_columns) / kSharedBytes;
  const double far = bytes(tile.rows(), tile.columns()) / kFarBytes;
  // Time of this many concurrent blocks, from start to end.
  const auto wave = [&](double blocks) {
    const double warps_per_quarter = std::max(blocks * warps / kQuarters, 1.0);
    const double issues = std::ceil(blocks * warps / kQuarters) * operations * (1 + kAlone / warps_per_quarter);
    const double round = std::max({issues, blocks * near, blocks * far, kLatency * number(tile.depth)}) +
                         kExposedFraction * blocks * (near + far);
    // The wait for a tile that has not arrived, unless previous tiles are multiplied meanwhile.
    const double wait = std::max(0.0, kWait - number(tile.stages - 1) * round);
    return share->pieces / share->starts * (round + wait + kBarrier * std::sqrt(std::sqrt(warps) / blocks)) + kStart;
  };
  const double whole_waves = std::floor(share->starts / most), rest = share->starts - whole_waves * most;
  return whole_waves * wave(most) + (rest > 0 ? wave(rest) : 0) + share->joining;
}

class MatrixProduct {
 public:
  MatrixProduct(schedule::Context& c, const Gpu& gpu, Product product)
      : c_(c), gpu_(gpu), product_(std::move(product)), name_(product_.block) {}

  bool schedule() {
    const auto tile = choose();
    if (!tile) return false;
    std::vector<std::string> following = blocks_after();
    streams_ = tile->distribution.stream > 0;
    if (tile->distribution.parts > 1 || streams_) {
      const auto made = streams_ ? stream_depth(c_, product_, tile->distribution.stream, tile->rows(), tile->columns(),
                                                tile->depth, gpu_.processors, following)
                                 : split_depth(c_, product_, tile->distribution.parts);
      if (!made) return false;
      product_ = *made;
      name_ = made->block;
      following.clear();  // already handled: after the sum of the parts
    }
    if (!streams_) {
      c_.s.matrix_form(name_, tile->rows(), tile->columns(), tile->depth, left(), right(), sum(), result());
      for (const std::string& block : following) c_.attempt("reverse_inline", {block});
      // Threads have the same rows and columns of the result as of the sums.
      c_.s.pad(result(), "m", tile->rows());
      c_.s.pad(result(), "n", tile->columns());
    }
    turn(left(), product_.left, tile->turned);
    turn(right(), product_.right, tile->turned);
    c_.s.set_scope(left(), "shared");
    c_.s.set_scope(right(), "shared");
    c_.s.set_scope(sum(), "register");
    cut(*tile);
    if (!streams_ || c_.block(result()) != nullptr) finish(result(), *tile);
    if (streams_) finish(part(), *tile), finish(start(), *tile);
    const std::array<ThreadAxis, 2> threads{
        {{"thread.x", tile->columns_of_threads}, {"thread.y", tile->rows_of_threads}}};
    fetch(left(), product_.left, *tile, threads);
    fetch(right(), product_.right, *tile, threads);
    if (!streams_) give_to_threads(start());
    give_to_threads(name_);
    if (tile->stages > 1) c_.s.pipeline(piece_, tile->stages);
    return c_.s.status().ok();
  }

 private:
  std::string left() const { return name_ + ".left"; }
  std::string right() const { return name_ + ".right"; }
  std::string sum() const { return name_ + ".sums"; }
  std::string start() const { return name_ + ".init"; }
  std::string result() const { return name_ + ".result"; }
  std::string part() const { return name_ + ".part"; }  // partial sums of workers
  std::string loop(std::string_view axis) const { return fmt::format("{}.{}", name_, axis); }

  std::optional<Tile> choose() {
    const auto among = [](std::vector<std::int64_t> values) {
      return [values = std::move(values)](std::span<const std::int64_t>) { return values; };
    };
    const bool may_turn = can_turn(product_.left) || can_turn(product_.right);
    const std::array<schedule::Choice, 9> choices{
        {{"sum_rows", among({8, 16, 4, 2, 1})},
         {"sum_columns", among({8, 4, 2, 1})},
         {"rows_of_threads", among({8, 16, 4, 2})},
         {"columns_of_threads", among({16, 8, 32})},
         {"tile_depth", among({8, 16, 32})},
         {"stages", among({2, 3, 4, 1})},
         {"parts", among(parts_of_depth(product_))},
         {"stream", [&](std::span<const std::int64_t> before) { return streams_of(product_, before.back()); }},
         {"turned", among(may_turn ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0})}}};
    const std::vector<std::int64_t> chosen = c_.sample(choices, [&] {
      return Result<schedule::Cost>(
          [&](std::span<const std::int64_t> values) { return cycles(product_, Tile(values), gpu_); });
    });
    return chosen.empty() ? std::nullopt : std::optional<Tile>(chosen);
  }

  std::vector<std::string> blocks_after() const {
    std::vector<std::string> following = c_.blocks();
    following.erase(following.begin(), std::ranges::find(following, name_) + 1);
    return following;
  }

  void turn(const std::string& copy, const Product::Operand& operand, bool turned) {
    if (!turned || !can_turn(operand)) return;
    std::string map;
    for (std::size_t i = 0; i < operand.batch_dimensions; ++i) map += fmt::format("i{},", i);
    c_.s.transform_layout(copy, fmt::format("{}i{},i{}", map, operand.batch_dimensions + 1, operand.batch_dimensions));
  }

  // Transposed operands are copied one element at a time.
  void fetch(const std::string& copy, const Product::Operand& operand, const Tile& tile,
             std::span<const ThreadAxis> threads) {
    fetch_together(c_, copy, operand.plain, threads,
                   tile.turned && can_turn(operand) ? size_bytes(operand.stored) : kVectorBytes);
  }

  // Splits `rows` and `columns`, loops over a tile, into {rows of threads, columns of threads} and those of a thread.
  // If a thread's rows or columns are contiguous in the copy, they form vectors, strided by the vectors of all threads;
  // otherwise its rows are neighbors, and its columns are strided by the number of threads.
  void cut_tile(const std::string& rows, const std::string& columns, const Tile& tile,
                std::vector<std::string>& threads, std::vector<std::string>& own) {
    const Product copied = as_copied(product_, tile.turned);
    const std::int64_t rows_together = copied.left.depth_last ? tile.sum_rows : std::min(kVector, tile.sum_rows);
    const std::int64_t columns_together = copied.right.depth_last ? 1 : std::min(kVector, tile.sum_columns);
    const auto [row_round, other_rows] = split_loop(c_, rows, tile.rows_of_threads * rows_together);
    const auto [ty, row] = split_loop(c_, other_rows, rows_together);
    const auto [column_round, other_columns] = split_loop(c_, columns, tile.columns_of_threads * columns_together);
    const auto [tx, column] = split_loop(c_, other_columns, columns_together);
    threads = {ty, tx};
    own = {row_round, row, column_round, column};
  }

  void cut(const Tile& tile) {
    const std::vector<std::string> loops = c_.own_loops(name_);
    if (loops.size() < 3) return;
    std::vector<std::string> blocks{loops.begin(), loops.end() - 3};  // loops of the batch
    const auto [block_row, row] = split_loop(c_, loop("m"), tile.rows());
    const auto [block_column, column] = split_loop(c_, loop("n"), tile.columns());
    const auto [piece, depth] = split_loop(c_, loop("k"), tile.depth);
    piece_ = streams_ ? loop("i") : piece;
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
    if (streams_) {
      blocks = {loop("w")};
    } else {
      c_.s.reverse_compute_at(result(), block_column);
      c_.s.decompose_reduction(name_, piece, start());
      c_.s.compute_at(right(), piece);
      c_.s.compute_at(left(), piece);
    }
    if (c_.s.status().ok() && !bind_points(c_, {blocks, {}}))
      c_.s.fail({schedule::refuse("sketch", name_, "the tiles cannot be bound to blocks", "use another schedule")});
  }

  // A block over a tile, distributed like the sums.
  void finish(const std::string& block, const Tile& tile) {
    if (!c_.s.status().ok()) return;
    const std::vector<std::string> made = c_.own_loops(block);
    DOVETAIL_CHECK(made.size() == 2, "a tile must have several rows and columns");
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

  // The loop that decompose_reduction created from another.
  std::string in(const std::string& block, const std::string& one) const {
    return block == name_ ? one : block + "." + one;
  }

  schedule::Context& c_;
  const Gpu& gpu_;
  Product product_;
  std::string name_;
  bool streams_ = false;                         // workers iterate over pieces of all tiles
  std::string piece_;                            // the loop over these pieces
  std::vector<std::string> threads_, unrolled_;  // tile loops bound to threads; unrolled tile loops
};

}  // namespace

bool sketch_matrix_product(schedule::Context& c, const Gpu& gpu) {
  for (const Parameter& parameter : c.task.program.parameters)
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  inline_elementwise(c);
  const auto found = find_product(c);
  if (!found) return false;
  if (!MatrixProduct(c, gpu, *found).schedule()) return !c.s.status().ok();
  schedule_points(c);
  return true;
}

}  // namespace dovetail::cuda
