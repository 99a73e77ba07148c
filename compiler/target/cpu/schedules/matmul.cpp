// Matrix products. A constant right operand is packed to [n / columns][k][columns]; a register tile holds `rows` x
// `columns` sums over all of k. The columns' panel stays in the second level while a block of rows passes over it.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/schedules/schedules.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kGemm = "gemm";

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

bool is_constant(const Builder& b, const Buffer& buffer) {
  for (const Parameter& parameter : b.s.program().parameters)
    if (parameter.buffer == buffer) return parameter.role == ParameterRole::constant;
  return false;
}

// One product on its way from the loops of its definition to register tiles.
class Matmul {
 public:
  explicit Matmul(Builder& b) : b_(b) {}

  bool schedule() {
    if (!recognise()) return false;
    choose_products();
    lay_out();
    copy_left_by_blocks();
    if (!cut_into_tiles()) return false;
    if (!b_.s.status().ok()) return true;
    schedule_sums(b_, kGemm, mi_, ni_, tile_, dot_);
    schedule_epilogue(b_, end_[end_.size() - 2], end_.back(), tile_.lanes);
    vectorize_copy();
    share_among_threads();
    return true;
  }

 private:
  bool recognise() {
    const Block* block = b_.block(kGemm);
    if (block == nullptr || !block->init) return false;
    const DType accumulator = block->writes.front().buffer->dtype;
    if (accumulator != DType::float32 && accumulator != DType::int32) return false;
    integer_ = accumulator == DType::int32;
    const std::vector<std::string> loops = b_.own_loops(kGemm);
    const std::size_t axes = loops.size();
    if (axes != block->iterators.size() || axes < 3 || block->iterators.back().kind != IterKind::reduce) return false;
    operands_ = gemm_operands(*block);
    if (!operands_.left || !operands_.right) return false;
    batch_ = {loops.begin(), loops.end() - 3};
    m_ = loops[axes - 3], n_ = loops[axes - 2], k_ = loops[axes - 1];
    rows_ = block->iterators[axes - 3].extent;
    columns_ = block->iterators[axes - 2].extent;
    depth_ = block->iterators[axes - 1].extent;
    left_is_matrix_ = operands_.left->shape.size() == 2;
    pack_right_ = is_constant(b_, operands_.right) && operands_.right->shape.size() == 2;
    return pack_right_ || operands_.n_last_right;
  }

  // Four bytes a lane: dot products need unsigned bytes on the left and signed ones on the right.
  void choose_products() {
    if (integer_) {
      b_.bound_accumulator(kGemm, operands_.right->name);
      operands_ = gemm_operands(*b_.block(kGemm));
    }
    const int lanes = b_.cpu.lanes(4);
    tile_ = choose_tile(rows_, columns_, lanes, b_.cpu);
    dot_ = integer_ && b_.cpu.vnni && depth_ % kDotBytes == 0 && tile_.lanes == lanes && pack_right_ &&
           operands_.k_last_left && operands_.right->dtype == DType::int8;
    if (dot_ && operands_.left->dtype == DType::int8) {
      dot_ = b_.shift_activations(kGemm);
      if (dot_) operands_ = gemm_operands(*b_.block(kGemm));
    }
    element_bytes_ = size_bytes(operands_.left->dtype);
  }

  void lay_out() {
    b_.follow_layouts();
    last_ = b_.gather_epilogue(kGemm, "register");
    if (!pack_right_) return;
    const char *n = operands_.n_last_right ? "i1" : "i0", *k = operands_.n_last_right ? "i0" : "i1";
    b_.lay_out(operands_.right->name,
               dot_ ? fmt::format("{0}/{2},{1}/{3},{0}%{2},{1}%{3}", n, k, tile_.columns, kDotBytes)
                    : fmt::format("{0}/{2},{1},{0}%{2}", n, k, tile_.columns));
  }

  // Rows of a block: its part of the left operand within a quarter of the second level, and several blocks for the
  // threads. Rows that would crowd the sets of the first level are packed.
  void copy_left_by_blocks() {
    const std::int64_t tiles = (rows_ + tile_.rows - 1) / tile_.rows;
    const std::int64_t fitting =
        std::max<std::int64_t>(1, b_.cpu.l2_bytes / 4 / (depth_ * element_bytes_ * tile_.rows));
    std::tie(mo_, mb_) = b_.tile(m_, tile_.rows * std::min(fitting, std::max<std::int64_t>(1, tiles / 4)));
    const bool shifted = b_.block("shifted") != nullptr;
    pack_left_ = operands_.k_last_left && crowds_sets(depth_ * element_bytes_, b_.cpu) && tile_.rows >= 6 &&
                 left_is_matrix_ && !mo_.empty() && !shifted;
    staged_ = shifted ? "shifted" : "";
    if (pack_left_) {
      staged_ = operands_.left->name + ".packed";
      b_.s.cache_read(kGemm, operands_.left->name, "global", staged_);
    }
  }

  // False where there is one tile, and so no loop at which it could be completed.
  bool cut_into_tiles() {
    const auto [mt, mi] = b_.tile(mb_, tile_.rows);
    const auto [no, ni] = b_.tile(n_, tile_.columns);
    mi_ = mi, no_ = no, ni_ = ni;
    std::string depth_loop = k_;
    std::vector<std::string> order = batch_;
    if (dot_) {
      const auto [ko, ki] = b_.tile(k_, kDotBytes);
      const auto [nv, nl] = b_.tile(ni, tile_.lanes);
      order.insert(order.end(), {mo_, no, mt, ko, mi, nv, nl, ki});
      if (!b_.existing(ko).empty()) depth_loop = ko;
    } else {
      order.insert(order.end(), {mo_, no, mt, k_, mi, ni});
    }
    b_.reorder(order);
    end_ = b_.own_loops(last_);
    const std::string at = !mt.empty()      ? mt
                           : !no.empty()    ? no
                           : !mo_.empty()   ? mo_
                           : batch_.empty() ? ""
                                            : batch_.back();
    if (at.empty()) return false;
    b_.s.reverse_compute_at(last_, at);
    if (pack_left_ || (!staged_.empty() && !mo_.empty())) b_.s.compute_at(staged_, mo_);
    if (pack_left_) b_.lay_out(staged_, fmt::format("i1/{0},i0,i1%{0}", b_.cpu.cache_line_bytes / element_bytes_));
    b_.s.decompose_reduction(kGemm, depth_loop, "gemm.init");
    return true;
  }

  void vectorize_copy() {
    if (staged_.empty() || b_.own_loops(staged_).empty()) return;
    const std::string innermost = b_.own_loops(staged_).back();
    b_.vectorize(innermost, vector_lanes(b_.extent(innermost), b_.cpu.lanes(static_cast<int>(element_bytes_))));
  }

  void share_among_threads() {
    std::vector<std::string> threads = batch_;
    if (!mo_.empty()) threads.push_back(mo_);
    // Few rows: threads share the columns.
    if (mo_.empty() && !no_.empty() && (batch_.empty() || b_.extent(batch_.front()) == 1)) threads.push_back(no_);
    b_.parallel(threads);
  }

  Builder& b_;
  GemmOperands operands_;
  bool integer_ = false, left_is_matrix_ = false;
  std::int64_t rows_ = 0, columns_ = 0, depth_ = 0, element_bytes_ = 0;
  RegisterTile tile_{};
  bool dot_ = false, pack_left_ = false, pack_right_ = false;
  std::string staged_;  // the producer that is written out a block at a time: the shifted or packed left operand
  std::string last_;    // the block behind the sums
  // Loops: the product's own; blocks of rows and the rows of a block; what they are cut into; those of the epilogue.
  std::vector<std::string> batch_;
  std::string m_, n_, k_, mo_, mb_, mi_, no_, ni_;
  std::vector<std::string> end_;
};

}  // namespace

bool schedule_matmul(Builder& b) { return Matmul(b).schedule(); }

}  // namespace dovetail::cpu
