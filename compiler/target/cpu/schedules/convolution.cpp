// Dense 2-D convolution in float32 and int8. Activations are channels-last, weights [o / columns][ky][kx][c][columns],
// with dot products of bytes [o / columns][ky][kx][c / 4][columns][4]. A register tile holds `rows` neighbouring pixels
// of one output row times `columns` output channels over the whole reduction; padding is written out for a block of
// rows at a time, where it stays in the cache while all output channels use it.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/target/cpu/schedules/schedules.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kConv = "conv";

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

}  // namespace

bool schedule_convolution(Builder& b) {
  const Block* block = b.block(kConv);
  if (block == nullptr || block->iterators.size() != 7 || !block->init) return false;
  const DType accumulator = block->writes.front().buffer->dtype;
  if (accumulator != DType::float32 && accumulator != DType::int32) return false;
  if (!conv_operands(*block).dense) return false;
  const std::int64_t channels_out = block->iterators[1].extent, height = block->iterators[2].extent,
                     width = block->iterators[3].extent;

  // Four bytes a lane: dot products need unsigned activations.
  const int lanes = b.cpu.lanes(4);
  if (accumulator == DType::int32) b.bound_accumulator(kConv, conv_operands(*block).w->name);
  const RegisterTile tile = choose_tile(width, channels_out, lanes, b.cpu);
  const bool dot = accumulator == DType::int32 && b.cpu.vnni && tile.lanes == lanes && b.shift_activations(kConv, 4);
  const ConvOperands operands = conv_operands(*b.block(kConv));
  const std::string x = operands.x->name, w = operands.w->name;
  const std::int64_t channels_in = operands.x->shape[1];
  const std::int64_t element_bytes = size_bytes(operands.x->dtype);
  // A producer that is written out by blocks of rows: the padded, shifted or packed input.
  std::string staged = b.block("pad") != nullptr ? "pad" : b.block("shifted") != nullptr ? "shifted" : "";

  // Rows of the image per block: enough work per pad, enough blocks for the threads, and the padded rows within half of
  // the second level.
  const std::int64_t row_bytes = operands.x->shape[3] * channels_in * element_bytes;
  const std::int64_t stride = std::max<std::int64_t>(1, operands.x->shape[2] / height);
  const std::int64_t fitting = std::max<std::int64_t>(1, b.cpu.l2_bytes / 2 / row_bytes / stride);
  const std::int64_t rows = largest_divisor(height, std::min(fitting, std::max<std::int64_t>(1, height / 4)));
  const bool few_rows = height / rows < 4;

  const std::string last = b.gather_epilogue(kConv, "register");
  const std::string result = b.written_by(kConv)->name;
  // Residual operands have the result's shape and follow its layout.
  const Shape result_shape = b.buffer(result)->shape;
  for (const Region& read : b.reads_of(last))
    if (read.buffer->name != result && read.buffer->shape == result_shape) b.lay_out(read.buffer->name, kChannelsLast);
  b.lay_out(b.written_by(last)->name, kChannelsLast);
  b.lay_out(result, kChannelsLast);
  b.lay_out(w, dot ? fmt::format("i0/{0},i2,i3,i1/4,i0%{0},i1%4", tile.columns)
                   : fmt::format("i0/{0},i2,i3,i1,i0%{0}", tile.columns));
  if (!staged.empty())
    for (const Region& read : b.reads_of(staged)) b.follow_layout(read.buffer->name);
  b.lay_out(x, kChannelsLast);
  // Pixels whose distance is a multiple of 2 KiB fall into the same sets of the first level: a packed copy lies in
  // steps of 64 bytes.
  const bool pack = staged.empty() && channels_in * element_bytes % 2048 == 0;
  if (pack) {
    staged = "packed";
    b.s.cache_read(kConv, x, "global", staged);
  }

  const auto [oo, oi] = b.tile("conv.o", tile.columns);
  const auto [yo, yi] = b.tile("conv.y", rows);
  const auto [xo, xi] = b.tile("conv.x", tile.rows);
  // Few rows of blocks: threads share the output channels instead, in pieces that are worth their own copy of the
  // input.
  std::string threads, inner_o = oo;
  if (few_rows && !oo.empty())
    std::tie(threads, inner_o) = b.tile(oo, largest_divisor(b.extent(oo), std::max<std::int64_t>(1, b.extent(oo) / 4)));
  if (dot) {
    const auto [co, ci] = b.tile("conv.c", 4);
    const auto [ov, ol] = b.tile(oi, tile.lanes);
    b.reorder({"conv.n", yo, threads, inner_o, yi, xo, "conv.ky", "conv.kx", co, xi, ov, ol, ci});
  } else {
    b.reorder({"conv.n", yo, threads, inner_o, yi, xo, "conv.ky", "conv.kx", "conv.c", xi, oi});
  }
  const std::vector<std::string> end = b.own_loops(last);
  b.s.reverse_compute_at(last, !xo.empty() ? xo : yi);  // where a register tile is complete
  if (!staged.empty()) b.s.compute_at(staged, !threads.empty() ? threads : !yo.empty() ? yo : "conv.n");
  if (pack) b.lay_out(staged, "i3/16,i0,i1,i2,i3%16");  // from [n, y, x, c]
  b.s.decompose_reduction(kConv, "conv.ky", "conv.init");
  if (!b.s.status().ok()) return true;

  // The three nests of the tile: start, sum, epilogue (its loops n, o, y, x keep their names, and those of one
  // iteration are gone).
  b.unroll(b.existing(xi));
  if (dot) {
    const std::vector<std::string> sum = b.loops_of(kConv);
    const std::string vector = sum[sum.size() - 2], vectors = sum[sum.size() - 3];
    if (vectors != xi && tile.vectors > 1) b.unroll(vectors);
    b.s.tensorize(vector, "x86.vpdpbusd");
  } else {
    b.unroll(b.vectorize(oi, tile.lanes));
  }
  const std::vector<std::string> init = b.own_loops("conv.init");
  for (std::size_t i = 0; i + 1 < init.size(); ++i) b.unroll(init[i]);
  if (dot) {
    b.s.vectorize(init.back());
  } else {
    b.unroll(b.vectorize(init.back(), tile.lanes));
  }
  b.reorder({b.existing(end[3]), b.existing(end[1])});
  b.unroll(b.existing(end[3])), b.unroll(b.vectorize(end[1], tile.lanes));
  if (staged == "pad") {
    b.reorder({b.existing("pad.y"), b.existing("pad.x"), b.existing("pad.c")});
    b.vectorize("pad.c", vector_lanes(channels_in, b.cpu.lanes(static_cast<int>(element_bytes))));
  } else if (!staged.empty()) {
    const std::vector<std::string> copy = b.own_loops(staged);  // n, y, x, c
    std::vector<std::string> order;
    for (const std::string& loop : copy)
      if (!loop.ends_with(".1") || pack) order.push_back(loop);
    if (!pack && b.extent("shifted.1") > 1) order.push_back("shifted.1");
    b.reorder(order);
    b.vectorize(order.back(),
                vector_lanes(b.extent(order.back()), pack ? 16 : b.cpu.lanes(static_cast<int>(element_bytes))));
  }
  b.parallel({"conv.n", yo, threads});
  return true;
}

}  // namespace dovetail::cpu
