// Depthwise convolution and pooling, in one to three dimensions: each channel separately. Channels are in lanes, the
// window is unrolled, and a register tile holds neighboring pixels of a row, whose windows share most elements. Padding
// becomes a condition on the element, which peeling removes from all tiles except those at the border.
#include <algorithm>

#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/sketches/conv_operands.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kMostTaps = 64;

// Whether neighboring results read neighboring channels: false if several results share one (a channel multiplier).
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

// The weights of each channel's window: read by `block` at the same place for every pixel of a row. Empty: none.
std::string weights_of(const Block& block, std::size_t rank) {
  const VarNode* column = block.iterators[rank - 1].var.get();
  for (const Region& read : block.reads) {
    bool moves = false;
    for (const RangeExpr& range : read.ranges)
      visit_exprs(range.min, [&](const Expr& e) {
        const auto* n = std::get_if<VarRef>(&e->node);
        moves |= n != nullptr && n->var.get() == column;
      });
    if (!moves && read.buffer->shape.size() == rank) return read.buffer->name;
  }
  return "";
}

// The block that reduces windows: [n, channel, .., x] spatial, the window's axes last. Null if there is none.
const Block* window_block(const Program& program) {
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const Block& block = *schedule::as_block(path.back());
    if (!block.init) continue;
    const auto spatial = static_cast<std::size_t>(
        std::ranges::count_if(block.iterators, [](const Iterator& i) { return i.kind == IterKind::spatial; }));
    const std::size_t rank = block.writes.front().buffer->shape.size(), axes = block.iterators.size();
    if (!may_be_image(rank) || spatial != rank) return nullptr;
    std::int64_t taps = 1;
    for (std::size_t i = rank; i < axes; ++i) taps *= block.iterators[i].extent;
    // A convolution with input channels first among the reduced axes: depthwise has one.
    const std::size_t plane = rank - 2;
    const bool one_channel = axes == rank + plane || (axes == rank + plane + 1 && block.iterators[rank].extent == 1);
    return one_channel && taps <= kMostTaps && channels_in_step(block) ? &block : nullptr;
  }
  return nullptr;
}

}  // namespace

void prepare_window(Preparation& p) {
  const Block* block = window_block(p.task.program);
  if (block == nullptr || block->name != "conv" || block->writes.front().buffer->dtype != DType::int32) return;
  std::vector<Region> images = block->reads;  // a parameter holds the weights
  const std::size_t rank = block->writes.front().buffer->shape.size();
  const std::int64_t channels = block->iterators[1].extent;
  std::erase_if(images, [&](const Region& read) { return read.buffer->shape.size() != rank; });
  for (const Region& read : images) p.bound_accumulator("conv", read.buffer->name);
  // One instruction for a product of words and its sum; else float instructions, if these are exact.
  if (p.cpu.adds_words(vector_lanes(channels, p.cpu.lanes(4)))) {
    p.drop_zero_point("conv");
    p.start_with_bias("conv");
    return;
  }
  for (const Region& read : images) p.sum_in_floats("conv", read.buffer->name);
}

bool sketch_window(schedule::Context& c, const Cpu& cpu) {
  const Block* found = window_block(c.task.program);
  if (found == nullptr) return false;
  const Block& block = *found;
  const std::string main = block.name;
  const std::size_t rank = block.writes.front().buffer->shape.size();
  const std::int64_t channels = block.iterators[1].extent, width = block.iterators[rank - 1].extent;
  if (width == 1 || channels < 4) return false;
  const std::vector<std::string> loops = c.own_loops(main);  // n, channel, .., x, then the window
  const auto last_spatial = loops.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  const std::vector<std::string> window(last_spatial + 1, loops.end());
  const std::int64_t lanes = vector_lanes(channels, cpu.lanes(size_bytes(block.writes.front().buffer->dtype)));

  c.attempt("inline", {"pad"});
  const std::string last = c.gather_epilogue(main, "register");
  const std::string weights = weights_of(block, rank);
  std::vector<std::string> images;  // a layout changes the shape, so each is handled once
  for (const std::string& name : c.blocks())
    for (const auto* regions : {&c.block(name)->reads, &c.block(name)->writes})
      for (const Region& region : *regions)
        if (region.buffer->shape.size() == rank && std::ranges::find(images, region.buffer->name) == images.end())
          images.push_back(region.buffer->name);
  for (const std::string& name : images) {
    const Shape& shape = c.buffer(name)->shape;
    const bool by_channel = name == weights && shape[0] == channels && shape[1] == 1;
    c.lay_out(name, by_channel ? weights_by_channel(rank) : channels_last(rank));
  }

  // Rows of the tile: as many as leave registers for the window's elements.
  const std::int64_t rows = sample_rows(c, width, cpu.vector_registers / 3, cpu.vector_registers - 4);
  std::vector<std::int64_t> columns;  // whole vectors
  for (std::int64_t vectors = 1; vectors <= 4; vectors *= 2)
    if (channels % (vectors * lanes) == 0) columns.push_back(vectors * lanes);
  if (columns.empty()) columns.push_back(lanes);
  // Channels or pixels first: weights stay in registers for the pixels of a row; without weights, images are read and
  // written in memory order, two lines at a time.
  const bool pools = weights.empty();
  const std::int64_t wide = pools && columns.size() > 1 ? columns[1] : lanes;
  const auto [co, ci] = c.tile(loops[1], columns.size() == 1 ? lanes : c.sample("tile_columns", columns, wide));
  const auto [xo, xi] = c.tile(*last_spatial, rows);
  const bool pixels_first =
      !co.empty() && !xo.empty() && c.sample("tile_order", {"cx", "xc"}, pools ? "xc" : "cx") == "xc";
  std::vector<std::string> shared{loops[0]};  // shared among threads
  shared.insert(shared.end(), loops.begin() + 2, last_spatial);
  if (rank == 3) shared.push_back(pixels_first ? xo : co);
  std::vector<std::string> order = shared;
  if (rank != 3) order.push_back(pixels_first ? xo : co);
  order.push_back(pixels_first ? co : xo);
  order.insert(order.end(), window.begin(), window.end());
  order.push_back(xi), order.push_back(ci);
  c.reorder(order);
  const std::vector<std::string> end = c.own_loops(last);
  c.s.reverse_compute_at(last, pixels_first  ? co
                               : !xo.empty() ? xo
                               : !co.empty() ? co
                               : rank == 3   ? loops[0]
                                             : *(last_spatial - 1));
  c.s.decompose_reduction(main, window.front(), main + ".init");
  if (!c.s.status().ok()) return true;
  for (const std::string& loop : window) c.unroll(loop);
  c.unroll(c.existing(xi)), c.unroll(c.vectorize(ci, lanes));
  const std::vector<std::string> init = c.own_loops(main + ".init");
  for (std::size_t i = 0; i + 1 < init.size(); ++i) c.unroll(init[i]);
  c.unroll(c.vectorize(init.back(), lanes));
  schedule_epilogue(c, end[rank - 1], end[1], lanes);
  c.parallel(shared);
  return true;
}

}  // namespace dovetail::cpu
