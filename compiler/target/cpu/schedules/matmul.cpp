// Matrix products. A constant right operand is packed to [n / columns][k][columns]; a register tile holds `rows` x
// `columns` sums over all of k. The columns' panel stays in the second level while a block of rows passes over it.
#include <algorithm>

#include <fmt/format.h>

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

}  // namespace

bool schedule_matmul(Builder& b) {
  const Block* block = b.block(kGemm);
  if (block == nullptr || !block->init) return false;
  const DType accumulator = block->writes.front().buffer->dtype;
  if (accumulator != DType::float32 && accumulator != DType::int32) return false;
  const std::vector<std::string> loops = b.own_loops(kGemm);
  const std::size_t axes = loops.size();
  if (axes != block->iterators.size() || axes < 3 || block->iterators.back().kind != IterKind::reduce) return false;
  GemmOperands operands = gemm_operands(*block);
  if (!operands.left || !operands.right) return false;
  const std::int64_t rows = block->iterators[axes - 3].extent, columns = block->iterators[axes - 2].extent,
                     depth = block->iterators[axes - 1].extent;
  const std::size_t left_rank = operands.left->shape.size();
  const bool pack_right = is_constant(b, operands.right) && operands.right->shape.size() == 2;
  if (!pack_right && !operands.n_last_right) return false;

  if (accumulator == DType::int32) {
    b.bound_accumulator(kGemm, operands.right->name);
    operands = gemm_operands(*b.block(kGemm));
  }
  // Four bytes a lane: dot products need unsigned bytes on the left and signed ones on the right.
  const int lanes = b.cpu.lanes(4);
  const RegisterTile tile = choose_tile(rows, columns, lanes, b.cpu);
  bool dot = accumulator == DType::int32 && b.cpu.vnni && depth % 4 == 0 && tile.lanes == lanes && pack_right &&
             operands.k_last_left && operands.right->dtype == DType::int8;
  if (dot && operands.left->dtype == DType::int8) {
    dot = b.shift_activations(kGemm);
    if (dot) operands = gemm_operands(*b.block(kGemm));
  }
  b.follow_layouts();
  const std::string a = operands.left->name, w = operands.right->name;
  const std::int64_t element_bytes = size_bytes(operands.left->dtype);
  const std::string last = b.gather_epilogue(kGemm, "register");
  if (pack_right) {
    const char *n = operands.n_last_right ? "i1" : "i0", *k = operands.n_last_right ? "i0" : "i1";
    b.lay_out(w, dot ? fmt::format("{0}/{2},{1}/4,{0}%{2},{1}%4", n, k, tile.columns)
                     : fmt::format("{0}/{2},{1},{0}%{2}", n, k, tile.columns));
  }

  // Rows of a block: its part of the left operand within a quarter of the second level, and several blocks for the
  // threads.
  const std::int64_t tiles = (rows + tile.rows - 1) / tile.rows;
  const std::int64_t fitting = std::max<std::int64_t>(1, b.cpu.l2_bytes / 4 / (depth * element_bytes * tile.rows));
  const std::int64_t block_rows = tile.rows * std::min(fitting, std::max<std::int64_t>(1, tiles / 4));
  const auto [mo, mb] = b.tile(loops[axes - 3], block_rows);
  // Rows whose distance is a multiple of 2 KiB fall into the same sets of the first level: a packed copy lies in steps
  // of 64 bytes.
  const bool pack_left = operands.k_last_left && depth * element_bytes % 2048 == 0 && tile.rows >= 6 &&
                         left_rank == 2 && !mo.empty() && b.block("shifted") == nullptr;
  std::string staged = b.block("shifted") != nullptr ? "shifted" : "";
  if (pack_left) {
    staged = a + ".packed";
    b.s.cache_read(kGemm, a, "global", staged);
  }

  const auto [mt, mi] = b.tile(mb, tile.rows);
  const auto [no, ni] = b.tile(loops[axes - 2], tile.columns);
  const std::vector<std::string> batch(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(axes - 3));
  std::vector<std::string> order = batch;
  if (dot) {
    const auto [ko, ki] = b.tile(loops[axes - 1], 4);
    const auto [nv, nl] = b.tile(ni, tile.lanes);
    order.insert(order.end(), {mo, no, mt, ko, mi, nv, nl, ki});
  } else {
    order.insert(order.end(), {mo, no, mt, loops[axes - 1], mi, ni});
  }
  b.reorder(order);
  const std::vector<std::string> end = b.own_loops(last);
  const std::string at = !mt.empty() ? mt : !no.empty() ? no : !mo.empty() ? mo : batch.empty() ? "" : batch.back();
  if (at.empty()) return false;
  b.s.reverse_compute_at(last, at);
  if (pack_left || (!staged.empty() && !mo.empty())) b.s.compute_at(staged, mo);
  if (pack_left) b.lay_out(staged, fmt::format("i1/{0},i0,i1%{0}", 64 / element_bytes));
  const std::vector<std::string> sum = b.loops_of(kGemm);
  const std::string depth_loop =
      dot ? b.existing(loops[axes - 1] + "_o").empty() ? loops[axes - 1] : loops[axes - 1] + "_o" : loops[axes - 1];
  b.s.decompose_reduction(kGemm, depth_loop, "gemm.init");
  if (!b.s.status().ok()) return true;
  b.unroll(b.existing(mi));
  if (dot) {
    if (tile.vectors > 1) b.unroll(sum[sum.size() - 3]);
    b.s.tensorize(sum[sum.size() - 2], "x86.vpdpbusd");
  } else {
    b.unroll(b.vectorize(ni, tile.lanes));
  }
  const std::vector<std::string> init = b.own_loops("gemm.init");
  for (std::size_t i = 0; i + 1 < init.size(); ++i) b.unroll(b.existing(init[i]));
  if (dot) {
    b.s.vectorize(init.back());
  } else {
    b.unroll(b.vectorize(init.back(), tile.lanes));
  }
  b.reorder({b.existing(end[end.size() - 2]), b.existing(end.back())});
  b.unroll(b.existing(end[end.size() - 2])), b.unroll(b.vectorize(end.back(), tile.lanes));
  if (!staged.empty() && !b.own_loops(staged).empty()) {
    const std::string innermost = b.own_loops(staged).back();
    b.vectorize(innermost, vector_lanes(b.extent(innermost), b.cpu.lanes(static_cast<int>(element_bytes))));
  }
  std::vector<std::string> threads = batch;
  if (!mo.empty()) threads.push_back(mo);
  // Few rows: threads share the columns.
  if (mo.empty() && !no.empty() && (batch.empty() || b.extent(batch.front()) == 1)) threads.push_back(no);
  b.parallel(threads);
  return true;
}

}  // namespace dovetail::cpu
