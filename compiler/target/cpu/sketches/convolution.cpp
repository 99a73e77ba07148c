// Convolution in one to three dimensions, dense or in groups, in float32 and int8. Activations are channels-last,
// weights [o / columns][ky][kx][c][columns], with dot products of depth d [o / columns][ky][kx][c / d][columns][d]. A
// register tile holds `rows` neighboring pixels of one output row times `columns` output channels of one group over the
// whole reduction; padding is materialized for a block of rows at a time (in one dimension: of pixels), which stays in
// the cache while all output channels use it.
#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/sketches/conv_operands.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "compiler/target/cpu/skip_padding.h"
#include "loops/product_sum.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kConv = "conv";
constexpr int kPackedChannels = 16;  // contiguous channels in a packed copy of the input: a cache line of float32

// Transforms one convolution from the loops of its definition to register tiles.
class Convolution {
 public:
  Convolution(schedule::Context& c, const Cpu& cpu) : c_(c), cpu_(cpu) {}

  bool schedule() {
    if (!recognize()) return false;
    choose_products();
    choose_rows_of_a_block();
    cut_reduction();
    lay_out();
    cut_into_tiles();
    if (!c_.s.status().ok()) return true;
    // The epilogue's loops keep their names, and loops with one iteration are removed.
    schedule_sums(c_, kConv, xi_, oi_, tile_, cpu_, dot_);
    schedule_epilogue(c_, end_[spatial_.size() + 1], end_[1], tile_.lanes);
    vectorize_copy();
    c_.parallel(shared_);
    return true;
  }

 private:
  bool recognize() {
    const Block* block = c_.block(kConv);
    if (!is_convolution(block)) return false;
    integer_ = block->writes.front().buffer->dtype == DType::int32;
    any_order_ = integer_ || is_product_sum(*block);
    operands_ = conv_operands(*block);
    if (operands_.groups > 1 && !operands_.split) return false;
    rank_ = operands_.x->shape.size();
    std::vector<std::string> loops = c_.own_loops(kConv);  // n, [g], o, spatial, c, kernel
    if (loops.size() != block->iterators.size()) return false;
    if (operands_.split) {
      group_ = loops[1];
      loops.erase(loops.begin() + 1);
    }
    spatial_ = {loops.begin() + 2, loops.begin() + static_cast<std::ptrdiff_t>(rank_)};
    kernel_ = {loops.begin() + static_cast<std::ptrdiff_t>(rank_) + 1, loops.end()};
    for (const std::string& loop : kernel_) window_ *= c_.extent(loop);
    // Pixels that are neighbors in memory: for an image one pixel wide, those of a column.
    while (spatial_.size() > 1 && c_.extent(spatial_.back()) == 1 && c_.extent(spatial_[spatial_.size() - 2]) > 1) {
      single_.push_back(spatial_.back());
      spatial_.pop_back();
    }
    width_ = c_.extent(spatial_.back());
    return true;
  }

  void choose_products() {
    const DotProduct dot = dot_product(cpu_);
    dot_ = integer_ && suits_dot_products(operands_.outputs(), cpu_) && operands_.x->dtype == dot.activations &&
           operands_.w->dtype == DType::int8 && operands_.inputs() % dot.depth == 0;
    depth_ = dot_ ? dot.depth : 1;
    channels_in_ = operands_.inputs();
    const std::int64_t steps = channels_in_ / depth_ * window_;
    tile_ = sample_register_tile(c_, {width_, operands_.outputs(), steps, window_, dot_}, cpu_);
    element_bytes_ = size_bytes(operands_.x->dtype);
    staged_ = c_.block("pad") != nullptr ? "pad" : c_.block("shifted") != nullptr ? "shifted" : "";
  }

  // Enough work per pad, enough blocks for the threads, and the padded rows within half of the second-level cache.
  // Weights larger than that cache are fetched again for every block: blocks are then as large as possible, and where
  // pixels are read for a whole window, larger than that if memory could not keep up with fewer pixels. In one
  // dimension, a row is a tile of pixels.
  void choose_rows_of_a_block() {
    const Shape& x = operands_.x->shape;
    const std::size_t pixels = spatial_.size() + 1;  // dimension of the pixels
    const bool line = spatial_.size() == 1;
    height_ = line ? (width_ + tile_.rows - 1) / tile_.rows : c_.extent(spatial_[spatial_.size() - 2]);
    const std::int64_t row_bytes = (line ? tile_.rows : x[pixels]) * channels_in_ * element_bytes_;
    const std::int64_t stride = line ? x[pixels] / width_ : x[pixels - 1] / height_;
    constexpr std::int64_t kManyPixels = 400;
    const bool weights_stay = size_bytes(operands_.w->dtype) * element_count(operands_.w->shape) <= cpu_.l2_bytes;
    const std::int64_t least =
        weights_stay || window_ == 1 || line ? 1 : std::max<std::int64_t>(1, kManyPixels / width_);
    const std::int64_t fitting = std::max(least, cpu_.l2_bytes / 2 / row_bytes / std::max<std::int64_t>(1, stride));
    const std::int64_t most = std::min(fitting, weights_stay ? (height_ + 3) / 4 : height_);
    // Tiles of a line may end in a smaller one; the schedule cannot also prove bounds for a smaller last block.
    rows_ = line ? c_.sample("block_rows", divisors(height_), largest_divisor(height_, most))
                 : c_.sample("block_rows", block_sizes(height_), block_size(height_, most));
  }

  // Splits the reduction: blocks of channels that are summed over the whole window before the next block, and unrolled
  // steps.
  void cut_reduction() {
    channel_block_ = channels_in_;
    if (!any_order_) return;
    std::vector<std::int64_t> blocks;
    for (const std::int64_t block : divisors(channels_in_))
      if (block == channels_in_ || (block % kPackedChannels == 0 && window_ > 1)) blocks.push_back(block);
    channel_block_ = c_.sample("channel_block", blocks, channels_in_);
    steps_ = sample_steps(c_, channel_block_ / depth_);
  }

  void lay_out() {
    const std::string x = operands_.x->name, w = operands_.w->name;
    last_ = c_.gather_epilogue(kConv, "register");
    const std::string result = c_.written_by(kConv)->name;
    // Residual operands have the shape of the result and use its layout.
    const Shape result_shape = c_.buffer(result)->shape;
    for (const Region& read : c_.reads_of(last_))
      if (read.buffer->name != result && read.buffer->shape == result_shape)
        c_.lay_out(read.buffer->name, channels_last(rank_));
    c_.lay_out(c_.written_by(last_)->name, channels_last(rank_));
    c_.lay_out(result, channels_last(rank_));
    c_.lay_out(w, weight_layout());
    if (!staged_.empty())
      for (const Region& read : c_.reads_of(staged_)) c_.follow_layout(read.buffer->name);
    // Packed: a cache line or a part of one for every pixel, pixels contiguous. A padded copy is packed directly.
    const bool packable = rank_ == 4 && operands_.groups == 1 && channels_in_ % kPackedChannels == 0 &&
                          staged_ != "shifted" && (staged_.empty() || channels_in_ > kPackedChannels);
    const bool crowded = staged_.empty() && crowds_sets(channels_in_ * element_bytes_, tile_.rows, cpu_);
    pack_ = packable && c_.sample("pack", {"no", "yes"}, crowded ? "yes" : "no") == "yes";
    c_.lay_out(
        x, pack_ && !staged_.empty() ? fmt::format("i1/{0},i0,i2,i3,i1%{0}", kPackedChannels) : channels_last(rank_));
    if (pack_ && staged_.empty()) {
      staged_ = "packed";
      c_.s.cache_read(kConv, x, "global", staged_);
    }
  }

  // In the order in which the register tile reads them.
  std::string weight_layout() const {
    const std::string block = channel_block_ == channels_in_ ? "" : fmt::format("i1/{},", channel_block_);
    const std::string channel = block.empty() ? "i1" : fmt::format("i1%{}", channel_block_);
    std::string window;
    for (std::size_t d = 2; d < rank_; ++d) window += fmt::format("i{},", d);
    return dot_ ? fmt::format("i0/{0},{2}{4}{3}/{1},i0%{0},i1%{1}", tile_.columns, depth_, block, channel, window)
                : fmt::format("i0/{0},{1}{3}{2},i0%{0}", tile_.columns, block, channel, window);
  }

  void cut_into_tiles() {
    const auto [oo, oi] = c_.tile("conv.o", tile_.columns);
    const auto [xo, xi] = c_.tile(spatial_.back(), tile_.rows);
    const bool line = spatial_.size() == 1;
    // For a line, tiles are split into blocks.
    const auto [bo, bi] = !line        ? c_.tile(spatial_[spatial_.size() - 2], rows_)
                          : xo.empty() ? std::pair<std::string, std::string>()
                                       : c_.tile(xo, rows_);
    oi_ = oi, xi_ = xi;
    shared_ = {"conv.n", spatial_.size() > 2 ? spatial_.front() : "", bo, group_};
    shared_.insert(shared_.begin() + 1, single_.begin(), single_.end());
    // With few blocks of rows, output channels are divided among threads, in parts large enough to justify a separate
    // copy of the input.
    std::string inner_o = oo;
    if ((height_ + rows_ - 1) / rows_ < 4 && !oo.empty() && group_.empty()) {
      const std::int64_t tiles = c_.extent(oo);
      const auto [pieces, piece] = c_.tile(
          oo, c_.sample("thread_tiles", divisors(tiles), largest_divisor(tiles, std::max<std::int64_t>(1, tiles / 4))));
      shared_.push_back(pieces);
      inner_o = piece;
    }
    const std::vector<std::string> tiles = order_tiles(inner_o, line ? "" : bi, line ? bi : xo);
    std::vector<std::string> order = shared_;
    order.insert(order.end(), tiles.begin(), tiles.end());
    cut_sums(order);
    if (reduction_.empty()) reduction_ = kernel_.front();
    c_.reorder(order);
    end_ = c_.own_loops(last_);
    c_.s.reverse_compute_at(last_, tiles.empty() ? innermost_shared() : tiles.back());  // when a tile is complete
    if (!staged_.empty()) c_.s.compute_at(staged_, innermost_shared());
    if (staged_ == "packed")  // from [n, y, x, c]
      c_.lay_out(staged_, fmt::format("i3/{0},i0,i1,i2,i3%{0}", kPackedChannels));
    c_.s.decompose_reduction(kConv, reduction_, "conv.init");
    // Products with padding are skipped: with the loop unrolled, a pixel at the border has no products for window
    // elements that are outside.
    const std::string row = kernel_[spatial_.size() - 1];
    if (c_.s.status().ok() && c_.block(kConv)->predicate && c_.extent(row) <= kLongestSkippingWindow)
      c_.unroll(c_.existing(row));
    c_.unroll(steps_loop_);
  }

  std::string innermost_shared() const {
    std::vector<std::string> loops = shared_;
    std::erase(loops, "");
    return loops.back();
  }

  // The loops of the reduction, and those of the register tile inside.
  void cut_sums(std::vector<std::string>& order) {
    if (dot_) {
      const auto [co, ci] = c_.tile("conv.c", depth_);
      const auto [ov, ol] = c_.tile(oi_, tile_.lanes);
      const auto [blocks, block] = c_.tile(co, channel_block_ / depth_);
      const auto [serial, steps] = unrolled_steps(block);
      order.push_back(blocks);
      order.insert(order.end(), kernel_.begin(), kernel_.end());
      order.insert(order.end(), {serial, steps, xi_, ov, ol, ci});
      reduction_ = blocks;
    } else if (any_order_) {
      const auto [blocks, block] = c_.tile("conv.c", channel_block_);
      const auto [serial, steps] = unrolled_steps(block);
      order.push_back(blocks);
      order.insert(order.end(), kernel_.begin(), kernel_.end());
      order.insert(order.end(), {serial, steps, xi_, oi_});
      reduction_ = blocks;
    } else {
      // If rounding is fixed, products are added in the order of the definition.
      order.push_back("conv.c");
      order.insert(order.end(), kernel_.begin(), kernel_.end());
      order.insert(order.end(), {xi_, oi_});
      reduction_ = "conv.c";
    }
  }

  // The loops over register tiles, outermost first. Channels outermost: a tile's weights stay in the cache while the
  // block's pixels pass. Channels innermost: the pixels stay, and the weights of all channels pass.
  std::vector<std::string> order_tiles(const std::string& o, const std::string& y, const std::string& x) {
    std::string order = "oyx";
    if (c_.extent(o) > 1 && c_.extent(y) * c_.extent(x) > 1) {
      std::vector<std::string> orders{"oyx", "yxo"};
      if (c_.extent(y) > 1 && c_.extent(x) > 1) orders.push_back("yox");
      const bool pixels_stay =
          pixels_in_order(operands_.outputs(), operands_.inputs(), window_, operands_.w->dtype, cpu_);
      order = c_.sample("tile_order", orders, pixels_stay ? "yxo" : "oyx");
    }
    std::vector<std::string> loops;
    for (const char loop : order) loops.push_back(loop == 'o' ? o : loop == 'y' ? y : x);
    std::erase(loops, "");
    return loops;
  }

  // The loop over a block of channels as {serial or "", unrolled or the whole}.
  std::pair<std::string, std::string> unrolled_steps(const std::string& block) {
    if (steps_ == 1) return {block, ""};
    const auto cut = c_.tile(block, steps_);
    steps_loop_ = cut.second;
    return cut;
  }

  void vectorize_copy() {
    if (staged_.empty()) return;
    const int lanes = cpu_.lanes(static_cast<int>(element_bytes_));
    if (staged_ == "pad") {
      c_.reorder({c_.existing("pad.z"), c_.existing("pad.y"), c_.existing("pad.x"), c_.existing("pad.c")});
      c_.vectorize("pad.c", vector_lanes(c_.extent("pad.c"), pack_ ? kPackedChannels : lanes));
      return;
    }
    std::vector<std::string> order;
    for (const std::string& loop : c_.own_loops(staged_))  // n, y, x, c
      if (!loop.ends_with(".1") || pack_) order.push_back(loop);
    if (!pack_ && c_.extent("shifted.1") > 1) order.push_back("shifted.1");
    c_.reorder(order);
    const std::int64_t widest = pack_ ? kPackedChannels : lanes;
    order.back() = c_.vectorize(order.back(), vector_lanes(c_.extent(order.back()), widest));
    // A packed copy is written in order: writing to a different page for each line of a pixel would be slow.
    if (pack_) std::ranges::rotate(order, order.end() - 1), c_.reorder(order);
  }

  schedule::Context& c_;
  const Cpu& cpu_;
  ConvOperands operands_;
  bool integer_ = false, any_order_ = false;
  std::size_t rank_ = 0;                              // rank of the images
  std::vector<std::string> spatial_, kernel_;         // loops, outermost first
  std::vector<std::string> single_;                   // loops with one iteration inside the spatial ones
  std::int64_t height_ = 0, width_ = 0;               // of the dimension split into blocks, and of a row
  std::int64_t channels_in_ = 0, element_bytes_ = 0;  // per group; of an input element
  RegisterTile tile_{};
  bool dot_ = false;
  std::int64_t depth_ = 1;                                   // channels of a step: those of a dot product, or one
  std::int64_t rows_ = 1;                                    // image rows per block
  std::int64_t window_ = 1, channel_block_ = 1, steps_ = 1;  // see cut_reduction
  std::string staged_;  // the producer that is computed per block: the padded, shifted or packed input
  bool pack_ = false;   // the copy is packed: pixels would conflict in the sets of the first-level cache
  std::string last_;    // the block after the sums
  // Loops: groups; columns and pixels of the tile; the outermost loop of the reduction, and its unrolled steps.
  std::string group_, oi_, xi_, reduction_, steps_loop_;
  std::vector<std::string> shared_, end_;  // loops around a block of rows, outermost first; loops of the epilogue
};

}  // namespace

void prepare_convolution(Preparation& p) {
  const Block* block = p.block(kConv);
  if (!is_convolution(block)) return;
  const ConvOperands operands = conv_operands(*block);
  constexpr std::size_t kOutput = 1, kImageChannel = 4;  // iterators; the latter for the convolution of an image
  const bool dense = operands.groups == 1, image = block->iterators.size() == 7;
  if (block->writes.front().buffer->dtype == DType::int32) {
    const std::int64_t channels = operands.inputs();
    p.bound_accumulator(kConv, operands.w->name);
    const std::int64_t outputs = dense && image ? whole_vectors(operands.outputs(), p.cpu) : operands.outputs();
    const std::int64_t depth = dot_product(p.cpu).depth;
    const bool several = operands.outputs() > 1;
    if (several && suits_dot_products(outputs, p.cpu) && ((dense && image) || channels % depth == 0)) {
      if (dense && image) p.extend_product(kConv, {{kImageChannel, (channels + depth - 1) / depth * depth}});
      convert_activations(p, kConv);
      if (dense && image) p.extend_product(kConv, {{kOutput, outputs}});
    }
  } else if (dense) {
    const Shape& sums = block->writes.front().buffer->shape;
    const auto row = std::find_if(sums.rbegin(), sums.rend() - 3, [](std::int64_t extent) { return extent > 1; });
    const std::int64_t window = element_count(operands.w->shape) / (operands.inputs() * operands.outputs());
    p.extend_product(
        kConv, {{kOutput, tileable_columns({*row, operands.outputs(), operands.inputs() * window, window}, p.cpu)}});
  }
  p.skip_padding(kConv, operands.w->name);
  if (operands.groups > 1) p.split_groups(kConv, operands.groups);
}

bool sketch_convolution(schedule::Context& c, const Cpu& cpu) { return Convolution(c, cpu).schedule(); }

}  // namespace dovetail::cpu
