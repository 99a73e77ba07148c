#include "loops/verify.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "loops/facts.h"
#include "loops/print.h"
#include "loops/range.h"
#include "loops/rewrite.h"
#include "loops/sharing.h"

namespace dovetail::loops {
namespace {

enum class Rules { all, around_blocks };

class Verifier {
 public:
  Verifier(const Program& program, const IntrinsicTable& intrinsics, UnprovenIndices unproven,
           const std::vector<Var>& free, Rules rules = Rules::all)
      : program_(program), intrinsics_(intrinsics), unproven_(unproven), rules_(rules), facts_(bounds_) {
    for (const Var& var : free) visible_.insert(var.get()), free_.insert(var.get());
  }

  Diagnostics run() {
    for (const Parameter& parameter : program_.parameters) {
      declare(parameter.buffer);
      if (parameter.role != ParameterRole::output) read_only_.insert(parameter.buffer.get());
    }
    for (const Buffer& buffer : program_.allocations) declare(buffer);
    walk(program_.body);
    return std::move(errors_);
  }

 private:
  void report(std::string why, std::string hint) {
    errors_.push_back({"loop program " + program_.name + " is invalid", block_.empty() ? "" : "block " + block_,
                       std::move(why), std::move(hint)});
  }

  void declare(const Buffer& buffer) {
    buffers_.insert(buffer.get());
    unique(buffer_names_, buffer->name, "buffer");
    for (const std::int64_t extent : buffer->shape)
      if (extent < 0)
        report(fmt::format("buffer {} has a dimension of {} elements", buffer->name, extent),
               "extents must be at least 0");
  }

  void unique(std::set<std::string>& names, const std::string& name, std::string_view kind) {
    if (!names.insert(name).second)
      report(fmt::format("two {}s are named {}", kind, name), fmt::format("give each {} its own name", kind));
  }

  void walk(const Stmt& stmt) {
    if (stmt) std::visit([&](const auto& n) { visit(n); }, stmt->node);
  }

  // The variable is visible while f runs.
  template <typename F>
  void with_var(const Var& var, std::int64_t extent, const F& f) {
    const bool shadows =
        std::any_of(visible_.begin(), visible_.end(), [&](const VarNode* other) { return other->name == var->name; });
    if (shadows)
      report(fmt::format("{} is the name of two variables that are visible together", var->name), "rename one of them");
    if (!is_integer(var->dtype))
      report(fmt::format("variable {} has type {}", var->name, name(var->dtype)),
             "loop variables and iterators must be integers");
    bounds_[var.get()] = {0, std::max<std::int64_t>(extent, 1) - 1};
    const bool added = visible_.insert(var.get()).second;
    f();
    if (added) visible_.erase(var.get());
  }

  void visit(const For& n) {
    unique(loop_names_, n.var->name, "loop");
    if (n.extent < 0) report(fmt::format("loop {} has extent {}", n.var->name, n.extent), "extents must be at least 0");
    if ((n.kind == ForKind::thread) == n.thread_axis.empty())
      report(fmt::format("loop {} of kind {} has thread axis \"{}\"", n.var->name, name(n.kind), n.thread_axis),
             "only thread loops have an axis, and each needs one");
    with_var(n.var, n.extent, [&] { walk(n.body); });
  }

  void visit(const If& n) {
    condition(n.condition, "condition");
    const Facts saved = facts_;
    const auto branch = [&](const Stmt& body, bool holds) {
      conditions_.push_back({n.condition, holds});
      holds ? facts_.assume(n.condition) : facts_.assume_not(n.condition);
      walk(body);
      facts_ = saved;
      conditions_.pop_back();
    };
    branch(n.then_body, true);
    branch(n.else_body, false);
  }

  // What the conditions around a block say of its iterators that are loops.
  void assume_conditions(const Block& n) {
    VarMap iterators;
    for (const Iterator& iterator : n.iterators)
      if (const auto* loop = std::get_if<VarRef>(&iterator.binding->node))
        iterators[loop->var.get()] = ref(iterator.var);
    for (const auto& [condition, holds] : conditions_) {
      const Expr here = substitute(condition, iterators);
      holds ? facts_.assume(here) : facts_.assume_not(here);
    }
  }

  void condition(const Expr& expr, std::string_view kind) {
    if (expr->dtype != DType::boolean)
      report(fmt::format("{} {} has type {}", kind, to_string(expr), name(expr->dtype)), "conditions must be bool");
    read(expr);
  }

  void visit(const Sequence& n) {
    for (const Stmt& stmt : n.body) walk(stmt);
  }

  void visit(const Block& n) {
    const std::string outer_block = std::exchange(block_, n.name);
    unique(block_names_, n.name, "block");
    iterators(n);
    // Inside, only the block's own iterators and the loops within it are visible: its regions must declare all its
    // accesses.
    auto outer_visible = visible_;
    const Facts outer_facts = facts_;
    for (const Iterator& iterator : n.iterators) {
      const bool shadows = std::any_of(outer_visible.begin(), outer_visible.end(),
                                       [&](const VarNode* other) { return other->name == iterator.var->name; });
      if (shadows)
        report(fmt::format("iterator {} has the same name as a variable around the block", iterator.var->name),
               "rename one of them");
      bounds_[iterator.var.get()] = {0, std::max<std::int64_t>(iterator.extent, 1) - 1};
      if (!visible_.insert(iterator.var.get()).second)
        report(fmt::format("iterator {} is bound twice", iterator.var->name), "bind each iterator once");
    }
    if (!conditions_.empty()) assume_conditions(n);
    if (n.predicate) {
      condition(n.predicate, "predicate");  // may also use variables of the enclosing loops
      facts_.assume(n.predicate);
      VarMap bindings;
      for (const Iterator& iterator : n.iterators) bindings[iterator.var.get()] = iterator.binding;
      facts_.assume(substitute(n.predicate, bindings));
    }
    for (const VarNode* var : outer_visible)
      if (free_.count(var) == 0) visible_.erase(var);
    if (rules_ == Rules::all) {
      ++block_depth_;
      walk(n.init);
      walk(n.body);
      --block_depth_;
      declared_regions(n);
      reduction(n);
    }
    visible_ = std::move(outer_visible);
    facts_ = outer_facts;
    block_ = outer_block;
  }

  void iterators(const Block& n) {
    std::set<std::string> names;
    VarMap bindings;
    for (const Iterator& iterator : n.iterators) bindings[iterator.var.get()] = iterator.binding;
    const Expr predicate = n.predicate ? substitute(n.predicate, bindings) : nullptr;
    for (const Iterator& iterator : n.iterators) {
      unique(names, iterator.var->name, "iterator");
      const auto text = [&] {
        return fmt::format("iterator {} = {}", iterator.var->name, to_string(iterator.binding));
      };
      if (iterator.extent < 1)
        report(fmt::format("iterator {} has extent {}", iterator.var->name, iterator.extent),
               "extents of iterators must be at least 1");
      if (iterator.binding->dtype != iterator.var->dtype)
        report(fmt::format("{}: the binding has type {}, the iterator {}", text(), name(iterator.binding->dtype),
                           name(iterator.var->dtype)),
               "cast the binding");
      read(iterator.binding);
      if (!quasi_affine(iterator.binding)) {
        report(fmt::format("{} is not affine in the loops around the block", text()),
               "bind iterators to sums of loop variables times constants, and their // and %");
        continue;
      }
      if (iterator.binding->dtype != DType::int64 || range_of(iterator.binding, bounds_).within(0, iterator.extent - 1))
        continue;
      Facts facts = facts_;
      if (predicate) facts.assume(predicate);
      const Expr binding = simplify(iterator.binding, bounds_);
      if (facts.in_range(binding, iterator.extent)) continue;
      const auto range = bound(binding, bounds_);
      report(range ? fmt::format("{} has values {} to {}, but the iterator's range is 0 to {}", text(), range->min,
                                 range->max, iterator.extent - 1)
                   : fmt::format("{} has no known range, but the iterator's range is 0 to {}", text(),
                                 iterator.extent - 1),
             "guard the block by a predicate (where ...), or correct the extents of the loops or the iterator");
    }
  }

  // Accepts sums of variables times constants, and quotients and remainders of such sums by constants, which result
  // from splitting and fusing loops.
  static bool quasi_affine(const Expr& expr) {
    if (std::holds_alternative<IntImm>(expr->node) || std::holds_alternative<VarRef>(expr->node)) return true;
    if (const auto* n = std::get_if<Cast>(&expr->node)) return is_integer(n->a->dtype) && quasi_affine(n->a);
    if (const auto* n = std::get_if<Unary>(&expr->node)) return n->op == UnaryOp::neg && quasi_affine(n->a);
    const auto* n = std::get_if<Binary>(&expr->node);
    if (n == nullptr) return false;
    const bool by_constant = std::holds_alternative<IntImm>(n->b->node);
    switch (n->op) {
      case BinaryOp::add:
      case BinaryOp::sub: return quasi_affine(n->a) && quasi_affine(n->b);
      case BinaryOp::mul:
        return (by_constant && quasi_affine(n->a)) ||
               (std::holds_alternative<IntImm>(n->a->node) && quasi_affine(n->b));
      case BinaryOp::div:
      case BinaryOp::mod:
      case BinaryOp::floor_div:
      case BinaryOp::floor_mod: return by_constant && quasi_affine(n->a);
      default: return false;
    }
  }

  void visit(const Store& n) {
    if (block_depth_ == 0)
      report(fmt::format("buffer {} is stored outside any block", n.targets.empty() ? "?" : n.targets[0].buffer->name),
             "put the store into a block");
    if (n.targets.empty()) report("a store has no target", "remove it");
    for (const StoreTarget& target : n.targets) {
      if (target.value->dtype != target.buffer->dtype)
        report(fmt::format("a value of type {} is stored to buffer {} of type {}", name(target.value->dtype),
                           target.buffer->name, name(target.buffer->dtype)),
               "cast the value");
      writable(target.buffer);
      access(target.buffer, target.indices, {});
      for (const Expr& index : target.indices) read(index);
      read(target.value);
    }
  }

  void writable(const Buffer& buffer) {
    if (read_only_.count(buffer.get()) != 0)
      report(fmt::format("input {} is written", buffer->name), "write to an output or an allocation");
  }

  void visit(const IntrinsicCall& n) {
    if (block_depth_ == 0)
      report(fmt::format("intrinsic {} is called outside any block", n.intrinsic), "put the call into a block");
    for (const IntrinsicOperand& operand : n.operands)
      for (const Expr& index : operand.indices) read(index);
    for (const Expr& immediate : n.immediates) read(immediate);
    const Intrinsic* row = find_intrinsic(intrinsics_, n.intrinsic);
    if (row == nullptr)
      return report(
          fmt::format("intrinsic {} is not among the {} intrinsics of the target", n.intrinsic, intrinsics_.size()),
          "pass the target's intrinsics");
    const auto& parameters = row->semantics.parameters;
    if (n.operands.size() != parameters.size())
      return report(
          fmt::format("{} is called with {} operands, but needs {}", n.intrinsic, n.operands.size(), parameters.size()),
          "give one operand for each parameter");
    if (n.immediates.size() != row->immediates.size())
      return report(fmt::format("{} is called with {} immediates, but needs {}", n.intrinsic, n.immediates.size(),
                                row->immediates.size()),
                    "give each immediate a value");
    for (std::size_t i = 0; i < n.immediates.size(); ++i)
      if (n.immediates[i]->dtype != row->immediates[i]->dtype)
        report(fmt::format("immediate {} of {} has type {}, not {}", row->immediates[i]->name, n.intrinsic,
                           name(n.immediates[i]->dtype), name(row->immediates[i]->dtype)),
               "cast it");
    for (std::size_t i = 0; i < n.operands.size(); ++i) operand(n, *row, i);
  }

  void operand(const IntrinsicCall& n, const Intrinsic& row, std::size_t i) {
    const IntrinsicOperand& operand = n.operands[i];
    const BufferNode& parameter = *row.semantics.parameters[i].buffer;
    const std::string text = fmt::format("operand {} ({}) of {}", i, operand.buffer->name, n.intrinsic);
    if (operand.buffer->dtype != parameter.dtype)
      report(fmt::format("{} has type {}, not {}", text, name(operand.buffer->dtype), name(parameter.dtype)),
             "cast into a buffer of that type first");
    if (i < row.scopes.size() && !row.scopes[i].empty() && operand.buffer->scope != row.scopes[i])
      report(fmt::format("{} is in scope {}, not {}", text, operand.buffer->scope, row.scopes[i]),
             "copy it to that scope (cache_read, cache_write, set_scope)");
    if (operand.steps.size() != parameter.shape.size())
      return report(fmt::format("{} has steps for {} axes, but the intrinsic's operand has {} axes", text,
                                operand.steps.size(), parameter.shape.size()),
                    "give one step list per axis");
    for (const auto& step : operand.steps)
      if (step.size() != operand.buffer->shape.size())
        return report(fmt::format("{} has a step of {} dimensions, but the buffer has {}", text, step.size(),
                                  operand.buffer->shape.size()),
                      "give one number per buffer dimension");
    if (row.semantics.parameters[i].role == ParameterRole::output) writable(operand.buffer);
    std::vector<std::pair<std::int64_t, std::int64_t>> reach(operand.buffer->shape.size(), {0, 0});
    for (std::size_t axis = 0; axis < operand.steps.size(); ++axis)
      for (std::size_t dim = 0; dim < reach.size(); ++dim) {
        const std::int64_t distance = operand.steps[axis][dim] * (parameter.shape[axis] - 1);
        (distance < 0 ? reach[dim].first : reach[dim].second) += distance;
      }
    access(operand.buffer, operand.indices, reach);
  }

  void read(const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<VarRef>(&e->node); n != nullptr && visible_.count(n->var.get()) == 0)
        report(fmt::format("variable {} is not visible in {}", n->var->name, to_string(expr)),
               block_depth_ > 0
                   ? "inside a block use its iterators and the loops within it; bind an iterator to the variable"
                   : "use the enclosing loops");
    });
    Seen proven;
    loads(expr, proven);
  }

  // Loads are checked under the conditions of the enclosing selects. An index `proven` under fewer conditions is also
  // proven under more; each side of a select is separate, since what holds there need not hold elsewhere.
  void loads(const Expr& expr, Seen& proven) {
    if (proven.again(expr)) return;
    if (const auto* n = std::get_if<Select>(&expr->node)) {
      loads(n->condition, proven);
      const Facts saved = facts_;
      const auto side = [&](const Expr& e) {
        if (facts_.count() == saved.count()) return loads(e, proven);  // a condition on data
        Seen own = proven;
        loads(e, own);
        facts_ = saved;
      };
      facts_.assume(n->condition);
      side(n->if_true);
      facts_.assume_not(n->condition);
      side(n->if_false);
      return;
    }
    if (const auto* n = std::get_if<LoadExpr>(&expr->node)) access(n->buffer, n->indices, {});
    each_operand(expr, [&](const Expr& operand) { loads(operand, proven); });
  }

  // `reach`: how far below and above the index each dimension is accessed; empty if only the element itself is.
  void access(const Buffer& buffer, const std::vector<Expr>& indices,
              const std::vector<std::pair<std::int64_t, std::int64_t>>& reach) {
    if (buffers_.count(buffer.get()) == 0)
      report(fmt::format("buffer {} is neither a parameter nor an allocation of the program", buffer->name),
             "declare it");
    if (indices.size() != buffer->shape.size())
      return report(fmt::format("buffer {} of rank {} is accessed with {} indices", buffer->name, buffer->shape.size(),
                                indices.size()),
                    "give one index per dimension");
    for (std::size_t dim = 0; dim < indices.size(); ++dim) {
      const auto [below, above] = reach.empty() ? std::pair<std::int64_t, std::int64_t>{0, 0} : reach[dim];
      index(buffer, dim, indices[dim], below, above);
    }
  }

  void index(const Buffer& buffer, std::size_t dim, const Expr& expr, std::int64_t below, std::int64_t above) {
    const auto text = [&] {
      return fmt::format("index {} of dimension {} of buffer {}", to_string(expr), dim, buffer->name);
    };
    if (expr->dtype != DType::int64)
      return report(fmt::format("{} has type {}", text(), name(expr->dtype)), "cast it: indices must be int64");
    bool known = true;
    visit_exprs(expr, [&](const Expr& e) {
      if (std::holds_alternative<LoadExpr>(e->node)) known = false;
      if (const auto* n = std::get_if<VarRef>(&e->node)) known &= bounds_.count(n->var.get()) != 0;
    });
    if (!known || unproven_ == UnprovenIndices::allow) return;  // checked at run time
    const std::int64_t extent = buffer->shape[dim];
    if (range_of(expr, bounds_).within(-below, extent - 1 - above)) return;
    const Expr simple = simplify(expr, bounds_);
    if (facts_.in_range(simplify(simple + below, bounds_), extent) &&
        facts_.in_range(simplify(simple + above, bounds_), extent))
      return;
    const auto range = bound(simple, bounds_);
    report(range ? fmt::format("{} cannot be proven in bounds: its range is {} to {}, the extent is {}", text(),
                               range->min + below, range->max + above, extent)
                 : fmt::format("{} cannot be proven in bounds: its range is unknown, the extent is {}", text(), extent),
           "guard the access by a predicate or select, or correct the index");
  }

  void declared_regions(const Block& n) {
    const BlockRegions touched = infer_regions(n, intrinsics_);
    covers("reads", n.reads, touched.reads);
    covers("writes", n.writes, touched.writes);
  }

  void covers(std::string_view kind, const std::vector<Region>& declared, const std::vector<Region>& touched) {
    for (const Region& region : declared)
      if (region.ranges.size() != region.buffer->shape.size())
        return report(fmt::format("the region of buffer {} in {} has {} ranges, but the buffer has {} dimensions",
                                  region.buffer->name, kind, region.ranges.size(), region.buffer->shape.size()),
                      "give one range per dimension");
    for (const Region& region : touched) {
      const bool covered = std::any_of(declared.begin(), declared.end(),
                                       [&](const Region& candidate) { return contains(candidate, region); });
      if (covered) continue;
      std::string ranges;
      for (const RangeExpr& range : region.ranges)
        ranges += fmt::format("{}{}{}", ranges.empty() ? "" : ", ", to_string(range.min),
                              range.extent == 1 ? "" : fmt::format(" +: {}", range.extent));
      report(fmt::format("{}[{}] is accessed, but not covered by the declared {}", region.buffer->name, ranges, kind),
             fmt::format("declare it under {} (infer_regions gives tight boxes)", kind));
    }
  }

  bool contains(const Region& outer, const Region& inner) const {
    if (outer.buffer != inner.buffer) return false;
    for (std::size_t dim = 0; dim < inner.ranges.size(); ++dim) {
      const RangeExpr &o = outer.ranges[dim], &i = inner.ranges[dim];
      if (o.extent >= i.extent && structurally_equal(o.min, i.min)) continue;
      const auto at_least_0 = [&](const Expr& expr) {
        const Range range = range_of(simplify(expr, bounds_), bounds_);
        return !range.assumed && range.min >= 0;
      };
      const bool whole = at_least_0(int_imm(0) - o.min) && at_least_0(o.min + o.extent - outer.buffer->shape[dim]);
      if (whole) continue;
      if (!at_least_0(i.min - o.min) || !at_least_0(o.min + o.extent - i.min - i.extent)) return false;
    }
    return true;
  }

  // With reduce iterators, a stored element must not depend on them, and must be accumulated.
  void reduction(const Block& n) {
    std::set<const VarNode*> reduce;
    for (const Iterator& iterator : n.iterators)
      if (iterator.kind == IterKind::reduce) reduce.insert(iterator.var.get());
    if (reduce.empty()) return;
    const auto moves = [&](const Expr& index) {
      const VarNode* found = nullptr;
      visit_exprs(index, [&](const Expr& e) {
        if (const auto* v = std::get_if<VarRef>(&e->node); v != nullptr && reduce.count(v->var.get()) != 0)
          found = v->var.get();
      });
      return found;
    };
    const auto stays = [&](const Stmt& stmt) {
      const auto* store = std::get_if<Store>(&stmt->node);
      if (store == nullptr) return;
      for (const StoreTarget& target : store->targets)
        for (const Expr& index : target.indices)
          if (const VarNode* var = moves(index))
            report(fmt::format("the index of the store to {}[... {} ...] depends on the reduce iterator {}",
                               target.buffer->name, to_string(index), var->name),
                   "index the result of a reduction by spatial iterators only, or make the iterator spatial");
    };
    if (n.init) visit_stmts(n.init, stays);
    if (n.body) visit_stmts(n.body, stays);
    const auto* store = n.body ? std::get_if<Store>(&n.body->node) : nullptr;
    if (store == nullptr) return;
    for (const StoreTarget& target : store->targets) {
      bool accumulates = false;
      for (const StoreTarget& other : store->targets)
        visit_exprs(other.value, [&](const Expr& e) {
          const auto* l = std::get_if<LoadExpr>(&e->node);
          accumulates |= l != nullptr && l->buffer == target.buffer &&
                         std::equal(l->indices.begin(), l->indices.end(), target.indices.begin(), target.indices.end(),
                                    structurally_equal);
        });
      if (!accumulates)
        report(fmt::format("buffer {} is stored under {} reduce iterator(s) without reading its previous value",
                           target.buffer->name, reduce.size()),
               "write buffer[i] = combine(buffer[i], value), or make the iterators spatial or ordered");
    }
  }

  const Program& program_;
  const IntrinsicTable& intrinsics_;
  UnprovenIndices unproven_;
  Rules rules_;
  Diagnostics errors_;
  Bounds bounds_;
  Facts facts_;
  std::set<const BufferNode*> buffers_, read_only_;
  std::set<const VarNode*> visible_, free_;
  std::set<std::string> buffer_names_, loop_names_, block_names_;
  std::vector<std::pair<Expr, bool>> conditions_;  // of the branches around, and whether they hold there
  std::string block_;
  int block_depth_ = 0;
};

}  // namespace

Result<void> verify(const Program& program, const IntrinsicTable& intrinsics, UnprovenIndices unproven) {
  return Verifier(program, intrinsics, unproven, {}).run();
}

Result<void> verify_iterators(const Program& program) {
  return Verifier(program, {}, UnprovenIndices::report, {}, Rules::around_blocks).run();
}

Result<void> verify(const Intrinsic& intrinsic) {
  Diagnostics errors = Verifier(intrinsic.semantics, {}, UnprovenIndices::report, intrinsic.immediates).run();
  if (intrinsic.scopes.size() != intrinsic.semantics.parameters.size())
    errors.push_back({"intrinsic " + intrinsic.name + " is invalid", "",
                      fmt::format("{} scopes are given for {} operands", intrinsic.scopes.size(),
                                  intrinsic.semantics.parameters.size()),
                      "give one scope per operand, \"\" for any"});
  if (!intrinsic.layouts.empty() && intrinsic.layouts.size() != intrinsic.semantics.parameters.size())
    errors.push_back({"intrinsic " + intrinsic.name + " is invalid", "",
                      fmt::format("{} layouts are given for {} operands", intrinsic.layouts.size(),
                                  intrinsic.semantics.parameters.size()),
                      "give one layout per operand, \"\" for a dense one, or none at all"});
  return errors;
}

}  // namespace dovetail::loops
