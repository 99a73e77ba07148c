#include "loops/threads/fetch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "loops/run_time_checks.h"

namespace dovetail::loops {

std::optional<Chain> Chain::of(Core core) {
  Chain chain;
  while (true) {
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      chain.around.push_back(core);
      core = loop->body;
    } else if (const auto* condition = std::get_if<CoreIf>(&core->node);
               condition != nullptr && !condition->else_body) {
      chain.around.push_back(core);
      core = condition->then_body;
    } else {
      chain.store = std::get_if<CoreStore>(&core->node);
      if (chain.store == nullptr || chain.store->targets.size() != 1) return std::nullopt;
      return chain;
    }
  }
}

std::vector<const CoreLoop*> Chain::loops() const {
  std::vector<const CoreLoop*> loops;
  for (const Core& core : around)
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) loops.push_back(loop);
  return loops;
}

std::vector<const CoreLoop*> Chain::own_loops() const {
  std::vector<const CoreLoop*> own = loops();
  std::erase_if(own, [](const CoreLoop* loop) { return loop->kind == ForKind::thread; });
  return own;
}

Core Chain::around_of(Core inner, std::size_t left_out) const {
  for (std::size_t i = around.size() - left_out; i-- > 0;)
    if (const auto* loop = std::get_if<CoreLoop>(&around[i]->node)) {
      CoreLoop copy = *loop;
      copy.body = std::move(inner);
      inner = make_core(std::move(copy));
    } else {
      inner = core_if(std::get<CoreIf>(around[i]->node).condition, std::move(inner));
    }
  return inner;
}

std::optional<Moved> Moved::of(const Expr& value) {
  Moved moved;
  Expr from = value;
  if (const auto* choice = std::get_if<Select>(&value->node)) {
    moved.condition = choice->condition, moved.otherwise = choice->if_false;
    const bool number = std::holds_alternative<IntImm>(moved.otherwise->node) ||
                        std::holds_alternative<FloatImm>(moved.otherwise->node);
    if (!number || holds_load(moved.condition)) return std::nullopt;
    from = choice->if_true;
  }
  moved.load = std::get_if<LoadExpr>(&from->node);
  if (moved.load == nullptr || std::ranges::any_of(moved.load->indices, holds_load)) return std::nullopt;
  return moved;
}

bool Moved::is_zero_otherwise() const {
  if (const auto* n = std::get_if<IntImm>(&otherwise->node)) return n->value == 0;
  const double value = std::get<FloatImm>(otherwise->node).value;
  return value == 0 && !std::signbit(value);
}

}  // namespace dovetail::loops
