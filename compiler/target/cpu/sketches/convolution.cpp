// Dense 2-D convolution in float32 and int8. Activations are channels-last, weights [o / columns][ky][kx][c][columns],
// with dot products of bytes [o / columns][ky][kx][c / 4][columns][4]. A register tile holds `rows` neighbouring pixels
// of one output row times `columns` output channels over the whole reduction; padding is written out for a block of
// rows at a time, where it stays in the cache while all output channels use it.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kConv = "conv";
constexpr int kPackedChannels = 16;  // that lie together in a packed copy of the input: of float32, a cache line

// The loads of the product x[n, c, ..] * w[o, c, ky, kx] in the block's body.
struct ConvOperands {
  Buffer x, w;
  bool dense = false;  // every output channel sums over all input channels
};
ConvOperands conv_operands(const Block& block) {
  ConvOperands result;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer == block.writes.front().buffer || load->indices.size() != 4) return;
    const auto* first = std::get_if<VarRef>(&load->indices[0]->node);
    if (first != nullptr && first->var == block.iterators[1].var) {
      result.w = load->buffer;
      return;
    }
    result.x = load->buffer;
    const auto* channel = std::get_if<VarRef>(&load->indices[1]->node);
    result.dense = channel != nullptr && channel->var == block.iterators[4].var;
  });
  return result;
}

// Four bytes a lane, in whole vectors of output channels; but for the type of the activations.
bool suits_dot_products(std::int64_t channels_out, const Cpu& cpu) {
  return cpu.vnni && channels_out % cpu.lanes(4) == 0;
}

bool is_dense(const Block* block) {
  if (block == nullptr || block->iterators.size() != 7 || !block->init) return false;
  const DType accumulator = block->writes.front().buffer->dtype;
  return (accumulator == DType::float32 || accumulator == DType::int32) && conv_operands(*block).dense;
}

// One convolution on its way from the loops of its definition to register tiles.
class Convolution {
 public:
  Convolution(schedule::Context& c, const Cpu& cpu) : c_(c), cpu_(cpu) {}

  bool schedule() {
    if (!recognise()) return false;
    choose_products();
    choose_rows_of_a_block();
    lay_out();
    cut_into_tiles();
    if (!c_.s.status().ok()) return true;
    // The epilogue's loops n, o, y, x keep their names, and those of one iteration are gone.
    schedule_sums(c_, kConv, xi_, oi_, tile_, dot_);
    schedule_epilogue(c_, end_[3], end_[1], tile_.lanes);
    vectorize_copy();
    c_.parallel({"conv.n", yo_, threads_});
    return true;
  }

 private:
  bool recognise() {
    const Block* block = c_.block(kConv);
    if (!is_dense(block)) return false;
    integer_ = block->writes.front().buffer->dtype == DType::int32;
    any_order_ = integer_ || is_product_sum(*block);
    operands_ = conv_operands(*block);
    channels_out_ = block->iterators[1].extent;
    height_ = block->iterators[2].extent;
    width_ = block->iterators[3].extent;
    return true;
  }

  void choose_products() {
    dot_ = integer_ && suits_dot_products(channels_out_, cpu_) && operands_.x->dtype == DType::uint8 &&
           operands_.x->shape[1] % kDotBytes == 0;
    tile_ = sample_register_tile(c_, width_, channels_out_, dot_, cpu_);
    channels_in_ = operands_.x->shape[1];
    element_bytes_ = size_bytes(operands_.x->dtype);
    staged_ = c_.block("pad") != nullptr ? "pad" : c_.block("shifted") != nullptr ? "shifted" : "";
  }

  // Enough work per pad, enough blocks for the threads, and the padded rows within half of the second level.
  void choose_rows_of_a_block() {
    const std::int64_t row_bytes = operands_.x->shape[3] * channels_in_ * element_bytes_;
    const std::int64_t stride = std::max<std::int64_t>(1, operands_.x->shape[2] / height_);
    const std::int64_t fitting = std::max<std::int64_t>(1, cpu_.l2_bytes / 2 / row_bytes / stride);
    rows_ = c_.sample("block_rows", divisors(height_),
                      largest_divisor(height_, std::min(fitting, std::max<std::int64_t>(1, height_ / 4))));
  }

  void lay_out() {
    const std::string x = operands_.x->name, w = operands_.w->name;
    last_ = c_.gather_epilogue(kConv, "register");
    const std::string result = c_.written_by(kConv)->name;
    // Residual operands have the result's shape and follow its layout.
    const Shape result_shape = c_.buffer(result)->shape;
    for (const Region& read : c_.reads_of(last_))
      if (read.buffer->name != result && read.buffer->shape == result_shape)
        c_.lay_out(read.buffer->name, kChannelsLast);
    c_.lay_out(c_.written_by(last_)->name, kChannelsLast);
    c_.lay_out(result, kChannelsLast);
    c_.lay_out(w, dot_ ? fmt::format("i0/{0},i2,i3,i1/{1},i0%{0},i1%{1}", tile_.columns, kDotBytes)
                       : fmt::format("i0/{0},i2,i3,i1,i0%{0}", tile_.columns));
    if (!staged_.empty())
      for (const Region& read : c_.reads_of(staged_)) c_.follow_layout(read.buffer->name);
    c_.lay_out(x, kChannelsLast);
    pack_ = staged_.empty() &&
            c_.sample("pack", {"no", "yes"}, crowds_sets(channels_in_ * element_bytes_, cpu_) ? "yes" : "no") == "yes";
    if (pack_) {
      staged_ = "packed";
      c_.s.cache_read(kConv, x, "global", staged_);
    }
  }

  void cut_into_tiles() {
    const auto [oo, oi] = c_.tile("conv.o", tile_.columns);
    const auto [yo, yi] = c_.tile("conv.y", rows_);
    const auto [xo, xi] = c_.tile("conv.x", tile_.rows);
    oi_ = oi, xi_ = xi, yo_ = yo;
    // Few rows of blocks: threads share the output channels instead, in pieces that are worth their own copy of the
    // input.
    std::string inner_o = oo;
    if (height_ / rows_ < 4 && !oo.empty()) {
      const std::int64_t tiles = c_.extent(oo);
      std::tie(threads_, inner_o) = c_.tile(
          oo, c_.sample("thread_tiles", divisors(tiles), largest_divisor(tiles, std::max<std::int64_t>(1, tiles / 4))));
    }
    if (dot_) {
      const auto [co, ci] = c_.tile("conv.c", kDotBytes);
      const auto [ov, ol] = c_.tile(oi, tile_.lanes);
      c_.reorder({"conv.n", yo, threads_, inner_o, yi, xo, "conv.ky", "conv.kx", co, xi, ov, ol, ci});
    } else {
      std::vector<std::string> order{"conv.n", yo, threads_, inner_o, yi, xo};
      // Channels lie side by side; where rounding is fixed the products are added as the definition has them.
      if (any_order_) order.insert(order.end(), {"conv.ky", "conv.kx", "conv.c"});
      else order.insert(order.end(), {"conv.c", "conv.ky", "conv.kx"});
      order.insert(order.end(), {xi, oi});
      c_.reorder(order);
    }
    end_ = c_.own_loops(last_);
    c_.s.reverse_compute_at(last_, !xo.empty() ? xo : yi);  // where a register tile is complete
    if (!staged_.empty()) c_.s.compute_at(staged_, !threads_.empty() ? threads_ : !yo.empty() ? yo : "conv.n");
    if (pack_) c_.lay_out(staged_, fmt::format("i3/{0},i0,i1,i2,i3%{0}", kPackedChannels));  // from [n, y, x, c]
    c_.s.decompose_reduction(kConv, any_order_ ? "conv.ky" : "conv.c", "conv.init");
  }

  void vectorize_copy() {
    if (staged_.empty()) return;
    const int lanes = cpu_.lanes(static_cast<int>(element_bytes_));
    if (staged_ == "pad") {
      c_.reorder({c_.existing("pad.y"), c_.existing("pad.x"), c_.existing("pad.c")});
      c_.vectorize("pad.c", vector_lanes(channels_in_, lanes));
      return;
    }
    std::vector<std::string> order;
    for (const std::string& loop : c_.own_loops(staged_))  // n, y, x, c
      if (!loop.ends_with(".1") || pack_) order.push_back(loop);
    if (!pack_ && c_.extent("shifted.1") > 1) order.push_back("shifted.1");
    c_.reorder(order);
    c_.vectorize(order.back(), vector_lanes(c_.extent(order.back()), pack_ ? kPackedChannels : lanes));
  }

  schedule::Context& c_;
  const Cpu& cpu_;
  ConvOperands operands_;
  bool integer_ = false, any_order_ = false;
  std::int64_t channels_out_ = 0, height_ = 0, width_ = 0, channels_in_ = 0, element_bytes_ = 0;
  RegisterTile tile_{};
  bool dot_ = false;
  std::int64_t rows_ = 1;  // of the image in a block
  std::string staged_;     // the producer that is written out a block at a time: the padded, shifted or packed input
  bool pack_ = false;      // a packed copy, because pixels would crowd the sets of the first level
  std::string last_;       // the block behind the sums
  // Loops: columns and pixels of the tile, blocks of rows, pieces of the output channels; those of the epilogue.
  std::string oi_, xi_, yo_, threads_;
  std::vector<std::string> end_;
};

}  // namespace

void prepare_convolution(Preparation& p) {
  const Block* block = p.block(kConv);
  if (!is_dense(block) || block->writes.front().buffer->dtype != DType::int32) return;
  const std::int64_t channels_out = block->iterators[1].extent;
  p.bound_accumulator(kConv, conv_operands(*block).w->name);
  if (suits_dot_products(channels_out, p.cpu)) p.shift_activations(kConv, kDotBytes);
}

bool sketch_convolution(schedule::Context& c, const Cpu& cpu) { return Convolution(c, cpu).schedule(); }

}  // namespace dovetail::cpu
