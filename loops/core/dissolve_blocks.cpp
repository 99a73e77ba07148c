#include "loops/core/dissolve_blocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "loops/core/hoist_conditions.h"
#include "loops/linear.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

Expr conjunction(const Expr& a, const Expr& b) { return !a ? b : !b ? a : logical_and(a, b); }

// An operand of an intrinsic call: element i of its parameter is element origin + sum(i[axis] * steps[axis]) of the
// buffer.
struct Window {
  Buffer buffer;
  std::vector<Expr> origin;
  std::vector<std::vector<std::int64_t>> steps;

  std::vector<Expr> indices(const std::vector<Expr>& inner) const {
    std::vector<Expr> result = origin;
    for (std::size_t axis = 0; axis < steps.size(); ++axis)
      for (std::size_t dim = 0; dim < result.size(); ++dim)
        if (steps[axis][dim] != 0) result[dim] = result[dim] + inner[axis] * steps[axis][dim];
    return result;
  }
};

// A lowered statement, and the init of a block in it while the init may still move outward over loops.
struct Lowered {
  Core init;
  std::set<const VarNode*> hoist_over;
  Core main;

  Core together() && { return core_sequence({std::move(init), std::move(main)}); }
};

class Dissolver {
 public:
  Dissolver(const IntrinsicTable& intrinsics, CallForm calls, CoreProgram& result)
      : intrinsics_(intrinsics), calls_(calls), result_(result) {}

  Lowered lower(const Stmt& stmt) {
    if (!stmt) return {};
    return std::visit([&](const auto& n) { return lower(n); }, stmt->node);
  }

 private:
  Expr resolve(const Expr& expr) const {
    if (!expr) return expr;
    const Expr resolved = rewrite_expr(substitute(expr, vars_), [&](const Expr& e) -> Expr {
      const auto* n = std::get_if<LoadExpr>(&e->node);
      if (n == nullptr) return e;
      const auto [buffer, indices] = resolve_access(n->buffer, n->indices);
      return buffer == n->buffer ? e : load(buffer, indices);
    });
    return simplify(resolved, result_.bounds);
  }
  // The location of the access in the program's own buffers; the indices are resolved already.
  std::pair<Buffer, std::vector<Expr>> resolve_access(const Buffer& buffer, const std::vector<Expr>& indices) const {
    const auto window = windows_.find(buffer.get());
    return window == windows_.end() ? std::pair(buffer, indices)
                                    : std::pair(window->second.buffer, window->second.indices(indices));
  }

  Lowered lower(const For& n) {
    if (n.extent == 0) return {};
    // A nest bound to blocks is one kernel if it has a single block.
    const bool keeps_together = n.kind == ForKind::thread && n.thread_axis.starts_with("block.");
    if (n.extent == 1 && !keeps_together) {
      vars_[n.var.get()] = int_imm(0, n.var->dtype);
      return lower(n.body);
    }
    // A loop inside an intrinsic's semantics is emitted once per call, so it gets a new variable each time.
    const Var var = make_var(n.var->name, n.var->dtype);
    vars_[n.var.get()] = ref(var);
    result_.bounds[var.get()] = {0, n.extent - 1};
    perfect_.push_back(var.get());
    Lowered body = lower(n.body);
    if (!perfect_.empty()) perfect_.pop_back();
    Core init;
    if (body.hoist_over.count(var.get()) != 0) {
      init = std::move(body.init);
      body.init = nullptr;
    }
    const std::set<const VarNode*> hoist_over = body.hoist_over;
    Core inner = std::move(body).together();
    return {init, hoist_over,
            inner ? make_core(CoreLoop{var, n.extent, n.kind, n.thread_axis, n.annotations, inner}) : nullptr};
  }

  // Lowers a statement across which no init can move.
  Core lower_apart(const Stmt& stmt) {
    const auto saved = std::exchange(perfect_, {});
    Core result = lower(stmt).together();
    perfect_ = saved;
    return result;
  }

  Lowered lower(const If& n) {
    return {{}, {}, core_if(resolve(n.condition), lower_apart(n.then_body), lower_apart(n.else_body))};
  }

  Lowered lower(const Sequence& n) {
    if (n.body.size() == 1) return lower(n.body.front());
    std::vector<Core> body;
    for (const Stmt& stmt : n.body) body.push_back(lower_apart(stmt));
    return {{}, {}, core_sequence(std::move(body))};
  }

  // The loop variables that are all 0 if and only if the reduce iterators are; nullopt if no such set exists.
  std::optional<std::set<const VarNode*>> zero_vars(const Block& n) const {
    std::set<const VarNode*> result;
    for (const Iterator& iterator : n.iterators) {
      if (iterator.kind != IterKind::reduce) continue;
      const auto form = affine(vars_.at(iterator.var.get()), result_.bounds);
      if (!form || form->constant != 0) return std::nullopt;
      for (const auto& [var, coefficient] : form->coefficients) {
        if (coefficient < 0 || result_.bounds.count(var) == 0) return std::nullopt;
        result.insert(var);
      }
    }
    return result;
  }

  static bool mentions(const Expr& expr, const std::set<const VarNode*>& vars) {
    bool found = false;
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<VarRef>(&e->node)) found |= vars.count(n->var.get()) != 0;
    });
    return found;
  }

  Lowered lower(const Block& n) {
    const std::string saved_block = std::exchange(block_, n.name);
    const bool saved_product_sum = std::exchange(product_sum_, is_product_sum(n));
    VarMap bindings;
    for (const Iterator& iterator : n.iterators) bindings[iterator.var.get()] = resolve(iterator.binding);
    for (auto& [var, binding] : bindings) vars_[var] = binding;
    const Expr predicate = resolve(n.predicate);
    Lowered result;
    const std::size_t initialized_before = initialized_.size();
    const bool saved_from_zero = from_zero_;
    if (n.init) from_zero_ = starts_at_zero(n.init), result = lower_init(n, predicate);
    const auto saved_perfect = perfect_;
    if (predicate || n.init) perfect_.clear();
    Lowered body = lower(n.body);
    perfect_ = saved_perfect;
    initialized_.resize(initialized_before);
    from_zero_ = saved_from_zero;
    block_ = saved_block;
    product_sum_ = saved_product_sum;
    if (!n.init && !predicate) return body;
    result.main = guarded(predicate, std::move(body).together());
    return result;
  }

  // `body` where the predicate holds. Terms that load are evaluated where all others hold, which may bound their
  // indices: splitting a loop adds such a term.
  static Core guarded(const Expr& predicate, Core body) {
    if (!predicate) return body;
    const PartedCondition parted = part_condition(predicate, {});
    return core_if(parted.outer, core_if(parted.inner, std::move(body)));
  }

  // The init runs where all reduce iterators are 0. The init moves out of the loops directly around the block whose
  // variable must be 0: it runs before them instead of in their first iteration.
  Lowered lower_init(const Block& n, const Expr& predicate) {
    Lowered result;
    const auto zero = zero_vars(n);
    Expr guard = predicate;
    VarMap at_zero;
    if (zero) {
      while (!perfect_.empty() && zero->count(perfect_.back()) != 0 && at_zero.size() < zero->size()) {
        const VarNode* var = perfect_.back();
        perfect_.pop_back();
        at_zero[var] = int_imm(0, var->dtype);
        result.hoist_over.insert(var);
      }
      for (std::size_t i = 0; i < result.hoist_over.size(); ++i)
        perfect_.push_back(nullptr);  // the enclosing loops pop their own entries
    }
    for (const Iterator& iterator : n.iterators) {
      if (iterator.kind != IterKind::reduce) continue;
      const Expr binding = vars_.at(iterator.var.get());
      guard = conjunction(guard, binary(BinaryOp::eq, binding, int_imm(0, binding->dtype)));
    }
    const VarMap saved = vars_;
    for (auto& [var, value] : vars_) value = simplify(substitute(value, at_zero), result_.bounds);
    guard = simplify(substitute(guard, at_zero), result_.bounds);
    result.init = guarded(guard, lower_apart(n.init));
    vars_ = saved;
    if (zero && !(predicate && mentions(predicate, *zero))) note_initialized(n.init, *zero);
    return result;
  }

  static bool starts_at_zero(const Stmt& init) {
    const auto* n = std::get_if<Store>(&init->node);
    return n != nullptr && std::ranges::all_of(n->targets, [](const StoreTarget& target) {
             return structurally_equal(target.value, constant(0, target.value->dtype));
           });
  }

  void note_initialized(const Stmt& init, const std::set<const VarNode*>& zero) {
    const auto* n = std::get_if<Store>(&init->node);
    if (n == nullptr) return;
    for (const StoreTarget& target : n->targets) {
      LoadExpr place = resolve_place(target.buffer, target.indices);
      bool moves = false;
      for (const Expr& index : place.indices) moves |= mentions(index, zero);
      if (!moves) initialized_.push_back(std::move(place));
    }
  }

  LoadExpr resolve_place(const Buffer& buffer, const std::vector<Expr>& indices) const {
    std::vector<Expr> resolved;
    for (const Expr& index : indices) resolved.push_back(resolve(index));
    auto [target, mapped] = resolve_access(buffer, resolved);
    for (Expr& index : mapped) index = simplify(index, result_.bounds);
    return {target, mapped};
  }

  Lowered lower(const Store& n) {
    CoreStore store{{}, block_, initialized_, product_sum_, from_zero_};
    for (const StoreTarget& target : n.targets) {
      LoadExpr place = resolve_place(target.buffer, target.indices);
      store.targets.push_back({place.buffer, place.indices, resolve(target.value)});
    }
    return {{}, {}, make_core(std::move(store))};
  }

  Lowered lower(const IntrinsicCall& n) {
    const Intrinsic* intrinsic = find_intrinsic(intrinsics_, n.intrinsic);
    DOVETAIL_CHECK(intrinsic != nullptr, "call of " + n.intrinsic + " must have passed the verifier");
    if (calls_ == CallForm::kept) {
      CoreCall call{n.intrinsic, n.operands, {}};
      for (IntrinsicOperand& operand : call.operands)
        operand.indices = resolve_place(operand.buffer, operand.indices).indices;
      for (const Expr& immediate : n.immediates) call.immediates.push_back(resolve(immediate));
      return {{}, {}, make_core(std::move(call))};
    }
    std::map<const BufferNode*, Window> windows;
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      const LoadExpr place = resolve_place(n.operands[i].buffer, n.operands[i].indices);
      windows[intrinsic->semantics.parameters[i].buffer.get()] = {place.buffer, place.indices, n.operands[i].steps};
    }
    std::vector<Core> body;
    for (const Buffer& buffer : intrinsic->semantics.allocations) {
      const Buffer own =
          make_buffer(fmt::format("{}.{}", n.intrinsic, buffer->name), buffer->dtype, buffer->shape, buffer->scope);
      std::vector<std::vector<std::int64_t>> unit(own->shape.size(), std::vector<std::int64_t>(own->shape.size(), 0));
      for (std::size_t axis = 0; axis < unit.size(); ++axis) unit[axis][axis] = 1;
      windows[buffer.get()] = {own, std::vector<Expr>(own->shape.size(), int_imm(0)), unit};
      result_.temporary.push_back(own);
      body.push_back(make_core(CoreForget{own}));
    }
    VarMap vars;
    for (std::size_t i = 0; i < n.immediates.size(); ++i)
      vars[intrinsic->immediates[i].get()] = resolve(n.immediates[i]);
    const auto saved_vars = std::exchange(vars_, std::move(vars));
    const auto saved_windows = std::exchange(windows_, std::move(windows));
    const auto saved_initialized = std::exchange(initialized_, {});
    body.push_back(lower_apart(intrinsic->semantics.body));
    vars_ = saved_vars;
    windows_ = saved_windows;
    initialized_ = saved_initialized;
    return {{}, {}, core_sequence(std::move(body))};
  }

  const IntrinsicTable& intrinsics_;
  CallForm calls_;
  CoreProgram& result_;
  VarMap vars_;  // loop variables and iterators as expressions of the core's loop variables
  std::map<const BufferNode*, Window> windows_;  // inside an intrinsic's semantics
  std::vector<const VarNode*> perfect_;          // enclosing loops that contain only the statement being lowered
  std::vector<LoadExpr> initialized_;
  std::string block_;
  bool product_sum_ = false, from_zero_ = false;
};

}  // namespace

CoreProgram dissolve_blocks(const Program& program, const IntrinsicTable& intrinsics, CallForm calls) {
  CoreProgram result;
  result.temporary = program.allocations;
  Dissolver dissolver(intrinsics, calls, result);
  result.body = dissolver.lower(program.body).together();
  return result;
}

}  // namespace dovetail::loops
