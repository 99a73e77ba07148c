// Matrix products. A constant right operand is packed to [n / columns][k][columns]; a register tile holds `rows` x `columns` sums over all of k. The
// columns' panel stays in the second level while a block of rows passes over it.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/target/cpu/schedules/schedules.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char* kMain = "gemm";

const VarNode* plain_index(const Expr& index) {
  const auto* n = std::get_if<VarRef>(&index->node);
  return n == nullptr ? nullptr : n->var.get();
}

}  // namespace

bool schedule_matmul(Builder& b) {
  const Block* block = b.block(kMain);
  if (block == nullptr || !block->init || block->writes.front().buffer->dtype != DType::float32) return false;
  std::vector<std::string> loops = b.own_loops(kMain);
  if (loops.size() != block->iterators.size() || loops.size() < 3 || block->iterators.back().kind != IterKind::reduce) return false;
  const std::size_t axes = loops.size();
  const Iterator &m = block->iterators[axes - 3], &n = block->iterators[axes - 2], &k = block->iterators[axes - 1];
  // The operands: left with m and k, right with k and n.
  const LoadExpr *left = nullptr, *right = nullptr;
  visit_exprs(block->body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer == block->writes.front().buffer || load->indices.size() < 2) return;
    const VarNode *last = plain_index(load->indices.back()), *before = plain_index(load->indices[load->indices.size() - 2]);
    if ((last == m.var.get() && before == k.var.get()) || (last == k.var.get() && before == m.var.get())) left = load;
    if ((last == n.var.get() && before == k.var.get()) || (last == k.var.get() && before == n.var.get())) right = load;
  });
  if (left == nullptr || right == nullptr || left->buffer->dtype != DType::float32) return false;
  const std::int64_t rows = m.extent, columns = n.extent, depth = k.extent;
  const bool n_last = plain_index(right->indices.back()) == n.var.get();
  const std::string a = left->buffer->name, w = right->buffer->name;
  const bool rows_are_long = plain_index(left->indices.back()) == k.var.get() && depth % 512 == 0;
  bool constant = false;
  for (const Parameter& parameter : b.s.program().parameters) constant |= parameter.buffer->name == w && parameter.role == ParameterRole::constant;
  const bool pack_right = constant && right->indices.size() == 2;
  if (!pack_right && !n_last) return false;

  const int lanes = b.cpu.lanes(4);
  const RegisterTile tile = choose_tile(rows, columns, lanes, b.cpu);
  b.follow_layouts();
  const std::string last = b.gather_epilogue(kMain, "register");
  if (pack_right) b.lay_out(w, n_last ? fmt::format("i1/{0},i0,i1%{0}", tile.columns) : fmt::format("i0/{0},i1,i0%{0}", tile.columns));

  // Rows of a block: its part of the left operand within a quarter of the second level, and several blocks for the threads.
  const std::int64_t tiles = (rows + tile.rows - 1) / tile.rows;
  const std::int64_t fitting = std::max<std::int64_t>(1, b.cpu.l2_bytes / 4 / (depth * 4 * tile.rows));
  const std::int64_t block_rows = tile.rows * std::min(fitting, std::max<std::int64_t>(1, tiles / 4));
  const bool pack_left = rows_are_long && tile.rows >= 6 && left->indices.size() == 2;
  const std::string packed = a + ".packed";
  if (pack_left) b.s.cache_read(kMain, a, "global", packed);

  const auto [mo, mb] = b.tile(loops[axes - 3], block_rows);
  const auto [mt, mi] = b.tile(mb, tile.rows);
  const auto [no, ni] = b.tile(loops[axes - 2], tile.columns);
  std::vector<std::string> order(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(axes - 3));
  const std::vector<std::string> batch = order;
  order.insert(order.end(), {mo, no, mt, loops[axes - 1], mi, ni});
  b.reorder(order);
  const std::vector<std::string> end = b.own_loops(last);
  const std::string at = !mt.empty() ? mt : !no.empty() ? no : !mo.empty() ? mo : batch.empty() ? "" : batch.back();
  if (at.empty()) return false;
  b.s.reverse_compute_at(last, at);
  if (pack_left) {
    if (mo.empty()) return false;
    b.s.compute_at(packed, mo);
    b.lay_out(packed, "i1/16,i0,i1%16");
  }
  b.s.decompose_reduction(kMain, loops[axes - 1], "gemm.init");
  if (!b.s.status().ok()) return true;
  if (b.extent(mi) > 1) b.unroll(mi);
  b.unroll(b.vectorize(ni, tile.lanes));
  const std::vector<std::string> init = b.own_loops("gemm.init");
  for (std::size_t i = 0; i + 1 < init.size(); ++i) b.unroll(init[i]);
  b.unroll(b.vectorize(init.back(), tile.lanes));
  b.reorder({b.existing(end[end.size() - 2]), b.existing(end.back())});
  b.unroll(b.existing(end[end.size() - 2])), b.unroll(b.vectorize(end.back(), tile.lanes));
  if (pack_left) {
    const std::vector<std::string> copy = b.own_loops(packed);
    b.vectorize(copy.back(), 16);
  }
  std::vector<std::string> threads = batch;
  if (!mo.empty()) threads.push_back(mo);
  // Few rows: threads share the columns.
  if (threads.empty() && !no.empty()) threads.push_back(no);
  b.parallel(threads);
  return true;
}

}  // namespace dovetail::cpu
