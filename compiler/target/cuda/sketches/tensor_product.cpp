// Contractions of narrow types (matrix_product.cpp) by tensor cores: a block of threads makes a tile of the result,
// each of its warps some rows of it, in fragments of 16 x 8 sums. The operands come through shared memory, as there. A
// lane's sums are those that the instruction's rows say; what follows the sum point by point is done where the lane has
// them.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/intrinsics.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/sketches/product.h"
#include "compiler/target/cuda/sketches/sketches.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

constexpr std::int64_t kHalfRows = kMmaRows / kLanesInY, kPair = kMmaColumns / kLanesInX;  // of a lane
constexpr std::int64_t kMostSumsOfLane = 128;
// Below, a fragment holds more padding than numbers.
constexpr std::int64_t kFewestTensorRows = 8, kFewestTensorColumns = 8;

struct TensorTile {
  std::int64_t warps, row_fragments, column_fragments, depth_fragments;
  std::int64_t stages;
  std::int64_t parts;  // of the depth, for blocks of their own
  std::int64_t fragment_depth;
  TensorTile(std::span<const std::int64_t> v, const MatrixMultiply& mma)
      : warps(v[0]),
        row_fragments(v[1]),
        column_fragments(v[2]),
        depth_fragments(v[3]),
        stages(v[4]),
        parts(v[5]),
        fragment_depth(mma.depth) {}
  std::int64_t warp_rows() const { return row_fragments * kMmaRows; }
  std::int64_t rows() const { return warps * warp_rows(); }
  std::int64_t columns() const { return column_fragments * kMmaColumns; }
  std::int64_t depth() const { return depth_fragments * fragment_depth; }
  std::int64_t threads() const { return warps * kWarpLanes; }
};

// As in matrix_product.cpp: an estimate that was never compared with a measurement.
std::optional<double> tensor_cycles(const Product& whole, const TensorTile& tile, const Gpu& gpu) {
  const Product e = part_of(whole, tile.parts);
  constexpr double kFragmentCycles = 2;  // of a processor with four tensor cores, 16 x 8 sums of 32 bytes
  constexpr double kSharedBytes = 128, kFarBytes = 24;  // a cycle
  constexpr double kWait = 800, kBarrier = 40;
  constexpr double kRegisters = 65536, kShared = 160 << 10;
  const std::int64_t fragments = tile.row_fragments * tile.column_fragments;
  if (tile.parts > 1 && e.depth < tile.fragment_depth) return std::nullopt;
  if (fragments * kHalfRows * kPair > kMostSumsOfLane) return std::nullopt;
  if (!can_fetch(e.left, tile.rows() * tile.depth(), tile.threads(), tile.stages) ||
      !can_fetch(e.right, tile.columns() * tile.depth(), tile.threads(), tile.stages))
    return std::nullopt;
  const std::int64_t rounds_of_depth = pieces(e.depth, tile.depth());
  const std::int64_t row_bytes = tile.depth() * size_bytes(e.left.stored) + kBankBytes;
  const std::int64_t piece_bytes =
      std::max((tile.rows() + tile.columns()) * row_bytes,
               tile.rows() * row_bytes + tile.depth() * (tile.columns() * size_bytes(e.left.stored) + kBankBytes));
  if (tile.stages * piece_bytes > gpu.shared_bytes) return std::nullopt;
  if (tile.stages > 1 && tile.stages > rounds_of_depth) return std::nullopt;

  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t tiles = pieces(e.rows, tile.rows()) * pieces(e.columns, tile.columns());
  const auto joining = cycles_of_joining(whole, tile.parts, whole.batch * tiles, gpu.processors);
  if (!joining) return std::nullopt;
  const double blocks = number(e.batch * tiles);
  const double here = std::ceil(blocks / number(gpu.processors));
  const double registers =
      number(fragments * kHalfRows * kPair + 4 * tile.row_fragments + 2 * tile.column_fragments + 40);
  const double at_once = std::clamp(std::floor(std::min(kRegisters / (registers * number(tile.threads())),
                                                        kShared / number(tile.stages * piece_bytes))),
                                    1.0, here);
  // Of one fragment of the depth. Fewer than four warps leave tensor cores idle.
  constexpr double kQuarters = 4, kFragmentBytes = 32;
  const double busy = std::min(1.0, at_once * number(tile.warps) / kQuarters);
  const double products = number(tile.warps * fragments) * kFragmentCycles / busy;
  const double near = number(tile.warps * (tile.warp_rows() + tile.columns())) * kFragmentBytes / kSharedBytes;
  const double far = number(tile.rows() + tile.columns()) * kFragmentBytes / kFarBytes;
  const double rounds = number(rounds_of_depth);
  const double round = number(tile.depth_fragments) * std::max({products, near, far});
  const double wait = std::max(0.0, kWait - number(tile.stages - 1) * round * at_once);
  return here * (rounds * round + (rounds * (wait + kBarrier) + kWait) / at_once) + *joining;
}

class TensorProduct {
 public:
  TensorProduct(schedule::Context& c, const Gpu& gpu, Product product, const MatrixMultiply& mma)
      : c_(c), gpu_(gpu), product_(std::move(product)), mma_(mma), name_(product_.block) {}

  bool schedule() {
    const auto tile = choose();
    if (!tile) return false;
    std::vector<std::string> behind = c_.blocks();
    behind.erase(behind.begin(), std::ranges::find(behind, name_) + 1);
    if (tile->parts > 1) {
      const auto part = split_depth(c_, product_, tile->parts);
      if (!part) return false;
      product_ = *part;
      name_ = part->block;
      behind.clear();  // it follows what adds up the parts
    }
    c_.s.matrix_form(name_, tile->rows(), tile->columns(), tile->depth(), left(), right(), sum(), result());
    for (const std::string& block : behind) c_.attempt("reverse_inline", {block});
    c_.s.pad(result(), "m", tile->rows());
    c_.s.pad(result(), "n", tile->columns());
    c_.s.set_scope(left(), "shared");
    c_.s.set_scope(right(), "shared");
    c_.s.set_scope(sum(), "register");
    if (!c_.s.status().ok()) return false;
    cut(*tile);
    if (!c_.s.status().ok()) return false;
    finish(*tile);
    start();
    const std::array<ThreadAxis, 3> threads{
        {{"thread.x", kLanesInX}, {"thread.y", kLanesInY}, {"thread.z", tile->warps}}};
    fetch_together(c_, left(), product_.left.plain, threads);
    fetch_together(c_, right(), product_.right.plain, threads);
    c_.s.bind(warp_, "thread.z");
    lay_out(*tile);
    c_.s.tensorize(fragment_.front(), mma_.name());
    for (const std::string& loop : around_fragment_) c_.unroll(loop);
    if (tile->stages > 1) c_.s.pipeline(piece_, tile->stages);
    return c_.s.status().ok();
  }

 private:
  std::string left() const { return name_ + ".left"; }
  std::string right() const { return name_ + ".right"; }
  std::string sum() const { return name_ + ".sums"; }
  std::string result() const { return name_ + ".result"; }
  std::string loop(std::string_view axis) const { return fmt::format("{}.{}", name_, axis); }

  std::optional<TensorTile> choose() {
    const auto among = [](std::vector<std::int64_t> values) {
      return [values = std::move(values)](std::span<const std::int64_t>) { return values; };
    };
    const std::array<schedule::Choice, 6> choices{{{"warps", among({4, 2, 1, 8})},
                                                   {"row_fragments", among({2, 1, 4})},
                                                   {"column_fragments", among({8, 4, 2, 16})},
                                                   {"depth_fragments", among({2, 1, 4})},
                                                   {"stages", among({3, 2, 4, 1})},
                                                   {"parts", among(parts_of_depth(product_))}}};
    const std::vector<std::int64_t> chosen = c_.sample(choices, [&] {
      return Result<schedule::Cost>([&](std::span<const std::int64_t> values) {
        return tensor_cycles(product_, TensorTile(values, mma_), gpu_);
      });
    });
    return chosen.empty() ? std::nullopt : std::optional<TensorTile>(TensorTile(chosen, mma_));
  }

  // Sums: a dimension for each coordinate that a lane has them by. Bytes: a row holds the depth, as the instruction
  // reads four of its neighbours at once.
  void lay_out(const TensorTile& tile) {
    const Shape shape = c_.buffer(sum())->shape;
    const std::size_t m = shape.size() - 2, n = shape.size() - 1;
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < m; ++d) parts.push_back(fmt::format("i{}", d));
    if (shape[m] > tile.rows()) parts.push_back(fmt::format("i{}/{}", m, tile.rows()));
    if (tile.warps > 1)
      parts.push_back(shape[m] > tile.rows() ? fmt::format("i{}/{}%{}", m, tile.warp_rows(), tile.warps)
                                             : fmt::format("i{}/{}", m, tile.warp_rows()));
    parts.push_back(shape[m] > tile.warp_rows() ? fmt::format("i{}/{}%{}", m, kLanesInY, tile.warp_rows() / kLanesInY)
                                                : fmt::format("i{}/{}", m, kLanesInY));
    parts.push_back(fmt::format("i{}%{}", m, kLanesInY));
    parts.push_back(fmt::format("i{}/{}", n, kMmaColumns));
    parts.push_back(fmt::format("i{}/{}%{}", n, kPair, kLanesInX));
    parts.push_back(fmt::format("i{}%{}", n, kPair));
    c_.s.transform_layout(sum(), fmt::format("{}", fmt::join(parts, ",")));
    for (const bool is_left : {true, false}) {
      const Product::Operand& operand = is_left ? product_.left : product_.right;
      if (operand.depth_last || size_bytes(operand.stored) > 1) continue;
      std::vector<std::string> turned;
      const std::size_t rank = operand.batch_dimensions + 2;
      for (std::size_t d = 0; d < rank; ++d)
        turned.push_back(fmt::format("i{}", d + 2 < rank ? d : d + 2 == rank ? rank - 1 : rank - 2));
      c_.s.transform_layout(is_left ? left() : right(), fmt::format("{}", fmt::join(turned, ",")));
    }
  }

  void cut(const TensorTile& tile) {
    const std::vector<std::string> loops = c_.own_loops(name_);
    if (loops.size() < 3) return;
    std::vector<std::string> blocks{loops.begin(), loops.end() - 3};  // of the batch
    const auto [block_row, row] = split_loop(c_, loop("m"), tile.rows());
    const auto [block_column, column] = split_loop(c_, loop("n"), tile.columns());
    const auto [piece, depth] = split_loop(c_, loop("k"), tile.depth());
    const auto [warp, warp_row] = split_loop(c_, row, tile.warp_rows());
    const auto [row_fragment, fragment_row] = split_loop(c_, warp_row, kMmaRows);
    const auto [half, lane_row] = split_loop(c_, fragment_row, kLanesInY);
    const auto [column_fragment, fragment_column] = split_loop(c_, column, kMmaColumns);
    const auto [lane_column, pair] = split_loop(c_, fragment_column, kPair);
    const auto [depth_fragment, within] = split_loop(c_, depth, mma_.depth);
    blocks.insert(blocks.end(), {block_row, block_column});
    piece_ = piece;
    warp_ = warp;
    around_fragment_ = {depth_fragment, row_fragment, column_fragment};
    fragment_ = {half, lane_row, lane_column, pair, within};
    std::vector<std::string> order = blocks;
    order.insert(order.end(), {piece, warp});
    order.insert(order.end(), around_fragment_.begin(), around_fragment_.end());
    order.insert(order.end(), fragment_.begin(), fragment_.end());
    c_.reorder(order);
    c_.s.reverse_compute_at(result(), block_column);
    c_.s.decompose_reduction(name_, piece, name_ + ".init");
    c_.s.compute_at(right(), piece);
    c_.s.compute_at(left(), piece);
    if (c_.s.status().ok() && !bind_points(c_, {blocks, {}}))
      c_.s.fail({schedule::refuse("sketch", name_, "its tiles cannot be given to blocks", "use another schedule")});
  }

  void give_to_lanes(const std::string& warp, const std::string& row, const std::string& column,
                     const std::vector<std::string>& own) {
    std::vector<std::string> order{warp, row, column};
    order.insert(order.end(), own.begin(), own.end());
    c_.reorder(c_.present(order));
    if (c_.has_loop(warp)) c_.s.bind(warp, "thread.z");
    c_.s.bind(row, "thread.y");
    c_.s.bind(column, "thread.x");
    for (const std::string& one : own)
      if (c_.has_loop(one)) c_.unroll(one);
  }

  // Each lane starts its sums at 0.
  void start() {
    const auto in = [&](const std::string& one) { return name_ + ".init." + one; };
    give_to_lanes(in(warp_), in(fragment_[1]), in(fragment_[2]),
                  {in(around_fragment_[1]), in(around_fragment_[2]), in(fragment_[0]), in(fragment_[3])});
  }

  // The results of a tile, by the lanes that have their sums.
  void finish(const TensorTile& tile) {
    const std::vector<std::string> made = c_.own_loops(result());
    DOVETAIL_CHECK(made.size() == 2, "a tile has several rows and columns");
    const auto [warp, warp_row] = split_loop(c_, made[0], tile.warp_rows());
    const auto [halves, row] = split_loop(c_, warp_row, kLanesInY);
    const auto [fragment, fragment_column] = split_loop(c_, made[1], kMmaColumns);
    const auto [column, pair] = split_loop(c_, fragment_column, kPair);
    give_to_lanes(warp, row, column, {halves, fragment, pair});
  }

  schedule::Context& c_;
  const Gpu& gpu_;
  Product product_;
  MatrixMultiply mma_;
  std::string name_;
  std::string piece_, warp_;
  std::vector<std::string> around_fragment_;  // of the depth, rows, columns
  std::vector<std::string> fragment_;         // half of the rows, lane's row, lane's columns, one of them, depth
};

}  // namespace

bool sketch_tensor_product(schedule::Context& c, const Gpu& gpu) {
  for (const Parameter& parameter : c.task.program.parameters)
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  inline_elementwise(c);
  const auto found = find_product(c);
  if (!found || !found->free_order || found->left.stored != found->right.stored || found->rows < kFewestTensorRows ||
      found->columns < kFewestTensorColumns)
    return false;
  const auto mma = allowed_instruction(gpu, found->left.stored, found->type);
  if (!mma || found->depth < mma->depth / 2) return false;
  if (!TensorProduct(c, gpu, *found, *mma).schedule()) return !c.s.status().ok();
  schedule_points(c);
  return true;
}

}  // namespace dovetail::cuda
