// Contractions of narrow types (matrix_product.cpp) with tensor cores: a block of threads computes a tile of the
// result; each of its warps some rows of it, in fragments of 16 x 8 sums. The operands are staged in shared memory in
// the same way. A lane has the sums that the instruction's layout specifies; pointwise operations after the sum are
// done by that lane. If the machine has instructions of four warps, these compute 64 rows and all columns of the tile
// at once.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "compiler/prepare/copy_factors.h"
#include "compiler/prepare/round_factors.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/intrinsics.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/sketches/product.h"
#include "compiler/target/cuda/sketches/sketches.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

constexpr std::int64_t kHalfRows = kMmaRows / kLanesInY, kPair = kMmaColumns / kLanesInX;  // per lane
constexpr std::int64_t kMostSumsOfLane = 128;
// With fewer, a fragment would be mostly padding.
constexpr std::int64_t kFewestTensorRows = 8, kFewestTensorColumns = 8;

struct TensorTile {
  std::int64_t warps, row_fragments, column_fragments, depth_fragments;
  std::int64_t stages;
  Distribution distribution;
  std::int64_t fragment_depth;
  // For instructions of four warps: row_fragments have 64 rows for each group of warps, column_fragments belong to one
  // instruction.
  static TensorTile of_group(std::span<const std::int64_t> v, std::int64_t fragment_depth) {
    const std::array<std::int64_t, 7> values{v[0] * kWarpsOfGroup, v[1], v[2] / kMmaColumns, v[3], v[4], v[5], v[6]};
    return {values, {DType::int8, DType::int8, DType::int32, fragment_depth, ""}};
  }
  TensorTile(std::span<const std::int64_t> v, const MatrixMultiply& mma)
      : warps(v[0]),
        row_fragments(v[1]),
        column_fragments(v[2]),
        depth_fragments(v[3]),
        stages(v[4]),
        distribution{v[5], v[6]},
        fragment_depth(mma.depth) {}
  std::int64_t warp_rows() const { return row_fragments * kMmaRows; }
  std::int64_t rows() const { return warps * warp_rows(); }
  std::int64_t columns() const { return column_fragments * kMmaColumns; }
  std::int64_t depth() const { return depth_fragments * fragment_depth; }
  std::int64_t threads() const { return warps * kWarpLanes; }
};

// The layout of the operand's copy in shared memory. A row holds the depth of bytes, of which an instruction reads four
// neighbors at once, and of TF32 for four warps, whose instruction accepts nothing else.
Product::Operand laid_out(Product::Operand operand, bool of_group) {
  const int bytes = size_bytes(operand.stored);
  operand.depth_last = operand.depth_last || bytes == 1 || (of_group && bytes == 4);
  return operand;
}
bool is_turned(const Product::Operand& operand, bool of_group) {
  return operand.depth_last != laid_out(operand, of_group).depth_last;
}

// Cycles of a processor in which its threads copy an element to shared memory for four warps. Measured on an H200 for
// patches of bfloat16 (3 x 3 at batch 32), whose indices are divided and whose borders are checked for each element;
// the others are assumptions. Boxes take no time of threads.
double cycles_of_element(const Product::Operand& operand) {
  constexpr double kPatch = 0.8, kElement = 0.4, kInRow = 0.1, kPiece = 0.25;
  if (operand.gathers && !operand.is_copied()) return kPatch;
  if (operand.gathers) return kPiece * size_bytes(operand.stored) / static_cast<double>(kVectorBytes);
  if (!operand.aligned || is_turned(operand, true)) return kElement;
  return operand.moved ? 0 : kInRow;
}

// As in matrix_product.cpp: an estimate that was never compared with a measurement.
std::optional<double> tensor_cycles(const Product& whole, const TensorTile& tile, const Gpu& gpu) {
  const Product e = part_of(whole, tile.distribution.parts);
  constexpr double kFragmentCycles = 2;  // for a processor with four tensor cores, 16 x 8 sums of 32 bytes
  constexpr double kSharedBytes = 128, kFarBytes = 24;  // per cycle
  constexpr double kWait = 800, kBarrier = 40;
  constexpr double kRegisters = 65536, kShared = 160 << 10;
  const std::int64_t fragments = tile.row_fragments * tile.column_fragments;
  if (tile.distribution.parts > 1 && e.depth < tile.fragment_depth) return std::nullopt;
  if (fragments * kHalfRows * kPair > kMostSumsOfLane) return std::nullopt;
  if (!can_fetch(e.left, tile.rows() * tile.depth(), tile.threads(), tile.stages) ||
      !can_fetch(e.right, tile.columns() * tile.depth(), tile.threads(), tile.stages))
    return std::nullopt;
  const std::int64_t shared = shared_bytes(laid_out(e.left, false), tile.rows(), laid_out(e.right, false),
                                           tile.columns(), tile.depth(), tile.stages);
  if (shared > gpu.shared_bytes) return std::nullopt;
  const auto share =
      share_of(whole, tile.distribution, tile.rows(), tile.columns(), tile.depth(), tile.stages, gpu.processors);
  if (!share) return std::nullopt;

  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double registers =
      number(fragments * kHalfRows * kPair + 4 * tile.row_fragments + 2 * tile.column_fragments + 40);
  const double at_once =
      std::clamp(std::floor(std::min(kRegisters / (registers * number(tile.threads())), kShared / number(shared))), 1.0,
                 share->at_once);
  // For one fragment of the depth. Fewer than four warps leave tensor cores idle.
  constexpr double kQuarters = 4, kFragmentBytes = 32;
  const double busy = std::min(1.0, at_once * number(tile.warps) / kQuarters);
  const double products = number(tile.warps * fragments) * kFragmentCycles / busy;
  const double near = number(tile.warps * (tile.warp_rows() + tile.columns())) * kFragmentBytes / kSharedBytes;
  const double far = number(tile.rows() + tile.columns()) * kFragmentBytes / kFarBytes;
  const double round = number(tile.depth_fragments) * std::max({products, near, far});
  const double wait = std::max(0.0, kWait - number(tile.stages - 1) * round * at_once);
  return share->pieces * (round + (wait + kBarrier) / at_once) + share->starts * kWait / at_once + share->joining;
}

// The same for four warps. An instruction takes half a cycle for each column of a fragment of the depth.
std::optional<double> group_cycles(const Product& whole, const TensorTile& tile, const Gpu& gpu) {
  const Product e = part_of(whole, tile.distribution.parts);
  constexpr double kSharedBytes = 128, kFarBytes = 24;  // per cycle
  constexpr double kWait = 800, kBarrier = 60;
  constexpr double kRegisters = 65536;
  constexpr std::int64_t kMostPlainBytes = 1 << 15, kMostPatches = 1 << 13;  // per piece; elements
  const std::int64_t sums = tile.row_fragments * tile.columns() / 2;
  if (tile.distribution.parts > 1 && e.depth < tile.fragment_depth) return std::nullopt;
  if (sums > kMostSumsOfLane) return std::nullopt;
  const auto fits = [&](const Product::Operand& operand, std::int64_t lines) {
    return can_fetch(operand, lines * tile.depth(), tile.threads(), tile.stages,
                     operand.is_copied() ? kMostPlainBytes / size_bytes(operand.stored) : kMostPatches);
  };
  if (!fits(e.left, tile.rows()) || !fits(e.right, tile.columns())) return std::nullopt;
  // Elements without an asynchronous copy are held in separate registers until they are stored.
  const auto kept = [&](const Product::Operand& operand, std::int64_t lines) {
    const std::int64_t bytes = size_bytes(operand.stored);
    const bool copied = operand.is_copied() && (operand.depth_last || bytes > 1);
    return tile.stages == 1 || copied ? 0 : lines * tile.depth() / tile.threads();
  };
  constexpr std::int64_t kOthers = 48, kRegistersOfThread = 255;
  const std::int64_t registers_of_thread = sums + kept(e.left, tile.rows()) + kept(e.right, tile.columns()) + kOthers;
  if (registers_of_thread > kRegistersOfThread) return std::nullopt;
  const std::int64_t piece_bytes = (tile.rows() + tile.columns()) * tile.depth() * size_bytes(e.left.stored);
  constexpr std::int64_t kSignal = 8;  // for box copies
  if (tile.stages * (piece_bytes + kSignal) > gpu.shared_bytes) return std::nullopt;
  const auto share =
      share_of(whole, tile.distribution, tile.rows(), tile.columns(), tile.depth(), tile.stages, gpu.processors);
  if (!share) return std::nullopt;

  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double registers = number(registers_of_thread);
  const double at_once = std::clamp(std::floor(std::min(kRegisters / (registers * number(tile.threads())),
                                                        number(gpu.shared_bytes) / number(tile.stages * piece_bytes))),
                                    1.0, share->at_once);
  constexpr double kFragmentBytes = 32;
  const std::int64_t instructions = tile.row_fragments * tile.warps / kWarpsOfGroup;
  const double products = number(instructions * tile.columns()) / 2;
  const double near = number(instructions * (kGroupRows + tile.columns())) * kFragmentBytes / kSharedBytes;
  const double far = number(tile.rows() + tile.columns()) * kFragmentBytes / kFarBytes;
  const double copying = number(tile.depth()) * (number(tile.rows()) * cycles_of_element(e.left) +
                                                 number(tile.columns()) * cycles_of_element(e.right));
  constexpr double kExposed = 0.5;  // of the shorter of both: an assumption
  const double multiplying = number(tile.depth_fragments) * std::max({products, near, far});
  const double round = std::max(multiplying, copying) + kExposed * std::min(multiplying, copying);
  // With three or more stages, products are still running when the next tile is awaited.
  const double barrier = tile.stages > 2 ? 0 : kBarrier;
  const double wait = std::max(0.0, kWait - number(std::max<std::int64_t>(tile.stages - 2, 0)) * round * at_once);
  return share->pieces * (round + (wait + barrier) / at_once) + share->starts * kWait / at_once + share->joining;
}

class TensorProduct {
 public:
  // `preparing`: blocks that copy operands for it.
  TensorProduct(schedule::Context& c, const Gpu& gpu, Product product, const MatrixMultiply& mma,
                std::vector<std::string> preparing)
      : c_(c),
        gpu_(gpu),
        product_(std::move(product)),
        mma_(mma),
        name_(product_.block),
        preparing_(std::move(preparing)) {}

  bool schedule() {
    const auto tile = choose();
    if (!tile) return false;
    if (!prepares_first_ && !inline_copies()) return false;
    std::vector<std::string> following = c_.blocks();
    following.erase(following.begin(), std::ranges::find(following, name_) + 1);
    streams_ = tile->distribution.stream > 0;
    if (tile->distribution.parts > 1 || streams_) {
      const auto made = streams_ ? stream_depth(c_, product_, tile->distribution.stream, tile->rows(), tile->columns(),
                                                tile->depth(), gpu_.processors, following)
                                 : split_depth(c_, product_, tile->distribution.parts);
      if (!made) return false;
      product_ = *made;
      name_ = made->block;
      following.clear();  // already handled: after the sum of the parts
    }
    if (!streams_) {
      c_.s.matrix_form(name_, tile->rows(), tile->columns(), tile->depth(), left(), right(), sum(), result());
      for (const std::string& block : following) c_.attempt("reverse_inline", {block});
      c_.s.pad(result(), "m", tile->rows());
      c_.s.pad(result(), "n", tile->columns());
    }
    c_.s.set_scope(left(), "shared");
    c_.s.set_scope(right(), "shared");
    c_.s.set_scope(sum(), "register");
    if (!c_.s.status().ok()) return false;
    cut(*tile);
    if (!c_.s.status().ok()) return false;
    if (!streams_ || c_.block(result()) != nullptr) finish(result(), *tile);
    if (streams_) finish(part(), *tile), finish(start(), *tile);
    else give_start_to_lanes();
    const std::array<ThreadAxis, 3> threads{
        {{"thread.x", kLanesInX}, {"thread.y", kLanesInY}, {"thread.z", tile->warps}}};
    fetch(left(), product_.left, threads);
    fetch(right(), product_.right, threads);
    if (!mma_.of_group()) c_.s.bind(warp_, "thread.z");
    lay_out(*tile);
    c_.s.tensorize(fragment_.front(), mma_.name());
    bind_to_blocks();
    for (const std::string& loop : around_fragment_) c_.unroll(loop);
    if (tile->stages > 1) c_.s.pipeline(piece_, tile->stages);
    for (const std::string& block : preparing_)
      if (prepares_first_) schedule_copy(block);
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

  static auto among(std::vector<std::int64_t> values) {
    return [values = std::move(values)](std::span<const std::int64_t>) { return values; };
  }

  // The blocks after the parts.
  auto streams() const {
    return [this](std::span<const std::int64_t> before) { return streams_of(product_, before.back()); };
  }

  // Operands are computed on their way to shared memory.
  bool inline_copies() {
    for (const std::string& block : preparing_)
      if (!c_.attempt("inline", {block})) return false;
    product_ = product_of(c_, name_).value();
    return true;
  }

  // The product with and without copies in memory; equal if it needs none.
  std::array<Product, 2> forms() {
    Product first = product_;
    for (const std::string& block : preparing_) first.prepared_first += element_count(c_.buffer(block)->shape);
    const schedule::Schedule before = c_.s;
    const Product inlined = inline_copies() ? product_ : first;
    c_.s = before;
    product_ = first;
    return {inlined, first};
  }

  // A copy in memory: neighbors along x read neighbors, and each thread stores contiguous elements together.
  void schedule_copy(const std::string& block) {
    constexpr std::int64_t kThreads = 256;
    const loops::Block& copy = *c_.block(block);
    std::vector<std::string> spatial = c_.own_loops(block);
    const loops::Expr last = std::get<loops::Store>(copy.body->node).targets.at(0).indices.back();
    std::size_t innermost = 0;
    for (std::size_t i = 0; i < copy.iterators.size(); ++i)
      if (copy.iterators[i].var == std::get<loops::VarRef>(last->node).var) innermost = i;
    std::int64_t together = kVectorBytes / size_bytes(c_.buffer(block)->dtype);
    while (c_.extent(spatial.at(innermost)) % together != 0) together /= 2;
    const auto [outer, inner] = split_loop(c_, spatial[innermost], together);
    spatial[innermost] = outer;
    const auto points = share_points(c_, spatial, {inner}, kThreads);
    if (!points || !bind_points(c_, *points)) return;
    c_.unroll(inner);
  }

  std::optional<TensorTile> choose_of_group() {
    std::vector<schedule::Choice> choices{{"groups", among({1, 2})},
                                          {"row_fragments", among({2, 1, 4})},
                                          {"columns", among({128, 256, 64, 32, 16})},
                                          {"depth_fragments", among({4, 2})},
                                          {"stages", among({4, 3, 5, 6, 2, 1})},
                                          {"parts", among(parts_of_depth(product_))},
                                          {"stream", streams()}};
    if (!preparing_.empty()) choices.push_back({"prepare_first", among({0, 1})});
    const std::array<Product, 2> products = forms();
    const std::vector<std::int64_t> chosen = c_.sample(choices, [&] {
      return Result<schedule::Cost>([&](std::span<const std::int64_t> values) {
        const Product& product = products.at(preparing_.empty() ? 1 : static_cast<std::size_t>(values.back()));
        return group_cycles(product, TensorTile::of_group(values, mma_.depth), gpu_);
      });
    });
    if (chosen.empty()) return std::nullopt;
    prepares_first_ = !preparing_.empty() && chosen.back() == 1;
    mma_ = find_group_multiply(mma_.left, mma_.right, mma_.sum, chosen[2]).value();
    return TensorTile::of_group(chosen, mma_.depth);
  }

  std::optional<TensorTile> choose() {
    if (mma_.of_group()) return choose_of_group();
    const std::array<schedule::Choice, 7> choices{{{"warps", among({4, 2, 1, 8})},
                                                   {"row_fragments", among({2, 1, 4})},
                                                   {"column_fragments", among({8, 4, 2, 16})},
                                                   {"depth_fragments", among({2, 1, 4})},
                                                   {"stages", among({3, 2, 4, 1})},
                                                   {"parts", among(parts_of_depth(product_))},
                                                   {"stream", streams()}}};
    const std::vector<std::int64_t> chosen = c_.sample(choices, [&] {
      return Result<schedule::Cost>([&](std::span<const std::int64_t> values) {
        return tensor_cycles(product_, TensorTile(values, mma_), gpu_);
      });
    });
    return chosen.empty() ? std::nullopt : std::optional<TensorTile>(TensorTile(chosen, mma_));
  }

  // Sums: one dimension for each coordinate by which a lane holds them. Operands: see laid_out.
  void lay_out(const TensorTile& tile) {
    const Shape shape = c_.buffer(sum())->shape;
    const std::size_t m = shape.size() - 2, n = shape.size() - 1;
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < m; ++d) parts.push_back(fmt::format("i{}", d));
    // A row's coordinates: each is the row divided by `divisor`, with this many values.
    std::int64_t rest = shape[m];
    const auto coordinate = [&](std::int64_t divisor) {
      parts.push_back(rest == shape[m] ? fmt::format("i{}/{}", m, divisor)
                                       : fmt::format("i{}/{}%{}", m, divisor, rest / divisor));
      rest = divisor;
    };
    if (rest > tile.rows()) coordinate(tile.rows());
    if (mma_.of_group()) {
      if (rest > group_rows(tile)) coordinate(group_rows(tile));
      coordinate(kMmaRows);
    } else if (tile.warps > 1) {
      coordinate(tile.warp_rows());
    }
    coordinate(kLanesInY);
    parts.push_back(fmt::format("i{}%{}", m, kLanesInY));
    parts.push_back(fmt::format("i{}/{}", n, kMmaColumns));
    parts.push_back(fmt::format("i{}/{}%{}", n, kPair, kLanesInX));
    parts.push_back(fmt::format("i{}%{}", n, kPair));
    c_.s.transform_layout(sum(), fmt::format("{}", fmt::join(parts, ",")));
    for (const bool is_left : {true, false}) {
      const Product::Operand& operand = is_left ? product_.left : product_.right;
      if (!is_turned(operand, mma_.of_group())) continue;
      std::vector<std::string> turned;
      const std::size_t rank = operand.batch_dimensions + 2;
      for (std::size_t d = 0; d < rank; ++d)
        turned.push_back(fmt::format("i{}", d + 2 < rank ? d : d + 2 == rank ? rank - 1 : rank - 2));
      c_.s.transform_layout(is_left ? left() : right(), fmt::format("{}", fmt::join(turned, ",")));
    }
  }

  // Neighboring lanes have neighboring elements of a row even if each element is stored in another row.
  void fetch(const std::string& copy, const Product::Operand& operand, std::span<const ThreadAxis> threads) {
    const int bytes = size_bytes(operand.stored);
    const bool alone = bytes == 4 && is_turned(operand, mma_.of_group());
    fetch_together(c_, copy, operand.plain || operand.is_copied(), threads, alone ? bytes : kVectorBytes);
  }

  void cut(const TensorTile& tile) {
    const std::vector<std::string> loops = c_.own_loops(name_);
    if (loops.size() < 3) return;
    std::vector<std::string> blocks{loops.begin(), loops.end() - 3};  // loops of the batch
    const auto [block_row, row] = split_loop(c_, loop("m"), tile.rows());
    const auto [block_column, column] = split_loop(c_, loop("n"), tile.columns());
    const auto [piece, depth] = split_loop(c_, loop("k"), tile.depth());
    const auto [row_fragment, warp, half, lane_row] = split_rows(row, tile);
    const auto [column_fragment, fragment_column] = split_loop(c_, column, kMmaColumns);
    const auto [lane_column, pair] = split_loop(c_, fragment_column, kPair);
    const auto [depth_fragment, within] = split_loop(c_, depth, mma_.depth);
    blocks.insert(blocks.end(), {block_row, block_column});
    piece_ = streams_ ? loop("i") : piece;
    warp_ = warp;
    lane_row_ = lane_row, lane_column_ = lane_column;
    own_ = {row_fragment, column_fragment, half, pair};
    std::vector<std::string> order = blocks;
    order.push_back(piece);  // for a stream, a single one, inside
    if (mma_.of_group()) {
      // The warps of all groups, split into groups and the warps of one group.
      const auto [group, of_group] = split_loop(c_, warp, kWarpsOfGroup);
      group_ = group, warp_ = of_group;
      around_fragment_ = {depth_fragment, row_fragment};
      fragment_ = {of_group, half, lane_row, column_fragment, lane_column, pair, within};
    } else {
      around_fragment_ = {depth_fragment, row_fragment, column_fragment};
      fragment_ = {half, lane_row, lane_column, pair, within};
      order.push_back(warp);
    }
    order.insert(order.end(), around_fragment_.begin(), around_fragment_.end());
    if (mma_.of_group()) order.push_back(group_);
    order.insert(order.end(), fragment_.begin(), fragment_.end());
    c_.reorder(order);
    if (streams_) {
      blocks = {loop("w")};
    } else {
      c_.s.reverse_compute_at(result(), block_column);
      c_.s.decompose_reduction(name_, piece, start());
      c_.s.compute_at(right(), piece);
      c_.s.compute_at(left(), piece);
    }
    blocks_ = std::move(blocks);
  }

  // Blocks have three axes, so that more dimensions than that are fused. The instruction's operands must still move by
  // plain indices, which they no longer do after a fusion: this comes after the instruction.
  void bind_to_blocks() {
    if (c_.s.status().ok() && !bind_points(c_, {blocks_, {}}))
      c_.s.fail({schedule::refuse("sketch", name_, "the tiles cannot be bound to blocks", "use another schedule")});
  }

  // Rows of a fragment over all groups of warps.
  static std::int64_t group_rows(const TensorTile& tile) { return tile.warps * kMmaRows; }

  struct Rows {
    std::string fragment, warp, half, lane;
  };
  // A warp's rows are contiguous; for an instruction of four warps, only those of one fragment.
  Rows split_rows(const std::string& row, const TensorTile& tile) {
    const auto [outer, inner] = split_loop(c_, row, mma_.of_group() ? group_rows(tile) : tile.warp_rows());
    const auto [middle, fragment_row] = split_loop(c_, inner, kMmaRows);
    const auto [half, lane] = split_loop(c_, fragment_row, kLanesInY);
    return mma_.of_group() ? Rows{outer, middle, half, lane} : Rows{middle, outer, half, lane};
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

  // Each lane initializes its sums to 0: the loops created by decompose_reduction.
  void give_start_to_lanes() {
    const auto in = [&](const std::string& one) { return start() + "." + one; };
    std::vector<std::string> own;
    for (const std::string& one : own_) own.push_back(in(one));
    std::string warp = in(warp_);
    if (mma_.of_group() && c_.has_loop(in(group_))) {
      c_.s.fuse(in(group_), warp, in("warps"));
      warp = in("warps");
    }
    give_to_lanes(warp, in(lane_row_), in(lane_column_), own);
  }

  // A block over a tile, distributed over the lanes that hold its sums.
  void finish(const std::string& block, const TensorTile& tile) {
    const std::vector<std::string> made = c_.own_loops(block);
    DOVETAIL_CHECK(made.size() == 2, "a tile must have several rows and columns");
    const auto [row_fragment, warp, half, row] = split_rows(made[0], tile);
    const auto [fragment, fragment_column] = split_loop(c_, made[1], kMmaColumns);
    const auto [column, pair] = split_loop(c_, fragment_column, kPair);
    give_to_lanes(warp, row, column, {row_fragment, half, fragment, pair});
  }

  schedule::Context& c_;
  const Gpu& gpu_;
  Product product_;
  MatrixMultiply mma_;
  std::string name_;
  std::vector<std::string> preparing_;                         // blocks that copy operands for the product
  bool prepares_first_ = false;                                // they are kernels before it
  bool streams_ = false;                                       // workers iterate over pieces of all tiles
  std::string piece_, group_, warp_, lane_row_, lane_column_;  // group_: over groups of four warps
  std::vector<std::string> blocks_;                            // loops over tiles
  std::vector<std::string> own_;                               // loops of a lane, except the depth's
  std::vector<std::string> around_fragment_;                   // loops around an instruction: depth, rows, columns
  std::vector<std::string> fragment_;                          // loops of an instruction
};

}  // namespace

namespace {

// Blocks that the preparation has added to copy operands of a product.
std::vector<std::string> preparing_blocks(const schedule::Context& c) {
  std::vector<std::string> preparing = c.blocks();
  std::erase_if(preparing, [](const std::string& name) { return !name.ends_with(prepare::kPrepared); });
  return preparing;
}

// Whether the product's operands are constants, or results of such blocks, that have been rounded.
bool has_rounded_factors(const schedule::Context& c, const std::string& product) {
  const std::vector<loops::Buffer> factors = prepare::float32_factors(c.s.program(), product);
  return !factors.empty() && std::ranges::all_of(factors, [&](const loops::Buffer& factor) {
    const std::string fact = fmt::format("round_factors {} {}", product, factor->name);
    return std::ranges::find(c.task.prepared, fact) != c.task.prepared.end();
  });
}

bool sketch_product(schedule::Context& c, const Gpu& gpu, bool of_group) {
  for (const Parameter& parameter : c.task.program.parameters)
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  std::vector<std::string> preparing = of_group ? preparing_blocks(c) : std::vector<std::string>();
  inline_elementwise(c, preparing);
  const auto found = find_product(c);
  if (!found || !found->free_order || found->rows < (of_group ? kFewestGroupRows : kFewestTensorRows) ||
      found->columns < kFewestTensorColumns)
    return false;
  // The number of columns of an instruction of four warps is decided later.
  constexpr std::int64_t kAnyColumns = 128;
  const DType left = found->left.stored, right = found->right.stored;
  const auto mma = of_group ? find_group_multiply(left, right, found->type, kAnyColumns)
                            : allowed_instruction(gpu, left, right, found->type);
  if (!mma || found->depth < mma->depth / 2) return false;
  if (of_group && mma->rounds_factors() && !(gpu.tf32 && has_rounded_factors(c, found->block))) return false;
  if (!TensorProduct(c, gpu, *found, *mma, std::move(preparing)).schedule()) return !c.s.status().ok();
  schedule_points(c);
  return true;
}

}  // namespace

bool sketch_tensor_product(schedule::Context& c, const Gpu& gpu) { return sketch_product(c, gpu, false); }

bool sketch_group_product(schedule::Context& c, const Gpu& gpu) {
  return has_group_products(gpu) && sketch_product(c, gpu, true);
}

}  // namespace dovetail::cuda
