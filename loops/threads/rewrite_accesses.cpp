#include "loops/threads/rewrite_accesses.h"

#include <tuple>

#include "loops/rewrite.h"

namespace dovetail::loops {

namespace {

class Rewriter {
 public:
  explicit Rewriter(const MoveAccess& move) : move_(move) {}

  Core rewrite(const Core& core, std::vector<AroundThread> around) const {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      if (loop->kind == ForKind::thread) around.push_back({loop->thread_axis, loop->var.get(), loop->extent});
      CoreLoop copy = *loop;
      copy.body = rewrite(loop->body, std::move(around));
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return core_if(moved(n->condition, around), rewrite(n->then_body, around), rewrite(n->else_body, around));
    if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
      std::vector<Core> body;
      for (const Core& part : n->body) body.push_back(rewrite(part, around));
      return core_sequence(std::move(body));
    }
    if (const auto* n = std::get_if<CoreStore>(&core->node)) {
      CoreStore copy{{}, n->block, {}, n->product_sum};
      for (StoreTarget target : n->targets) {
        move_place(target.buffer, target.indices, around);
        target.value = moved(target.value, around);
        copy.targets.push_back(std::move(target));
      }
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreCall>(&core->node)) {
      CoreCall copy = *n;
      for (IntrinsicOperand& operand : copy.operands) {
        move_place(operand.buffer, operand.indices, around);
        // New dimensions are added at the front, and the operand does not move along them.
        for (std::size_t rank = operand.extents.size(); rank < operand.indices.size(); ++rank) {
          for (std::vector<std::int64_t>& steps : operand.steps) steps.insert(steps.begin(), 0);
          operand.extents.insert(operand.extents.begin(), 1);
        }
      }
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreShuffle>(&core->node)) {
      CoreShuffle copy = *n;
      for (LoadExpr* place : {&copy.to, &copy.from}) move_place(place->buffer, place->indices, around);
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreBoxCopy>(&core->node)) {
      CoreBoxCopy copy = *n;
      move_place(copy.to, copy.to_indices, around);
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreAsyncCopy>(&core->node)) {
      CoreAsyncCopy copy = *n;
      move_place(copy.to, copy.to_indices, around);
      move_place(copy.from, copy.from_indices, around);
      if (copy.condition) copy.condition = moved(copy.condition, around);
      return make_core(std::move(copy));
    }
    return core;
  }

 private:
  Expr moved(const Expr& expr, const std::vector<AroundThread>& around) const {
    return rewrite_expr(expr, [&](const Expr& inner) -> Expr {
      const auto* n = std::get_if<LoadExpr>(&inner->node);
      if (n == nullptr) return inner;
      auto [buffer, indices] = move_(n->buffer, n->indices, around);
      return buffer == n->buffer ? inner : load(buffer, std::move(indices));
    });
  }
  void move_place(Buffer& buffer, std::vector<Expr>& indices, const std::vector<AroundThread>& around) const {
    for (Expr& index : indices) index = moved(index, around);
    std::tie(buffer, indices) = move_(buffer, std::move(indices), around);
  }

  const MoveAccess& move_;
};

}  // namespace

Core rewrite_accesses(const Core& core, std::vector<AroundThread> around, const MoveAccess& move) {
  return Rewriter(move).rewrite(core, std::move(around));
}

}  // namespace dovetail::loops
