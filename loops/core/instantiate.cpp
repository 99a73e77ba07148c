#include "loops/core/instantiate.h"

#include <utility>

namespace dovetail::loops {
namespace {

class Instance {
 public:
  Instance(const VarMap& vars, Bounds& bounds) : replaced_(vars), all_(vars), bounds_(bounds) {}

  Core copy(const Core& core) {
    return core ? std::visit([&](const auto& n) { return copy(n); }, core->node) : nullptr;
  }

 private:
  bool is_replaced(const Expr& expr) const {
    bool found = false;
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<VarRef>(&e->node)) found |= replaced_.count(n->var.get()) != 0;
    });
    return found;
  }
  // Renaming does not require another simplification.
  Expr copy(const Expr& expr) const {
    const Expr copied = substitute(expr, all_);
    return is_replaced(expr) ? simplify(copied, bounds_) : copied;
  }
  void copy_all(std::vector<Expr>& exprs) const {
    for (Expr& expr : exprs) expr = copy(expr);
  }

  Core copy(const CoreLoop& n) {
    CoreLoop loop = n;
    loop.var = make_var(n.var->name, n.var->dtype);
    bounds_[loop.var.get()] = {0, n.extent - 1};
    all_[n.var.get()] = ref(loop.var);
    loop.body = copy(n.body);
    return loop.body ? make_core(std::move(loop)) : nullptr;
  }
  Core copy(const CoreIf& n) {
    const Expr condition = copy(n.condition);
    if (const auto* decided = std::get_if<IntImm>(&condition->node))
      return copy(decided->value != 0 ? n.then_body : n.else_body);
    return core_if(condition, copy(n.then_body), copy(n.else_body));
  }
  Core copy(const CoreSequence& n) {
    std::vector<Core> body;
    for (const Core& inner : n.body) body.push_back(copy(inner));
    return core_sequence(std::move(body));
  }
  Core copy(const CoreStore& n) {
    CoreStore store = n;
    for (StoreTarget& target : store.targets) {
      copy_all(target.indices);
      target.value = copy(target.value);
    }
    for (LoadExpr& place : store.initialized) copy_all(place.indices);
    return make_core(std::move(store));
  }
  Core copy(const CoreForget& n) { return make_core(n); }
  Core copy(const CoreBarrier& n) { return make_core(n); }
  Core copy(const CoreAsyncGroup& n) { return make_core(n); }
  Core copy(const CoreCallGroup& n) { return make_core(n); }
  Core copy(const CoreProxyFence& n) { return make_core(n); }
  Core copy(const CoreBoxCopy& n) {
    CoreBoxCopy started = n;
    copy_all(started.to_indices);
    copy_all(started.from_indices);
    started.signal = copy(started.signal);
    return make_core(std::move(started));
  }
  Core copy(const CoreSignal& n) {
    CoreSignal signal = n;
    signal.signal = copy(signal.signal);
    if (signal.parity) signal.parity = copy(signal.parity);
    return make_core(std::move(signal));
  }
  Core copy(const CoreAsyncCopy& n) {
    CoreAsyncCopy started = n;
    copy_all(started.to_indices);
    copy_all(started.from_indices);
    if (started.condition) started.condition = copy(started.condition);
    return make_core(std::move(started));
  }
  Core copy(const CoreShuffle& n) {
    CoreShuffle shuffle = n;
    copy_all(shuffle.to.indices);
    copy_all(shuffle.from.indices);
    return make_core(std::move(shuffle));
  }
  Core copy(const CoreCall& n) {
    CoreCall call = n;
    for (IntrinsicOperand& operand : call.operands) copy_all(operand.indices);
    copy_all(call.immediates);
    return make_core(std::move(call));
  }

  const VarMap& replaced_;
  VarMap all_;  // including the variables of inner loops
  Bounds& bounds_;
};

enum class Count { written, unrolled, run };

std::int64_t count(const Core& core, Count what) {
  if (!core) return 0;
  if (const auto* n = std::get_if<CoreLoop>(&core->node)) {
    const bool copied = what == Count::unrolled && n->kind == ForKind::unrolled;
    const bool repeated = what == Count::run && n->kind != ForKind::vectorized;
    return count(n->body, what) * (copied || repeated ? n->extent : 1);
  }
  if (const auto* n = std::get_if<CoreIf>(&core->node)) return count(n->then_body, what) + count(n->else_body, what);
  const auto* n = std::get_if<CoreSequence>(&core->node);
  if (n == nullptr) return 1;
  std::int64_t total = 0;
  for (const Core& inner : n->body) total += count(inner, what);
  return total;
}

void add_loop_bounds(const Core& core, Bounds& bounds) {
  if (!core) return;
  if (const auto* n = std::get_if<CoreLoop>(&core->node)) {
    bounds[n->var.get()] = {0, n->extent - 1};
    add_loop_bounds(n->body, bounds);
  } else if (const auto* n = std::get_if<CoreIf>(&core->node)) {
    add_loop_bounds(n->then_body, bounds);
    add_loop_bounds(n->else_body, bounds);
  } else if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& inner : n->body) add_loop_bounds(inner, bounds);
  }
}

}  // namespace

Core instantiate(const Core& core, const VarMap& vars, Bounds& bounds) { return Instance(vars, bounds).copy(core); }

std::int64_t statement_count(const Core& core) { return count(core, Count::written); }
std::int64_t unrolled_statement_count(const Core& core) { return count(core, Count::unrolled); }
std::int64_t statement_runs(const Core& core) { return count(core, Count::run); }

Bounds loop_bounds(const Core& core) {
  Bounds bounds;
  add_loop_bounds(core, bounds);
  return bounds;
}

}  // namespace dovetail::loops
