// Convolution with few output channels in float32: these would leave most lanes of a vector idle, so lanes are pixels
// of a row. A register tile holds some output channels times whole vectors of pixels over the whole reduction; its
// weights are broadcast. The input is copied, a block of rows at a time, to rows of one channel with padding;
// channels-last input is transposed in the process. Sums are added in the order of the definition.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compiler/target/cpu/codegen/transpose_loads.h"
#include "compiler/target/cpu/sketches/conv_operands.h"
#include "compiler/target/cpu/sketches/nest.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kSums = "conv";
constexpr double kCyclesOfCopy = 0.5;         // per input element, transposed
constexpr double kCyclesOfCrowdedCopy = 1.5;  // if the rows of the channels map to few sets of the first-level cache
constexpr double kRequiredShare = 0.8;        // relative to the cycles of a tile whose lanes are output channels

// Whether neighboring pixels of a row read neighboring elements.
bool reads_in_step(const Block& block, const Buffer& x, std::size_t rank) {
  const VarNode* column = block.iterators[rank - 1].var.get();
  bool in_step = true;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer != x) return;
    const auto index = affine(load->indices.back());
    in_step &= index && index->coefficients.contains(column) && index->coefficients.at(column) == 1;
  });
  return in_step;
}

// [n, .., channel, x]: the rows of the channels one after another.
std::string rows_by_channel(std::size_t rank) {
  std::string layout = "i0";
  for (std::size_t d = 2; d + 1 < rank; ++d) layout += fmt::format(",i{}", d);
  return layout + fmt::format(",i1,i{}", rank - 1);
}

// In the order of the reduction, output channels contiguous.
std::string weights_by_step(std::size_t rank) {
  std::string layout;
  for (std::size_t d = 1; d < rank; ++d) layout += fmt::format("i{},", d);
  return layout + "i0";
}

class PixelConvolution {
 public:
  PixelConvolution(schedule::Context& c, const Cpu& cpu) : c_(c), cpu_(cpu) {}

  bool schedule() {
    if (!recognize()) return false;
    tile_ = sample_register_tile(c_, by_pixel_, cpu_, [this](std::int64_t columns) { return copied(columns); });
    lay_out();
    cut_into_tiles();
    if (!c_.s.status().ok()) return true;
    schedule_sums(c_, kSums, oi_, xi_, tile_, cpu_, false);
    schedule_epilogue(c_, end_[1], end_[rank_ - 1], tile_.lanes);
    vectorize_copy();
    c_.parallel(shared_);
    return true;
  }

 private:
  bool recognize() {
    const Block* block = c_.block(kSums);
    if (!is_convolution(block) || block->predicate || block->writes.front().buffer->dtype != DType::float32)
      return false;
    operands_ = conv_operands(*block);
    rank_ = operands_.x->shape.size();
    if (operands_.groups != 1 || operands_.split || !reads_in_step(*block, operands_.x, rank_)) return false;
    const std::vector<std::string> loops = c_.own_loops(kSums);  // n, o, spatial, c, kernel
    if (loops.size() != block->iterators.size()) return false;
    spatial_ = {loops.begin() + 2, loops.begin() + static_cast<std::ptrdiff_t>(rank_)};
    reduction_ = {loops.begin() + static_cast<std::ptrdiff_t>(rank_), loops.end()};
    const std::int64_t width = c_.extent(spatial_.back()), outputs = operands_.outputs();
    std::int64_t window = 1;
    for (std::size_t i = 1; i < reduction_.size(); ++i) window *= c_.extent(reduction_[i]);
    const std::int64_t steps = operands_.inputs() * window;
    by_pixel_ = {outputs, width, steps, window, false, true};
    const double pixels = least_cycles(by_pixel_, cpu_, [this](std::int64_t columns) { return copied(columns); });
    TiledProduct by_channel{width, outputs, steps, window};
    by_channel.columns = tileable_columns(by_channel, cpu_);
    return pixels < kRequiredShare * least_cycles(by_channel, cpu_);
  }

  // Cycles for copying a row with tiles of this many pixels: its rows end at a whole tile. The result is also copied:
  // most consumers read it channels-last.
  double copied(std::int64_t columns) const {
    const std::int64_t inputs = operands_.inputs(), lanes = cpu_.lanes(4), width = by_pixel_.columns;
    const std::int64_t row = operands_.x->shape.back() + (width + columns - 1) / columns * columns - width;
    const std::int64_t bytes = (row + lanes - 1) / lanes * lanes * size_bytes(DType::float32);
    const double each = crowds_sets(bytes, inputs, cpu_) ? kCyclesOfCrowdedCopy : kCyclesOfCopy;
    return each * static_cast<double>(width * inputs) +
           kCyclesOfCopy * static_cast<double>(width * operands_.outputs());
  }

  void lay_out() {
    const std::string x = operands_.x->name;
    last_ = c_.gather_epilogue(kSums, "register");
    c_.lay_out(operands_.w->name, weights_by_step(rank_));
    staged_ = "pad";
    if (c_.block(staged_) == nullptr) {
      staged_ = "rows";
      c_.s.cache_read(kSums, x, "global", staged_);
    }
    const std::vector<Region> reads = c_.reads_of(staged_);
    for (const Region& read : reads) {
      c_.follow_layout(read.buffer->name);
      const auto asked = c_.task.layouts.find(read.buffer->name);
      transposed_ |= asked != c_.task.layouts.end() && asked->second == channels_last(rank_);
    }
    c_.lay_out(c_.written_by(staged_)->name, rows_by_channel(rank_));
  }

  void cut_into_tiles() {
    const auto [oo, oi] = c_.tile("conv.o", tile_.rows);
    const auto [xo, xi] = c_.tile(spatial_.back(), tile_.columns);
    oi_ = oi, xi_ = xi;
    shared_ = {"conv.n"};
    std::string row;  // rows of a block
    if (spatial_.size() > 1) {
      const std::string& rows = spatial_[spatial_.size() - 2];
      const std::int64_t height = c_.extent(rows);
      const auto [bo, bi] =
          c_.tile(rows, c_.sample("block_rows", block_sizes(height), block_size(height, rows_of_a_block(height))));
      for (std::size_t i = 0; i + 2 < spatial_.size(); ++i) shared_.push_back(spatial_[i]);
      shared_.push_back(bo);
      row = bi;
    }
    std::vector<std::string> order = shared_, tiles{row, xo, oo};
    std::erase(tiles, "");
    order.insert(order.end(), tiles.begin(), tiles.end());
    order.insert(order.end(), reduction_.begin(), reduction_.end());
    order.push_back(oi_), order.push_back(xi_);
    c_.reorder(order);
    std::erase(shared_, "");
    end_ = c_.own_loops(last_);
    c_.s.reverse_compute_at(last_, tiles.empty() ? shared_.back() : tiles.back());
    c_.s.compute_at(staged_, shared_.back());
    c_.s.decompose_reduction(kSums, reduction_.front(), "conv.init");
  }

  // The padded rows within a quarter of the second-level cache, and enough blocks for the threads.
  std::int64_t rows_of_a_block(std::int64_t height) const {
    const Shape& x = operands_.x->shape;
    const std::int64_t row_bytes = x.back() * operands_.inputs() * size_bytes(DType::float32);
    const std::int64_t stride = std::max<std::int64_t>(1, x[rank_ - 2] / height);
    return std::clamp<std::int64_t>(cpu_.l2_bytes / 4 / row_bytes / stride, 1, (height + 3) / 4);
  }

  // From channels-last rows: lines of channels become elements of as many rows.
  void vectorize_copy() {
    std::vector<std::string> loops = c_.own_loops(staged_);  // n, c, .., x, if they have several iterations
    const Block& block = *c_.block(staged_);
    const auto loop_of = [&](std::size_t iterator) -> std::string {
      std::string found;
      visit_exprs(block.iterators[iterator].binding, [&](const Expr& e) {
        const auto* n = std::get_if<VarRef>(&e->node);
        if (n != nullptr && std::ranges::find(loops, n->var->name) != loops.end()) found = n->var->name;
      });
      return c_.existing(found);
    };
    const std::string channel = loop_of(1), column = loop_of(rank_ - 1);
    if (column.empty()) return;
    std::erase(loops, channel), std::erase(loops, column);
    std::vector<std::string> order = c_.present(loops);
    const std::int64_t bytes = size_bytes(DType::float32);
    const bool across = transposed_ && c_.extent(channel) >= kFewestLanes;
    const auto [lines, line] =
        across ? c_.tile(channel, cpu_.cache_line_bytes / bytes) : std::pair(channel, std::string());
    const auto [parts, element] =
        across ? c_.tile(line, kTransposedBytes / bytes) : std::pair(std::string(), std::string());
    const auto [pieces, lane] = c_.tile(column, cpu_.lanes(4));
    for (const std::string& loop : {pieces, lines, parts, element, lane}) order.push_back(loop);
    c_.reorder(order);
    c_.unroll(element);
    c_.vectorize(lane, cpu_.lanes(4));
  }

  schedule::Context& c_;
  const Cpu& cpu_;
  ConvOperands operands_;
  std::size_t rank_ = 0;                          // rank of the images
  std::vector<std::string> spatial_, reduction_;  // loops, outermost first
  TiledProduct by_pixel_{};                       // rows are output channels, columns pixels
  RegisterTile tile_{};
  std::string staged_;                     // the copy of the input
  bool transposed_ = false;                // the copy is made from channels-last input
  std::string last_;                       // the block after the sums
  std::string oi_, xi_;                    // loops of the tile
  std::vector<std::string> shared_, end_;  // loops around a block of rows, outermost first; loops of the epilogue
};

}  // namespace

void prepare_pixel_convolution(Preparation& /*p*/) {}

bool sketch_pixel_convolution(schedule::Context& c, const Cpu& cpu) { return PixelConvolution(c, cpu).schedule(); }

}  // namespace dovetail::cpu
