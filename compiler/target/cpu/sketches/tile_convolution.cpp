// Dense 2-D convolution of bytes in tile registers. A tile of sums is `rows` neighboring pixels of one output row times
// 16 output channels. Its left operand is read from the channels-last image, which is padded for a block of rows at a
// time: a row of a tile is 64 channels of a pixel, or with four channels or less, a row of a window's pixels. The
// weights are stored in the order in which tiles are loaded: [o / 16][ky][kx][c / 4][16][4]. Whole tiles of sums pass
// through the first-level cache, where vector code turns them into results.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/target/cpu/sketches/conv_operands.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "compiler/target/cpu/sketches/tiles.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kTiledConv = "conv";
constexpr std::size_t kOutput = 1, kColumn = 3, kChannel = 4;  // iterators of the block

// sum + int32(x[n, c, ..]) * int32(w[o, c, ky, kx]) of bytes.
struct ByteConvolution {
  Buffer x, w;
  std::int64_t outputs, height, width, channels, window_rows, window_columns;

  // Whether a row of a tile is a row of the window.
  bool folds() const { return channels <= kDotBytes && window_columns > 1 && window_columns <= kTileRows; }
  EvenPieces columns() const { return even_pieces(width, kTileRows); }
  EvenPieces quads() const {
    return folds() ? EvenPieces{1, window_columns}
                   : even_pieces((channels + kDotBytes - 1) / kDotBytes, kTileRowBytes / kDotBytes);
  }
  Extents whole_tiles() const {
    return {{kOutput, even_pieces(outputs, kTileLanes).count * kTileLanes},
            {kColumn, columns().extent()},
            {kChannel, kDotBytes * (folds() ? 1 : quads().extent())}};
  }
  TileShape tile() const {
    return {columns().size, quads().size, window_rows * (folds() ? 1 : window_columns) * quads().count, x->dtype};
  }
};

std::optional<ByteConvolution> byte_convolution(const Block* block) {
  if (block == nullptr || block->iterators.size() != 7 || !block->init ||
      block->writes.front().buffer->dtype != DType::int32)
    return std::nullopt;
  const auto loads = byte_factors(*block);
  if (!loads || loads->first.indices.size() != 4 || loads->second.indices.size() != 4) return std::nullopt;
  const auto& [x, w] = *loads;
  const auto is = [&](const Expr& index, std::size_t iterator) {
    const auto* n = std::get_if<VarRef>(&index->node);
    return n != nullptr && n->var == block->iterators[iterator].var;
  };
  if (!is(x.indices[1], kChannel) || !is(w.indices[0], kOutput)) return std::nullopt;
  const auto extent = [&](std::size_t iterator) { return block->iterators[iterator].extent; };
  return ByteConvolution{x.buffer, w.buffer, extent(1), extent(2), extent(3), extent(4), extent(5), extent(6)};
}

class TileConvolution {
 public:
  TileConvolution(schedule::Context& c, const Cpu& cpu, ByteConvolution convolution)
      : c_(c), cpu_(cpu), k_(std::move(convolution)), tile_(k_.tile()) {}

  bool schedule() {
    choose_blocks();
    lay_out();
    cut_loops();
    place_blocks();
    if (!c_.s.status().ok()) return true;
    tensorize();
    schedule_results();
    vectorize_copy();
    c_.parallel({"conv.n", yo_, threads_});
    return true;
  }

 private:
  // Padded rows of a block within half of the second-level cache, and several blocks for the threads, unless blocks
  // would be single rows, each of which loads all weights.
  void choose_blocks() {
    const std::int64_t row_bytes = k_.x->shape[3] * k_.channels;
    const std::int64_t stride = std::max<std::int64_t>(1, k_.x->shape[2] / k_.height);
    const std::int64_t fitting = std::max<std::int64_t>(1, cpu_.l2_bytes / 2 / row_bytes / stride);
    const std::int64_t weights = element_count(k_.w->shape);
    const std::int64_t most = weights <= cpu_.l2_bytes ? std::max<std::int64_t>(1, k_.height / 4) : k_.height;
    const std::int64_t several = largest_divisor(k_.height, std::min(fitting, most));
    rows_ = c_.sample("block_rows", divisors(k_.height), several == 1 && k_.height <= fitting ? k_.height : several);
    block_ = sample_tile_block(c_, rows_, k_.columns().count, k_.outputs / kTileLanes, tile_, cpu_);
  }

  void lay_out() {
    const std::string result = c_.written_by(kTiledConv)->name;
    const Shape shape = c_.written_by(kTiledConv)->shape;
    if (c_.block("pad") != nullptr) staged_ = "pad";
    c_.lay_out(k_.w->name, fmt::format("i0/{0},i2,i3,i1/{1},i0%{0},i1%{1}", kTileLanes, kDotBytes));
    blocks_ = stage_tiles(c_, kTiledConv, k_.x->name, k_.w->name, last_);
    // Residual operands have the results' shape and layout.
    const Shape results = c_.written_by(last_)->shape;
    if (last_ != blocks_.store)
      for (const Region& read : c_.reads_of(last_))
        if (read.buffer->name != result && read.buffer->shape == results)
          c_.lay_out(read.buffer->name, channels_last(4));
    c_.lay_out(c_.written_by(last_)->name, channels_last(4));
    if (last_ != blocks_.store) c_.lay_out(result, channels_last(4));
    if (!staged_.empty())
      for (const Region& read : c_.reads_of(staged_)) c_.follow_layout(read.buffer->name);
    c_.lay_out(k_.x->name, channels_last(4));
  }

  void cut_loops() {
    const auto [x_tiles, xi] = c_.tile("conv.x", tile_.rows);
    const auto [xm, xt] = cut(c_, x_tiles, block_.across);
    const auto [yo, yb] = c_.tile("conv.y", rows_);
    const auto [ym, yt] = cut(c_, yb, block_.down);
    const auto [o_tiles, oi] = c_.tile("conv.o", kTileLanes);
    auto [oo, ot] = cut(c_, o_tiles, block_.columns);
    yo_ = yo;
    // With few blocks of rows, threads share the output channels instead.
    if (k_.height / rows_ < 4 && !oo.empty()) {
      const std::int64_t tiles = c_.extent(oo);
      std::tie(threads_, oo) = c_.tile(
          oo, c_.sample("thread_tiles", divisors(tiles), largest_divisor(tiles, std::max<std::int64_t>(1, tiles / 4))));
    }
    std::vector<std::string> order = order_tiles(oo, ym, xm);
    at_ = order.empty() ? !threads_.empty() ? threads_ : !yo.empty() ? yo : "conv.n" : order.back();
    order.insert(order.begin(), {"conv.n", yo, threads_});
    std::string quads = "conv.kx", bytes = "conv.c";
    step_ = "conv.ky";
    order.emplace_back("conv.ky");
    if (!k_.folds()) {
      const auto [blocks, block] = c_.tile("conv.c", kDotBytes * tile_.quads);
      std::tie(quads, bytes) = c_.tile(block, kDotBytes);
      order.insert(order.end(), {"conv.kx", blocks});
      step_ = blocks.empty() ? "conv.kx" : blocks;
    }
    sums_ = {{yt, xt, ot}, {xi, oi, quads, bytes}};
    order.insert(order.end(), {yt, xt, ot, xi, oi, quads, bytes});
    c_.reorder(order);
  }

  // The loops over blocks of tiles, outermost first. Channels outermost: their weights stay in the first-level cache
  // while the pixels of a block pass. Channels innermost: the pixels stay, and the weights of all channels pass.
  std::vector<std::string> order_tiles(const std::string& o, const std::string& y, const std::string& x) {
    const std::int64_t weights = element_count(k_.w->shape);
    const std::int64_t panel = weights / k_.outputs * kTileLanes * block_.columns;
    const bool pixels_stay =
        (panel > cpu_.l1_bytes / 2 && weights <= cpu_.l2_bytes / 2) ||
        pixels_in_order(k_.outputs, k_.channels, k_.window_rows * k_.window_columns, DType::int8, cpu_);
    std::string order = "oyx";
    if (c_.extent(o) > 1 && c_.extent(y) * c_.extent(x) > 1)
      order = c_.sample("tile_order", {"oyx", "yxo"}, pixels_stay ? "yxo" : "oyx");
    std::vector<std::string> loops;
    for (const char loop : order) loops.push_back(loop == 'o' ? o : loop == 'y' ? y : x);
    std::erase(loops, "");
    return loops;
  }

  void place_blocks() {
    end_ = c_.own_loops(last_);
    c_.s.reverse_compute_at(blocks_.store, at_);
    if (last_ != blocks_.store) c_.s.reverse_compute_at(last_, at_);
    c_.s.decompose_reduction(kTiledConv, "conv.ky", "conv.init");
    c_.s.compute_at(blocks_.right, step_);
    c_.s.compute_at(blocks_.left, step_);
    if (!staged_.empty()) c_.s.compute_at(staged_, !threads_.empty() ? threads_ : !yo_.empty() ? yo_ : "conv.n");
  }

  void tensorize() {
    const std::string &left = blocks_.left, &right = blocks_.right, &store = blocks_.store;
    const auto loop = [](const std::string& block, int dimension) { return fmt::format("{}.{}", block, dimension); };
    const auto sums = [&](TileOperation operation) {
      return TileIntrinsic{operation, DType::int32, tile_.rows, kTileLanes};
    };
    tensorize_tiles(c_, sums_, {TileOperation::multiply, tile_.bytes, tile_.rows, tile_.quads});
    const std::vector<std::string> start = c_.own_loops("conv.init");
    if (start.size() >= 2)
      tensorize_tiles(c_, {{start.begin(), start.end() - 2}, {start.end() - 2, start.end()}},
                      sums(TileOperation::zero));
    {  // [n, y, x, c, ky, kx]
      const auto [xt, xi] = c_.tile(loop(left, 2), tile_.rows);
      std::string quads = loop(left, 5), bytes = loop(left, 3);
      if (!k_.folds()) std::tie(quads, bytes) = c_.tile(loop(left, 3), kDotBytes);
      tensorize_tiles(c_, {{loop(left, 1), xt}, {xi, quads, bytes}},
                      {TileOperation::load, tile_.bytes, tile_.rows, tile_.quads});
    }
    // [o / 16, ky, kx, c / 4, 16, 4]
    tensorize_tiles(c_, {{loop(right, 0)}, {loop(right, k_.folds() ? 2 : 3), loop(right, 4), loop(right, 5)}},
                    {TileOperation::load, DType::int8, tile_.quads, kTileLanes});
    {  // [n, o, y, x]
      const auto [xt, xi] = c_.tile(loop(store, 3), tile_.rows);
      const auto [ot, oi] = c_.tile(loop(store, 1), kTileLanes);
      tensorize_tiles(c_, {{loop(store, 2), xt, ot}, {xi, oi}}, sums(TileOperation::store));
    }
  }

  // Vectors of channels, pixel by pixel.
  void schedule_results() {
    if (last_ == blocks_.store) return;
    c_.reorder({c_.existing(end_[2]), c_.existing(end_[3]), c_.existing(end_[1])});
    c_.unroll(c_.vectorize(end_[1], vector_lanes(c_.extent(end_[1]), static_cast<int>(kTileLanes))));
  }

  void vectorize_copy() {
    if (staged_.empty()) return;
    c_.reorder({c_.existing("pad.y"), c_.existing("pad.x"), c_.existing("pad.c")});
    c_.vectorize("pad.c", vector_lanes(k_.channels, cpu_.lanes(1)));
  }

  schedule::Context& c_;
  const Cpu& cpu_;
  ByteConvolution k_;
  TileShape tile_;
  TileBlock block_{};
  std::int64_t rows_ = 1;  // image rows per block
  TileBlocks blocks_;
  std::string staged_, last_;  // the padded input, if any; the block after the sums
  // Loops: blocks of rows, pieces of the output channels for threads; the innermost loop around a block of tiles, and
  // around the calls of one step of the sum.
  std::string yo_, threads_, at_, step_;
  TileNest sums_;
  std::vector<std::string> end_;  // loops of the results: n, o, y, x
};

}  // namespace

void prepare_tile_convolution(Preparation& p) {
  const Block* block = p.block(kTiledConv);
  if (p.cpu.tile_registers == 0 || block == nullptr) return;
  p.drop_zero_point(kTiledConv);
  const auto convolution = byte_convolution(p.block(kTiledConv));
  if (!convolution || convolution->outputs < kFewestColumns || !worth_tiles(convolution->tile(), p.cpu)) return;
  p.bound_accumulator(kTiledConv, convolution->w->name);
  p.extend_product(kTiledConv, convolution->whole_tiles());
}

bool sketch_tile_convolution(schedule::Context& c, const Cpu& cpu) {
  const Block* block = c.block(kTiledConv);
  const auto convolution = byte_convolution(block);
  if (!convolution || !worth_tiles(convolution->tile(), cpu)) return false;
  for (const auto& [iterator, extent] : convolution->whole_tiles())
    if (block->iterators[iterator].extent != extent) return false;
  return TileConvolution(c, cpu, *convolution).schedule();
}

}  // namespace dovetail::cpu
