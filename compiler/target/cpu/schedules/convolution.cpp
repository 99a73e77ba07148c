// Dense 2-D convolution. Activations are channels-last, weights [o / columns][ky][kx][c][columns]. A register tile holds `rows` neighbouring pixels of
// one output row times `columns` output channels over the whole reduction; padding is written out for a block of rows at a time, where it
// stays in the cache while all output channels use it.
#include <fmt/format.h>

#include "compiler/target/cpu/schedules/schedules.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kMain = "conv";

// The loads of the product x[n, c, ..] * w[o, c, ky, kx] in the block's body.
struct Operands {
  const LoadExpr* x = nullptr;
  const LoadExpr* w = nullptr;
};
Operands operands_of(const Block& block) {
  Operands result;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer == block.writes.front().buffer) return;
    const auto* first = std::get_if<VarRef>(&load->indices[0]->node);
    if (load->indices.size() == 4 && first != nullptr) (first->var == block.iterators[1].var ? result.w : result.x) = load;
  });
  return result;
}

}  // namespace

bool schedule_convolution(Builder& b) {
  const Block* block = b.block(kMain);
  if (block == nullptr || block->iterators.size() != 7 || !block->init) return false;
  if (block->writes.front().buffer->dtype != DType::float32) return false;
  const Operands operands = operands_of(*block);
  if (operands.x == nullptr || operands.w == nullptr) return false;
  const auto* channel = std::get_if<VarRef>(&operands.x->indices[1]->node);
  if (channel == nullptr || channel->var != block->iterators[4].var) return false;  // grouped
  const std::string x = operands.x->buffer->name, w = operands.w->buffer->name;
  const bool padded = b.block("pad") != nullptr;
  const std::int64_t channels_out = block->iterators[1].extent, height = block->iterators[2].extent, width = block->iterators[3].extent;
  const std::int64_t channels_in = block->iterators[4].extent;

  const int lanes = b.cpu.lanes(4);
  const RegisterTile tile = choose_tile(width, channels_out, lanes, b.cpu);
  // Rows of the image per block: enough work per pad, enough blocks for the threads, and the padded rows within half of the second level.
  const Shape x_shape = operands.x->buffer->shape;
  const std::int64_t row_bytes = x_shape[3] * channels_in * 4;
  const std::int64_t stride = std::max<std::int64_t>(1, x_shape[2] / height);
  const std::int64_t fitting = std::max<std::int64_t>(1, b.cpu.l2_bytes / 2 / row_bytes / stride);
  const std::int64_t rows = largest_divisor(height, std::min(fitting, std::max<std::int64_t>(1, height / 4)));
  const bool few_rows = height / rows < 4;

  const std::string last = b.gather_epilogue(kMain, "register");
  const std::string result = b.written_by(kMain)->name;
  // Residual operands have the result's shape and follow its layout.
  const Shape result_shape = b.buffer(result)->shape;
  for (const Region& read : b.block(last)->reads)
    if (read.buffer->name != result && read.buffer->shape == result_shape) b.lay_out(read.buffer->name, kChannelsLast);
  b.lay_out(b.written_by(last)->name, kChannelsLast);
  b.lay_out(result, kChannelsLast);
  b.lay_out(w, fmt::format("i0/{0},i2,i3,i1,i0%{0}", tile.columns));
  if (padded) {
    for (const Region& read : b.block("pad")->reads) b.lay_out(read.buffer->name, b.given_layout(read.buffer->name));
  }
  b.lay_out(x, kChannelsLast);

  // Pixels whose distance is a multiple of 2 KiB fall into the same sets of the first level: a packed copy lies in steps of 64 bytes.
  const bool pack = !padded && channels_in % 512 == 0;
  if (pack) b.s.cache_read(kMain, x, "global", "packed");

  const auto [oo, oi] = b.tile("conv.o", tile.columns);
  const auto [yo, yi] = b.tile("conv.y", rows);
  const auto [xo, xi] = b.tile("conv.x", tile.rows);
  // Few rows of blocks: threads share the output channels instead, in pieces that are worth their own pad.
  std::string threads = oo, inner_o = oo;
  if (few_rows && !oo.empty()) {
    const auto [outer, inner] = b.tile(oo, std::max<std::int64_t>(1, b.extent(oo) / 4));
    threads = outer, inner_o = inner;
    if (outer.empty()) threads = "";
  } else {
    threads = "";
  }
  b.reorder({"conv.n", yo, threads, inner_o, yi, xo, "conv.ky", "conv.kx", "conv.c", xi, oi});
  // The loop in which a register tile is complete.
  const std::string at = !xo.empty() ? xo : yi;
  const std::vector<std::string> end = b.own_loops(last);
  b.s.reverse_compute_at(last, at);
  if (padded || pack) b.s.compute_at(padded ? "pad" : "packed", !threads.empty() ? threads : !yo.empty() ? yo : "conv.n");
  if (pack) b.lay_out("packed", "i3/16,i0,i1,i2,i3%16");  // from [n, y, x, c]
  b.s.decompose_reduction(kMain, "conv.ky", "conv.init");
  if (!b.s.status().ok()) return true;

  // The three nests of the tile: start, sum, epilogue (its loops n, o, y, x keep their names, and those of one iteration are gone).
  b.unroll(xi), b.unroll(b.vectorize(oi, tile.lanes));
  const std::vector<std::string> init = b.own_loops("conv.init");
  for (std::size_t i = 0; i + 1 < init.size(); ++i) b.unroll(init[i]);
  b.unroll(b.vectorize(init.back(), tile.lanes));
  b.reorder({b.existing(end[3]), b.existing(end[1])});
  b.unroll(b.existing(end[3])), b.unroll(b.vectorize(end[1], tile.lanes));
  if (padded) {
    b.reorder({b.existing("pad.y"), b.existing("pad.x"), b.existing("pad.c")});
    if (b.extent("pad.c") > 1) b.vectorize("pad.c", lanes);
  }
  if (pack) b.vectorize(b.own_loops("packed").back(), lanes);
  b.parallel({"conv.n", yo, threads});
  return true;
}

}  // namespace dovetail::cpu
