#include "loops/rewrite.h"

#include <type_traits>
#include <utility>

#include "base/overloaded.h"

namespace dovetail::loops {
namespace {

using ExprFn = std::function<Expr(const Expr&)>;

// Calls f on each child, in evaluation order; `Node` may be const. Null children are skipped.
template <typename Node, typename F>
void each_child(Node& node, const F& f) {
  const auto all = [&](auto& exprs) {
    for (auto& expr : exprs) f(expr);
  };
  std::visit(Overloaded{
                 [](const IntImm&) {},
                 [](const FloatImm&) {},
                 [](const VarRef&) {},
                 [&]<typename N>(N& n) requires requires { n.a; n.b;
}
{ f(n.a), f(n.b); }
, [&]<typename N>(N& n) requires(
      requires { n.a; } && !requires { n.b; }) {
  f(n.a);
}
, [&]<typename N>(N& n) requires requires { n.condition; }
{ f(n.condition), f(n.if_true), f(n.if_false); }
, [&]<typename N>(N& n) requires requires { n.indices; }
{ all(n.indices); }
, [&]<typename N>(N& n) requires requires { n.arguments; }
{ all(n.arguments); }
,
}  // namespace
,
             node);
}  // namespace dovetail::loops

enum class Scope {
  around,
  inside
};  // where a block's expression is evaluated: bindings around it, everything else with its iterators

// Calls f(expr, scope) on the expressions that belong to the statement itself, not on those of statements inside it.
template <typename Node, typename F>
void each_own_expr(Node& node, const F& f) {
  const auto all = [&](auto& exprs) {
    for (auto& expr : exprs) f(expr, Scope::around);
  };
  const auto regions = [&](auto& list) {
    for (auto& region : list)
      for (auto& range : region.ranges) f(range.min, Scope::inside);
  };
  std::visit(Overloaded{
                 [](const For&) {},
                 [](const Sequence&) {},
                 [&]<typename N>(N& n) requires requires { n.condition;
}
{ f(n.condition, Scope::around); }
, [&]<typename N>(N& n) requires requires { n.iterators; }
{
  for (auto& iterator : n.iterators) f(iterator.binding, Scope::around);
  if (n.predicate) f(n.predicate, Scope::inside);
  regions(n.reads);
  regions(n.writes);
}
, [&]<typename N>(N& n) requires requires { n.targets; }
{
  for (auto& target : n.targets) all(target.indices), f(target.value, Scope::around);
}
, [&]<typename N>(N& n) requires requires { n.operands; }
{
  for (auto& operand : n.operands) all(operand.indices);
  all(n.immediates);
}
,
},
             node);
}

// Calls f(stmt, required) on the statements directly inside. Null ones are skipped.
template <typename Node, typename F>
void each_inner_stmt(Node& node, const F& f) {
  const auto one = [&](auto& stmt, bool required) {
    if (stmt) f(stmt, required);
  };
  std::visit(Overloaded{
                 [](const Store&) {},
                 [](const IntrinsicCall&) {},
                 [&]<typename N>(N& n) requires requires { n.extent;
}
{ one(n.body, true); }
, [&]<typename N>(N& n) requires requires { n.then_body; }
{ one(n.then_body, true), one(n.else_body, false); }
, [&]<typename N>(N& n) requires requires { n.init; }
{ one(n.init, false), one(n.body, true); }
, [&]<typename N>(N& n) requires std::is_same_v<std::remove_const_t<N>, Sequence> {
  for (auto& stmt : n.body) one(stmt, false);
}
,
},
             node);
}

// The rebuilding forms share every node whose children did not change.
bool map_own_exprs(decltype(StmtNode::node)& node, const ExprFn& around, const ExprFn& inside) {
  bool changed = false;
  each_own_expr(node, [&](Expr& expr, Scope scope) {
    Expr mapped = scope == Scope::around ? around(expr) : inside(expr);
    changed |= mapped != expr;
    expr = std::move(mapped);
  });
  return changed;
}

// A removed (null) statement leaves a sequence or becomes an empty one where a body is required.
bool map_inner_stmts(decltype(StmtNode::node)& node, const std::function<Stmt(const Stmt&)>& fn) {
  bool changed = false;
  each_inner_stmt(node, [&](Stmt& stmt, bool required) {
    Stmt mapped = fn(stmt);
    changed |= mapped != stmt;
    stmt = mapped || !required ? std::move(mapped) : make_stmt(Sequence{});
  });
  if (auto* sequence = std::get_if<Sequence>(&node)) std::erase(sequence->body, nullptr);
  return changed;
}

Stmt finish(const Stmt& original, decltype(StmtNode::node) node, bool changed) {
  return changed ? make_stmt(std::move(node)) : original;
}

VarMap without(const VarMap& vars, const VarNode* bound) {
  VarMap rest = vars;
  rest.erase(bound);
  return rest;
}

Expr replace_buffer_loads(const Expr& expr, const BufferMap& buffers) {
  return rewrite_expr(expr, [&](const Expr& e) -> Expr {
    const auto* n = std::get_if<LoadExpr>(&e->node);
    if (n == nullptr) return e;
    const auto found = buffers.find(n->buffer.get());
    return found == buffers.end() ? e : load(found->second, n->indices);
  });
}

}  // namespace

Expr map_children(const Expr& expr, const std::function<Expr(const Expr&)>& fn) {
  if (std::holds_alternative<IntImm>(expr->node) || std::holds_alternative<FloatImm>(expr->node) ||
      std::holds_alternative<VarRef>(expr->node))
    return expr;
  if (const auto* n = std::get_if<Binary>(&expr->node)) {  // most nodes: not copied before a child is known to change
    Expr a = fn(n->a), b = fn(n->b);
    if (a == n->a && b == n->b) return expr;
    return std::make_shared<const ExprNode>(ExprNode{expr->dtype, Binary{n->op, std::move(a), std::move(b)}});
  }
  auto node = expr->node;
  bool changed = false;
  each_child(node, [&](Expr& child) {
    Expr mapped = fn(child);
    changed |= mapped != child;
    child = std::move(mapped);
  });
  return changed ? std::make_shared<const ExprNode>(ExprNode{expr->dtype, std::move(node)}) : expr;
}

Expr substitute(const Expr& expr, const VarMap& vars) {
  if (!expr || vars.empty()) return expr;
  if (const auto* n = std::get_if<VarRef>(&expr->node)) {
    const auto found = vars.find(n->var.get());
    return found == vars.end() ? expr : found->second;
  }
  return map_children(expr, [&](const Expr& e) { return substitute(e, vars); });
}

Stmt substitute(const Stmt& stmt, const VarMap& vars) {
  if (!stmt || vars.empty()) return stmt;
  VarMap inner_vars;  // differs from `vars` only where the statement binds one of them
  const VarMap* inner = &vars;
  if (const auto* loop = std::get_if<For>(&stmt->node); loop != nullptr && vars.count(loop->var.get()) != 0) {
    inner_vars = without(vars, loop->var.get());
    inner = &inner_vars;
  }
  if (const auto* block = std::get_if<Block>(&stmt->node)) {
    for (const Iterator& iterator : block->iterators) {
      if (inner->count(iterator.var.get()) == 0) continue;
      inner_vars = without(*inner, iterator.var.get());
      inner = &inner_vars;
    }
  }
  auto node = stmt->node;
  bool changed = map_own_exprs(
      node, [&](const Expr& e) { return substitute(e, vars); }, [&](const Expr& e) { return substitute(e, *inner); });
  changed |= map_inner_stmts(node, [&](const Stmt& s) { return substitute(s, *inner); });
  return finish(stmt, std::move(node), changed);
}

Stmt replace_buffers(const Stmt& stmt, const BufferMap& buffers) {
  if (!stmt || buffers.empty()) return stmt;
  const auto mapped = [&](Buffer& buffer) {
    const auto found = buffers.find(buffer.get());
    if (found == buffers.end() || found->second == buffer) return false;
    buffer = found->second;
    return true;
  };
  const ExprFn replace_loads = [&](const Expr& e) { return replace_buffer_loads(e, buffers); };
  auto node = stmt->node;
  bool changed = map_own_exprs(node, replace_loads, replace_loads);
  if (auto* block = std::get_if<Block>(&node)) {
    for (Region& region : block->reads) changed |= mapped(region.buffer);
    for (Region& region : block->writes) changed |= mapped(region.buffer);
  } else if (auto* store = std::get_if<Store>(&node)) {
    for (StoreTarget& target : store->targets) changed |= mapped(target.buffer);
  } else if (auto* call = std::get_if<IntrinsicCall>(&node)) {
    for (IntrinsicOperand& operand : call->operands) changed |= mapped(operand.buffer);
  }
  changed |= map_inner_stmts(node, [&](const Stmt& s) { return replace_buffers(s, buffers); });
  return finish(stmt, std::move(node), changed);
}

Expr rewrite_expr(const Expr& expr, const std::function<Expr(const Expr&)>& rewrite) {
  if (!expr) return expr;
  return rewrite(map_children(expr, [&](const Expr& e) { return rewrite_expr(e, rewrite); }));
}

Stmt rewrite_stmt(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& rewrite,
                  const std::function<Expr(const Expr&)>& rewrite_exprs) {
  if (!stmt) return stmt;
  auto node = stmt->node;
  bool changed = false;
  if (rewrite_exprs) {
    const ExprFn fn = [&](const Expr& e) { return rewrite_expr(e, rewrite_exprs); };
    changed |= map_own_exprs(node, fn, fn);
  }
  changed |= map_inner_stmts(node, [&](const Stmt& s) { return rewrite_stmt(s, rewrite, rewrite_exprs); });
  Stmt rebuilt = finish(stmt, std::move(node), changed);
  return rewrite ? rewrite(rebuilt) : rebuilt;
}

void visit_exprs(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  if (!expr) return;
  visit(expr);
  each_child(expr->node, [&](const Expr& child) { visit_exprs(child, visit); });
}

void visit_exprs(const Stmt& stmt, const std::function<void(const Expr&)>& visit) {
  visit_stmts(
      stmt, [&](const Stmt& s) { each_own_expr(s->node, [&](const Expr& expr, Scope) { visit_exprs(expr, visit); }); });
}

void visit_stmts(const Stmt& stmt, const std::function<void(const Stmt&)>& visit) {
  if (!stmt) return;
  visit(stmt);
  each_inner_stmt(stmt->node, [&](const Stmt& inner, bool) { visit_stmts(inner, visit); });
}

}  // namespace dovetail::loops
