// Depthwise convolution and pooling: each channel by itself. Channels lie in lanes, the window is unrolled, and a
// register tile holds neighbouring pixels of a row, whose windows share most of their elements. Padding becomes a
// condition on the element, which peeling takes out of all tiles but those at the border.
#include <algorithm>

#include "compiler/target/cpu/schedules/schedules.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kMostTaps = 64;

// Neighbouring results read neighbouring channels: false where several results share one (a channel multiplier).
bool channels_in_step(const Block& block) {
  const VarNode* channel = block.iterators[1].var.get();
  bool in_step = true;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto divides = [](BinaryOp op) { return op == BinaryOp::floor_div || op == BinaryOp::floor_mod; };
    const auto* binary = std::get_if<Binary>(&e->node);
    if (binary == nullptr || !divides(binary->op)) return;
    visit_exprs(binary->a, [&](const Expr& i) {
      const auto* n = std::get_if<VarRef>(&i->node);
      in_step &= n == nullptr || n->var.get() != channel;
    });
  });
  return in_step;
}

// The block that reduces windows: [n, channel, y, x] spatial, the window's axes last.
std::string window_block(const Builder& b) {
  for (const std::string& name : b.blocks()) {
    const Block& block = *b.block(name);
    if (!block.init) continue;
    const auto spatial = std::count_if(block.iterators.begin(), block.iterators.end(),
                                       [](const Iterator& i) { return i.kind == IterKind::spatial; });
    std::int64_t taps = 1;
    for (std::size_t i = 4; i < block.iterators.size(); ++i) taps *= block.iterators[i].extent;
    const std::size_t axes = block.iterators.size();
    // A convolution has its input channels first among the reduced axes: depthwise is one.
    const bool one_channel = axes == 6 || (axes == 7 && block.iterators[4].extent == 1);
    return spatial == 4 && one_channel && taps <= kMostTaps && channels_in_step(block) ? name : "";
  }
  return "";
}

}  // namespace

bool schedule_window(Builder& b) {
  const std::string main = window_block(b);
  if (main.empty()) return false;
  if (main == "conv" && b.written_by(main)->dtype == DType::int32)
    for (const Region& read : b.reads_of(main))
      b.bound_accumulator(main, read.buffer->name);  // the one that is a parameter holds the weights
  const Block& block = *b.block(main);
  const std::int64_t channels = block.iterators[1].extent, width = block.iterators[3].extent;
  if (width == 1 || channels < 4) return false;
  const std::vector<std::string> loops = b.own_loops(main);  // n, channel, y, x, then the window
  const std::vector<std::string> window(loops.begin() + 4, loops.end());
  const std::int64_t lanes = vector_lanes(channels, b.cpu.lanes(size_bytes(block.writes.front().buffer->dtype)));

  b.attempt("inline", {"pad"});
  const std::string last = b.gather_epilogue(main, "register");
  const std::string result = b.written_by(main)->name;
  const Shape result_shape = b.buffer(result)->shape;
  std::vector<std::string> images;
  for (const std::string& name : b.blocks())
    for (const auto* regions : {&b.block(name)->reads, &b.block(name)->writes})
      for (const Region& region : *regions)
        if (region.buffer->shape.size() == 4) images.push_back(region.buffer->name);
  for (const std::string& name : images) {
    const Shape& shape = b.buffer(name)->shape;
    const bool weights = main == "conv" && shape[0] == channels && shape[1] == 1 && name != result && channels > 1 &&
                         shape != result_shape;
    b.lay_out(name, weights ? "i2,i3,i1,i0" : kChannelsLast);
  }

  // Rows of the tile: as many as leave registers for the window's elements.
  const std::int64_t rows = choose_rows(width, b.cpu.vector_registers / 3);
  const auto [co, ci] = b.tile(loops[1], lanes);
  const auto [xo, xi] = b.tile(loops[3], rows);
  std::vector<std::string> order{loops[0], loops[2], co, xo};
  order.insert(order.end(), window.begin(), window.end());
  order.push_back(xi), order.push_back(ci);
  b.reorder(order);
  const std::vector<std::string> end = b.own_loops(last);
  b.s.reverse_compute_at(last, !xo.empty() ? xo : !co.empty() ? co : loops[2]);
  b.s.decompose_reduction(main, window.front(), main + ".init");
  if (!b.s.status().ok()) return true;
  for (const std::string& loop : window) b.unroll(loop);
  b.unroll(b.existing(xi)), b.vectorize(ci, lanes);
  const std::vector<std::string> init = b.own_loops(main + ".init");
  for (std::size_t i = 0; i + 1 < init.size(); ++i) b.unroll(init[i]);
  b.vectorize(init.back(), lanes);
  schedule_epilogue(b, end[3], end[1], lanes);
  b.parallel({loops[0], loops[2]});
  return true;
}

}  // namespace dovetail::cpu
