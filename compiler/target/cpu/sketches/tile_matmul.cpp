// Matrix products of bytes in tile registers, with a constant right operand, stored in the order in which tiles are
// loaded: [n / 16][k / 4][16][4]. A tile of sums is up to 16 rows times 16 columns. The panel of a block of columns
// stays in the cache while the rows pass over it.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/target/cpu/sketches/sketches.h"
#include "compiler/target/cpu/sketches/tiles.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kTiledGemm = "gemm";

// sum + int32(x[.., m, k]) * int32(w[n, k]) of bytes, w constant; or w[k, n].
struct ByteProduct {
  Buffer x, w;
  bool n_last = false;
  std::size_t m = 0;  // iterator; n and k are the next two
  std::int64_t rows = 0, columns = 0, depth = 0;

  EvenPieces row_tiles() const { return even_pieces(rows, kTileRows); }
  EvenPieces quads() const { return even_pieces((depth + kDotBytes - 1) / kDotBytes, kTileRowBytes / kDotBytes); }
  Extents whole_tiles() const {
    return {{m, row_tiles().extent()},
            {m + 1, even_pieces(columns, kTileLanes).count * kTileLanes},
            {m + 2, kDotBytes * quads().extent()}};
  }
  TileShape tile() const { return {row_tiles().size, quads().size, quads().count, x->dtype}; }
};

std::optional<ByteProduct> byte_product(const Program& program, const Block* block) {
  if (block == nullptr || block->iterators.size() < 3 || !block->init ||
      block->iterators.back().kind != IterKind::reduce || block->writes.front().buffer->dtype != DType::int32)
    return std::nullopt;
  const auto loads = byte_factors(*block);
  if (!loads) return std::nullopt;
  const auto& [x, w] = *loads;
  ByteProduct p{x.buffer, w.buffer};
  p.m = block->iterators.size() - 3;
  const auto is = [&](const Expr& index, std::size_t iterator) {
    const auto* n = std::get_if<VarRef>(&index->node);
    return n != nullptr && n->var == block->iterators[iterator].var;
  };
  const bool constant = std::ranges::any_of(program.parameters, [&](const Parameter& parameter) {
    return parameter.buffer == w.buffer && parameter.role == ParameterRole::constant;
  });
  if (!constant || w.indices.size() != 2 || x.indices.size() != p.m + 2 || !is(x.indices[p.m], p.m) ||
      !is(x.indices[p.m + 1], p.m + 2))
    return std::nullopt;
  p.n_last = is(w.indices[1], p.m + 1);
  if (!is(w.indices[p.n_last ? 1 : 0], p.m + 1) || !is(w.indices[p.n_last ? 0 : 1], p.m + 2)) return std::nullopt;
  p.rows = block->iterators[p.m].extent;
  p.columns = block->iterators[p.m + 1].extent;
  p.depth = block->iterators[p.m + 2].extent;
  return p;
}

class TileMatmul {
 public:
  TileMatmul(schedule::Context& c, const Cpu& cpu, ByteProduct product)
      : c_(c), cpu_(cpu), p_(std::move(product)), tile_(p_.tile()) {}

  bool schedule() {
    const std::vector<std::string> loops = c_.own_loops(kTiledGemm);
    if (loops.size() != p_.m + 3) return false;
    batch_ = {loops.begin(), loops.end() - 3};
    m_ = loops[p_.m], n_ = loops[p_.m + 1], k_ = loops[p_.m + 2];
    choose_blocks();
    lay_out();
    if (!cut_loops()) return false;
    place_blocks();
    if (!c_.s.status().ok()) return true;
    tensorize();
    schedule_results();
    vectorize_copy();
    std::vector<std::string> threads = batch_;
    threads.push_back(mo_.empty() && c_.extent(batch_.empty() ? "" : batch_.front()) == 1 ? no_ : mo_);
    c_.parallel(threads);
    return true;
  }

 private:
  // Rows of a block: its part of the left operand within half of the second-level cache. If there are many, threads
  // share the columns, since each block of rows fetches all weights again.
  void choose_blocks() {
    const std::int64_t tiles = p_.row_tiles().count, columns = p_.columns / kTileLanes;
    const std::int64_t fitting = std::max<std::int64_t>(1, cpu_.l2_bytes / 2 / (p_.depth * tile_.rows));
    const std::int64_t most = columns >= 8 ? tiles : std::max<std::int64_t>(2, tiles / 4);
    tiles_ = c_.sample("block_tiles", divisors(tiles), largest_divisor(tiles, std::min(fitting, most)));
    block_ = sample_tile_block(c_, 1, tiles_, columns, tile_, cpu_);
  }

  void lay_out() {
    follow_layouts(c_);
    if (c_.block("pad") != nullptr) staged_ = "pad";
    const char *n = p_.n_last ? "i1" : "i0", *k = p_.n_last ? "i0" : "i1";
    c_.lay_out(p_.w->name, fmt::format("{0}/{2},{1}/{3},{0}%{2},{1}%{3}", n, k, kTileLanes, kDotBytes));
    blocks_ = stage_tiles(c_, kTiledGemm, p_.x->name, p_.w->name, last_);
  }

  // False if there is only one block of tiles, and so no loop at which it could be completed.
  bool cut_loops() {
    const auto [m_tiles, mi] = c_.tile(m_, tile_.rows);
    const auto [mo, mb] = c_.tile(m_tiles, tiles_);
    const auto [mm, mt] = cut(c_, mb, block_.across);
    const auto [n_tiles, ni] = c_.tile(n_, kTileLanes);
    const auto [no, nt] = cut(c_, n_tiles, block_.columns);
    const auto [ko, block] = c_.tile(k_, kDotBytes * tile_.quads);
    const auto [quads, bytes] = c_.tile(block, kDotBytes);
    mo_ = mo, no_ = no;
    const bool rows_first = !no.empty() && !mm.empty() && c_.sample("tile_order", {"nm", "mn"}, "nm") == "mn";
    std::vector<std::string> order = batch_;
    order.insert(order.end(), {mo, rows_first ? mm : no, rows_first ? no : mm});
    std::erase(order, "");
    if (order.empty()) return false;
    at_ = order.back();
    step_ = ko.empty() ? at_ : ko;
    sums_ = {{mt, nt}, {mi, ni, quads, bytes}};
    std::vector<std::string> tile{ko, mt, nt, mi, ni, quads, bytes};
    std::erase(tile, "");
    first_ = tile.front();
    order.insert(order.end(), tile.begin(), tile.end());
    c_.reorder(order);
    return true;
  }

  void place_blocks() {
    c_.s.reverse_compute_at(blocks_.store, at_);
    if (last_ != blocks_.store) c_.s.reverse_compute_at(last_, at_);
    c_.s.decompose_reduction(kTiledGemm, first_, "gemm.init");
    c_.s.compute_at(blocks_.right, step_);
    c_.s.compute_at(blocks_.left, step_);
    if (!staged_.empty() && !mo_.empty()) c_.s.compute_at(staged_, mo_);
  }

  void tensorize() {
    const auto loop = [](const std::string& block, std::size_t dimension) {
      return fmt::format("{}.{}", block, dimension);
    };
    const auto sums = [&](TileOperation operation) {
      return TileIntrinsic{operation, DType::int32, tile_.rows, kTileLanes};
    };
    tensorize_tiles(c_, sums_, {TileOperation::multiply, tile_.bytes, tile_.rows, tile_.quads});
    const std::vector<std::string> start = c_.own_loops("gemm.init");
    if (start.size() >= 2)
      tensorize_tiles(c_, {{start.begin(), start.end() - 2}, {start.end() - 2, start.end()}},
                      sums(TileOperation::zero));
    {  // [.., m, k]
      const auto [mt, mi] = c_.tile(loop(blocks_.left, p_.m), tile_.rows);
      const auto [quads, bytes] = c_.tile(loop(blocks_.left, p_.m + 1), kDotBytes);
      tensorize_tiles(c_, {{mt}, {mi, quads, bytes}}, {TileOperation::load, tile_.bytes, tile_.rows, tile_.quads});
    }
    // [n / 16, k / 4, 16, 4]
    tensorize_tiles(
        c_, {{loop(blocks_.right, 0)}, {loop(blocks_.right, 1), loop(blocks_.right, 2), loop(blocks_.right, 3)}},
        {TileOperation::load, DType::int8, tile_.quads, kTileLanes});
    {  // [.., m, n]
      const auto [mt, mi] = c_.tile(loop(blocks_.store, p_.m), tile_.rows);
      const auto [nt, ni] = c_.tile(loop(blocks_.store, p_.m + 1), kTileLanes);
      tensorize_tiles(c_, {{mt, nt}, {mi, ni}}, sums(TileOperation::store));
    }
  }

  // Vectors of columns, row by row.
  void schedule_results() {
    if (last_ == blocks_.store) return;
    const std::vector<std::string> loops = c_.own_loops(last_);
    if (!loops.empty())
      c_.unroll(c_.vectorize(loops.back(), vector_lanes(c_.extent(loops.back()), static_cast<int>(kTileLanes))));
  }

  void vectorize_copy() {
    if (staged_.empty() || c_.own_loops(staged_).empty()) return;
    const std::string innermost = c_.own_loops(staged_).back();
    c_.vectorize(innermost, vector_lanes(c_.extent(innermost), cpu_.lanes(1)));
  }

  schedule::Context& c_;
  const Cpu& cpu_;
  ByteProduct p_;
  TileShape tile_;
  TileBlock block_{};
  std::int64_t tiles_ = 1;  // rows of tiles per block
  TileBlocks blocks_;
  std::string staged_, last_;  // the extended left operand, if any; the block after the sums
  // Loops: of the product; blocks of rows and of columns; the innermost loop around a block of tiles, the one around
  // the calls of one step of the sum, and the outermost one inside a block.
  std::vector<std::string> batch_;
  std::string m_, n_, k_, mo_, no_, at_, step_, first_;
  TileNest sums_;
};

}  // namespace

void prepare_tile_matmul(Preparation& p) {
  if (p.cpu.tile_registers == 0 || p.block(kTiledGemm) == nullptr) return;
  p.drop_zero_point(kTiledGemm);
  const auto product = byte_product(p.task.program, p.block(kTiledGemm));
  if (!product || product->columns < kFewestColumns || !worth_tiles(product->tile(), p.cpu)) return;
  p.bound_accumulator(kTiledGemm, product->w->name);
  p.extend_product(kTiledGemm, product->whole_tiles());
}

bool sketch_tile_matmul(schedule::Context& c, const Cpu& cpu) {
  const Block* block = c.block(kTiledGemm);
  const auto product = byte_product(c.task.program, block);
  if (!product || !worth_tiles(product->tile(), cpu)) return false;
  for (const auto& [iterator, extent] : product->whole_tiles())
    if (block->iterators[iterator].extent != extent) return false;
  return TileMatmul(c, cpu, *product).schedule();
}

}  // namespace dovetail::cpu
