// Matrix products. A constant right operand is packed to [n / columns][k][columns]; a register tile holds `rows` x
// `columns` sums over all of k. The panel of columns stays in the second-level cache while a block of rows passes over
// it. A right operand that is computed from packed constants (dovetail.packed_gemm) is unpacked panel by panel, each by
// the thread that multiplies it.
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char *kGemm = "gemm", *kUnpack = "dequantize";
constexpr std::int64_t kManyPanelRows = 512;  // that pass over an unpacked panel

const VarNode* plain_index(const Expr& index) {
  const auto* n = std::get_if<VarRef>(&index->node);
  return n == nullptr ? nullptr : n->var.get();
}

// The operands of the product in the block's body: left with m and k, right with k and n.
struct GemmOperands {
  Buffer left, right;
  bool k_last_left = false, n_last_right = false;
};
GemmOperands gemm_operands(const Block& block) {
  const std::size_t axes = block.iterators.size();
  const VarNode *m = block.iterators[axes - 3].var.get(), *n = block.iterators[axes - 2].var.get(),
                *k = block.iterators[axes - 1].var.get();
  GemmOperands result;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer == block.writes.front().buffer || load->indices.size() < 2) return;
    const VarNode *last = plain_index(load->indices.back()),
                  *before = plain_index(load->indices[load->indices.size() - 2]);
    if ((last == m && before == k) || (last == k && before == m))
      result.left = load->buffer, result.k_last_left = last == k;
    if ((last == n && before == k) || (last == k && before == n))
      result.right = load->buffer, result.n_last_right = last == n;
  });
  return result;
}

// The constants [n, ..] from which block kUnpack computes the matrix `right`; empty: there is no such block.
std::vector<Buffer> constants_of_panels(const Program& program, const Buffer& right) {
  const auto path = schedule::find_block(program.body, kUnpack);
  const Block* block = path ? schedule::as_block(path->back()) : nullptr;
  if (block == nullptr || block->init || block->iterators.size() != 2 || block->writes.front().buffer != right)
    return {};
  std::vector<Buffer> constants;
  for (const Region& read : block->reads) {
    const bool constant = std::ranges::any_of(program.parameters, [&](const Parameter& parameter) {
      return parameter.buffer == read.buffer && parameter.role == ParameterRole::constant;
    });
    if (!constant || read.ranges.size() != 2 ||
        plain_index(read.ranges.front().min) != block->iterators.back().var.get())
      return {};
    constants.push_back(read.buffer);
  }
  return constants;
}

// A product, in the loops of its definition.
struct MatrixProduct {
  GemmOperands operands;
  bool integer = false;
  bool pack_right = false;         // a constant matrix
  std::vector<Buffer> panels;      // packed constants from which block kUnpack computes the right operand, if any
  std::vector<std::string> batch;  // loops
  std::string m, n, k;             // loops
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t stored_columns = 0;  // of the constants of panels, with padding; else all

  // Whether the processor's dot products can compute it if its extents are multiples of theirs; does not check the type
  // of the left operand.
  bool suits_dot_products(const Cpu& cpu) const {
    return integer && 2 * columns >= cpu.lanes(4) && pack_right && operands.k_last_left &&
           operands.right->dtype == DType::int8;
  }
};

// nullopt if block gemm is not suitable for register tiles.
std::optional<MatrixProduct> product_of(const Program& program) {
  const auto path = schedule::find_block(program.body, kGemm);
  const Block* block = path ? schedule::as_block(path->back()) : nullptr;
  if (block == nullptr || !block->init) return std::nullopt;
  const DType accumulator = block->writes.front().buffer->dtype;
  if (accumulator != DType::float32 && accumulator != DType::int32) return std::nullopt;
  MatrixProduct p;
  p.integer = accumulator == DType::int32;
  std::vector<std::string> loops;
  for (const Stmt& stmt : *path)
    if (schedule::as_for(stmt) && schedule::only_block(stmt)) loops.push_back(schedule::as_for(stmt)->var->name);
  const std::size_t axes = loops.size();
  if (axes != block->iterators.size() || axes < 3 || block->iterators.back().kind != IterKind::reduce)
    return std::nullopt;
  p.operands = gemm_operands(*block);
  if (!p.operands.left || !p.operands.right) return std::nullopt;
  p.batch = {loops.begin(), loops.end() - 3};
  p.m = loops[axes - 3], p.n = loops[axes - 2], p.k = loops[axes - 1];
  p.rows = block->iterators[axes - 3].extent;
  p.columns = block->iterators[axes - 2].extent;
  p.depth = block->iterators[axes - 1].extent;
  const bool constant = std::ranges::any_of(program.parameters, [&](const Parameter& parameter) {
    return parameter.buffer == p.operands.right && parameter.role == ParameterRole::constant;
  });
  p.pack_right = constant && p.operands.right->shape.size() == 2;
  if (!p.pack_right && !p.operands.n_last_right) return std::nullopt;
  p.stored_columns = p.columns;
  if (!p.pack_right && !p.integer && axes == 3) p.panels = constants_of_panels(program, p.operands.right);
  if (!p.panels.empty()) p.stored_columns = p.panels.front()->shape[0];
  return p;
}

// Transforms one product from the loops of its definition to register tiles.
class Matmul {
 public:
  Matmul(schedule::Context& c, const Cpu& cpu) : c_(c), cpu_(cpu) {}

  bool schedule() {
    if (!recognize()) return false;
    choose_products();
    lay_out();
    copy_left_by_blocks();
    cut_into_tiles();
    if (!c_.s.status().ok()) return true;
    unpack_panel();
    schedule_sums(c_, kGemm, mi_, ni_, tile_, cpu_, dot_);
    schedule_epilogue(c_, end_[end_.size() - 2], end_.back(), tile_.lanes);
    vectorize_copy();
    share_among_threads();
    return true;
  }

 private:
  bool recognize() {
    auto product = product_of(c_.task.program);
    if (product) p_ = *std::move(product);
    return !p_.m.empty();
  }

  void choose_products() {
    const DotProduct dot = dot_product(cpu_);
    dot_ = p_.suits_dot_products(cpu_) && p_.operands.left->dtype == dot.activations && p_.depth % dot.depth == 0 &&
           p_.depth > dot.depth && p_.columns % cpu_.lanes(4) == 0;
    depth_ = dot_ ? dot.depth : 1;
    const std::int64_t steps = p_.depth / depth_;
    tile_ = sample_register_tile(c_, {p_.rows, p_.stored_columns, steps, 1, dot_}, cpu_);
    element_bytes_ = size_bytes(p_.operands.left->dtype);
    // A small tile's step has few products for the instructions of the loop.
    constexpr std::int64_t kFewRegisters = 16, kUnrolled = 4;
    steps_ = sample_steps(c_, steps, !dot_ && cpu_.vector_registers <= kFewRegisters ? kUnrolled : 1);
  }

  void lay_out() {
    follow_layouts(c_);
    last_ = c_.gather_epilogue(kGemm, "register");
    for (const Buffer& constant : p_.panels) c_.lay_out(constant->name, fmt::format("i0/{0},i1,i0%{0}", tile_.columns));
    if (!p_.pack_right) return;
    const char *n = p_.operands.n_last_right ? "i1" : "i0", *k = p_.operands.n_last_right ? "i0" : "i1";
    c_.lay_out(p_.operands.right->name,
               dot_ ? fmt::format("{0}/{2},{1}/{3},{0}%{2},{1}%{3}", n, k, tile_.columns, depth_)
                    : fmt::format("{0}/{2},{1},{0}%{2}", n, k, tile_.columns));
  }

  // Rows per block: the block's part of the left operand within a quarter of the second-level cache, and several blocks
  // for the threads. A right operand larger than this cache is fetched again for every block: a block then uses half of
  // the cache, or has so many rows that memory keeps up with the products, and threads share the columns. Rows that
  // would conflict in the sets of the first-level cache are packed.
  void copy_left_by_blocks() {
    const std::int64_t tiles = (p_.rows + tile_.rows - 1) / tile_.rows;
    const bool right_stays = p_.depth * p_.columns * element_bytes_ <= cpu_.l2_bytes;
    constexpr std::int64_t kManyRows = 64;
    const std::int64_t least = right_stays ? 1 : (kManyRows + tile_.rows - 1) / tile_.rows;
    const std::int64_t fitting =
        std::max(least, cpu_.l2_bytes / (right_stays ? 4 : 2) / (p_.depth * element_bytes_ * tile_.rows));
    const std::int64_t analytic = !p_.panels.empty() ? block_size(tiles, (kManyPanelRows + tile_.rows - 1) / tile_.rows)
                                  : right_stays      ? std::min(fitting, std::max<std::int64_t>(1, tiles / 4))
                                                     : block_size(tiles, std::min(fitting, tiles));
    std::set<std::int64_t> candidates{analytic, tiles};
    for (std::int64_t power = 1; power < tiles; power *= 2) candidates.insert(power);
    std::tie(mo_, mb_) =
        c_.tile(p_.m, tile_.rows * c_.sample("block_tiles", {candidates.begin(), candidates.end()}, analytic));
    const bool shifted = c_.block("shifted") != nullptr;
    pack_left_ = p_.operands.k_last_left && (!mo_.empty() || p_.batch.empty()) && p_.rows > 1 && !shifted &&
                 c_.sample("pack", {"no", "yes"},
                           crowds_sets(p_.depth * element_bytes_, tile_.rows, cpu_) ? "yes" : "no") == "yes";
    staged_ = shifted ? "shifted" : "";
    if (pack_left_) {
      staged_ = p_.operands.left->name + ".packed";
      c_.s.cache_read(kGemm, p_.operands.left->name, "global", staged_);
    }
  }

  void cut_into_tiles() {
    const auto [mt, mi] = c_.tile(mb_, tile_.rows);
    std::tie(no_, ni_) = c_.tile(p_.n, tile_.columns);
    // A single tile: a loop with one iteration marks where it is complete.
    if (no_.empty() && mt.empty() && mo_.empty() && p_.batch.empty()) {
      no_ = p_.n + "_o", ni_ = p_.n + "_i";
      c_.s.split(p_.n, tile_.columns, no_, ni_);
    }
    const std::string no = no_, ni = ni_;
    mi_ = mi;
    // Columns first: their panel stays in the second-level cache while the rows pass. Rows first: the rows stay.
    const bool rows_first =
        p_.panels.empty() && !no.empty() && !mt.empty() && c_.sample("tile_order", {"nm", "mn"}, "nm") == "mn";
    std::string serial = p_.k;
    std::vector<std::string> inside{mi, ni};
    if (dot_) {
      const auto [ko, ki] = c_.tile(p_.k, depth_);
      const auto [nv, nl] = c_.tile(ni, tile_.lanes);
      serial = ko;
      inside = {mi, nv, nl, ki};
    }
    if (steps_ > 1) std::tie(serial, steps_loop_) = c_.tile(serial, steps_);
    std::vector<std::string> order = p_.batch;
    order.insert(order.end(), {mo_, rows_first ? mt : no, rows_first ? no : mt, serial, steps_loop_});
    order.insert(order.end(), inside.begin(), inside.end());
    c_.reorder(order);
    end_ = c_.own_loops(last_);
    const std::string at = rows_first ? no : !mt.empty() ? mt : !no.empty() ? no : !mo_.empty() ? mo_ : p_.batch.back();
    c_.s.reverse_compute_at(last_, at);
    if (!staged_.empty() && !mo_.empty()) c_.s.compute_at(staged_, mo_);
    if (const std::string around = !no.empty() ? no : mo_; !p_.panels.empty() && !around.empty())
      c_.s.compute_at(kUnpack, around);
    if (pack_left_) c_.lay_out(staged_, packed_rows());
    c_.s.decompose_reduction(kGemm, !serial.empty() ? serial : !steps_loop_.empty() ? steps_loop_ : p_.k, "gemm.init");
    c_.unroll(steps_loop_);
  }

  // A word is loaded once for the steps that it holds.
  void unpack_panel() {
    if (p_.panels.empty()) return;
    const std::vector<std::string> loops = c_.own_loops(kUnpack);  // k, n
    constexpr std::int64_t kSteps = 8;
    const auto [words, steps] = c_.tile(loops.front(), kSteps);
    if (!words.empty()) c_.unroll(steps);
    c_.unroll(c_.vectorize(loops.back(), tile_.lanes));
  }

  // Cache lines of all rows are contiguous.
  std::string packed_rows() const {
    const std::size_t depth = p_.operands.left->shape.size() - 1;
    std::string rows;
    for (std::size_t d = 0; d < depth; ++d) rows += fmt::format("i{},", d);
    return fmt::format("i{0}/{2},{1}i{0}%{2}", depth, rows, cpu_.cache_line_bytes / element_bytes_);
  }

  void vectorize_copy() {
    if (staged_.empty() || c_.own_loops(staged_).empty()) return;
    std::vector<std::string> order = c_.own_loops(staged_);
    const int lanes = cpu_.lanes(static_cast<int>(element_bytes_));
    const std::string vectors = c_.vectorize(order.back(), vector_lanes(c_.extent(order.back()), lanes));
    // A packed copy is written in order: writing to a different page for each vector of a row would be slow.
    order.back() = vectors;
    if (pack_left_) std::ranges::rotate(order, order.end() - 1), c_.reorder(order);
  }

  void share_among_threads() {
    std::vector<std::string> threads = p_.batch;
    // With few blocks of rows, threads share the columns; only these if a block's copy is between the loops.
    const bool few = c_.extent(mo_) < 4 && !no_.empty() && (p_.batch.empty() || c_.extent(p_.batch.front()) == 1);
    if (!mo_.empty() && (!few || staged_.empty())) threads.push_back(mo_);
    if (few) threads.push_back(no_);
    c_.parallel(threads);
  }

  schedule::Context& c_;
  const Cpu& cpu_;
  MatrixProduct p_;
  // Elements of a step, those of a dot product or one; and unrolled steps of the reduction.
  std::int64_t element_bytes_ = 0, depth_ = 1, steps_ = 1;
  RegisterTile tile_{};
  bool dot_ = false, pack_left_ = false;
  std::string staged_;  // the producer that is computed per block: the shifted or packed left operand
  std::string last_;    // the block after the sums
  // Loops: blocks of rows and the rows of a block; the loops they are split into; those of the epilogue.
  std::string mo_, mb_, mi_, no_, ni_, steps_loop_;
  std::vector<std::string> end_;
};

}  // namespace

void prepare_matmul(Preparation& p) {
  const auto product = product_of(p.task.program);
  if (!product) return;
  const std::size_t columns = product->batch.size() + 1, depth = columns + 1;  // iterators
  if (!product->integer) {
    const TiledProduct tiled{product->rows, product->columns, product->depth};
    std::vector<std::string> names;
    for (const Buffer& constant : product->panels) names.push_back(constant->name);
    if (!names.empty()) p.pad_rows(names, tileable_columns(tiled, p.cpu));
    if (product->pack_right) p.extend_product(kGemm, {{columns, tileable_columns(tiled, p.cpu)}});
    return;
  }
  p.bound_accumulator(kGemm, product->operands.right->name);
  if (!product->suits_dot_products(p.cpu) || product->operands.left->dtype != DType::int8) return;
  convert_activations(p, kGemm);
  if (p.block("shifted") == nullptr) return;
  // At least two steps: the loop over them holds the sums in registers.
  const std::int64_t step = dot_product(p.cpu).depth, steps = (product->depth + step - 1) / step;
  p.extend_product(
      kGemm, {{columns, whole_vectors(product->columns, p.cpu)}, {depth, std::max<std::int64_t>(steps, 2) * step}});
}

bool sketch_matmul(schedule::Context& c, const Cpu& cpu) { return Matmul(c, cpu).schedule(); }

}  // namespace dovetail::cpu
