// Any group: blocks stay in their order, each nest runs on all threads and in vectors along the innermost dimension of
// what it writes.
#include <algorithm>

#include "compiler/target/cpu/schedules/schedules.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kParallelWork = 16 << 10;  // points below which threads cost more than they give

// Readers of each buffer among the blocks.
int readers(const Builder& b, const Buffer& buffer) {
  int count = 0;
  for (const std::string& name : b.blocks())
    for (const Region& read : b.block(name)->reads) count += read.buffer == buffer;
  return count;
}

bool is_costly(const Block& block) {
  bool costly = false;
  visit_exprs(block.body, [&](const Expr& e) {
    if (const auto* n = std::get_if<Unary>(&e->node)) costly |= n->op > UnaryOp::rsqrt || n->op == UnaryOp::exp;
    costly |= std::holds_alternative<Call>(e->node);
  });
  return costly;
}

// A table look-up and nothing else: lanes have nothing to compute, and would only be taken apart for their loads.
bool is_look_up(const Store& store) {
  const auto* load = std::get_if<LoadExpr>(&store.targets[0].value->node);
  bool data = false;
  if (load != nullptr)
    for (const Expr& index : load->indices)
      visit_exprs(index, [&](const Expr& e) { data |= std::holds_alternative<LoadExpr>(e->node); });
  return data;
}

}  // namespace

bool schedule_generic(Builder& b) {
  b.follow_layouts();
  // Elementwise chains become one block.
  for (const std::string& name : b.blocks()) {
    const Block& block = *b.block(name);
    if (block.init || block.writes.size() != 1) continue;
    if (readers(b, block.writes.front().buffer) == 1 || !is_costly(block)) b.attempt("inline", {name});
  }
  for (const std::string& name : b.blocks()) {
    const Block& block = *b.block(name);
    std::int64_t points = 1;
    for (const Iterator& iterator : block.iterators) points *= iterator.extent;
    const auto* store = std::get_if<Store>(&block.body->node);
    std::vector<std::string> loops = b.loops_of(name);
    if (store == nullptr || loops.size() != block.iterators.size()) continue;
    // The loop of the innermost written dimension, and whether the block reduces.
    std::string innermost;
    std::vector<std::string> spatial, reduce;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      (block.iterators[i].kind == IterKind::spatial ? spatial : reduce).push_back(loops[i]);
      for (std::size_t d = store->targets[0].indices.size(); d-- > 0;) {
        const auto* index = std::get_if<VarRef>(&store->targets[0].indices[d]->node);
        if (b.buffer(store->targets[0].buffer->name)->shape[d] == 1) continue;
        if (index != nullptr && index->var == block.iterators[i].var) innermost = loops[i];
        break;
      }
    }
    const bool ordered = std::any_of(block.iterators.begin(), block.iterators.end(),
                                     [](const Iterator& i) { return i.kind == IterKind::ordered; });
    if (ordered) continue;
    // A reduction along the innermost dimension of its operand is left to LLVM's vectorizer; one across it runs in
    // lanes.
    bool across = !reduce.empty() && !innermost.empty();
    if (across) {
      const VarNode* lane =
          block.iterators[static_cast<std::size_t>(std::find(loops.begin(), loops.end(), innermost) - loops.begin())]
              .var.get();
      visit_exprs(block.body, [&](const Expr& e) {
        const auto* load = std::get_if<LoadExpr>(&e->node);
        if (load == nullptr || load->indices.empty() || load->buffer == store->targets[0].buffer) return;
        bool in_last = false, anywhere = false;
        for (std::size_t d = 0; d < load->indices.size(); ++d)
          visit_exprs(load->indices[d], [&](const Expr& i) {
            const auto* n = std::get_if<VarRef>(&i->node);
            if (n == nullptr || n->var.get() != lane) return;
            anywhere = true;
            in_last |= d + 1 == load->indices.size();
          });
        across &= in_last || !anywhere;
      });
    }
    const int lanes = b.cpu.lanes(size_bytes(store->targets[0].buffer->dtype));
    const bool look_up = is_look_up(*store);  // before the first step, which replaces the block
    std::vector<std::string> outer = spatial;
    if (!innermost.empty() && (reduce.empty() || across)) {
      std::erase(outer, innermost);
      std::vector<std::string> order = outer;
      const std::int64_t width = b.extent(innermost);
      if (width >= 4) {
        if (!reduce.empty()) {
          // Sums of one vector stay in a register while the reduction runs.
          const auto [vector_outer, vector_inner] = b.tile(innermost, lanes);
          if (!vector_outer.empty()) order.push_back(vector_outer);
          order.insert(order.end(), reduce.begin(), reduce.end());
          order.push_back(vector_inner);
          if (!b.attempt("reorder", order)) continue;
          const std::string init = name + ".init";
          if (b.attempt("decompose_reduction", {name, reduce.front()}, {init})) {
            b.attempt("vectorize", {vector_inner});
            for (const std::string& loop : b.loops_of(init))
              if (loop.starts_with(init)) b.attempt("vectorize", {loop});
          }
          if (!vector_outer.empty()) outer.push_back(vector_outer);
        } else {
          order.push_back(innermost);
          if (order.size() > 1 && !b.attempt("reorder", order)) continue;
          const auto [vector_outer, vector_inner] = b.tile(innermost, lanes);
          if (!look_up) b.attempt("vectorize", {vector_inner});
          if (!vector_outer.empty()) outer.push_back(vector_outer);
        }
      }
    }
    if (points >= kParallelWork) {
      std::string fused;
      for (const std::string& loop : outer) {
        if (fused.empty()) {
          fused = loop;
          continue;
        }
        const std::string next = fused + "_" + loop.substr(loop.find_last_of('.') + 1);
        if (!b.attempt("fuse", {fused, loop}, {next})) break;
        fused = next;
      }
      if (!fused.empty() && b.extent(fused) > 1) b.attempt("parallel", {fused});
    }
  }
  return true;
}

}  // namespace dovetail::cpu
