#include "loops/rewrite.h"

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/overloaded.h"
#include "loops/sharing.h"

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
};  // the position at which a block's expression is evaluated: bindings outside it, everything else with its iterators

// Calls f(expr, scope) on the expressions of the statement itself, not on those of inner statements.
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

// Calls f(stmt, required) on the direct child statements. Null children are skipped.
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

// A statement being rewritten: it shares every node whose children do not change, and is copied only when one does.
class Rebuilding {
 public:
  explicit Rebuilding(const Stmt& original) : original_(original) {}

  void own_exprs(const ExprFn& around, const ExprFn& inside) {
    replace<Expr>([](auto& node, const auto& visit) { each_own_expr(node, visit); },
                  [&](const Expr& expr, Scope scope) { return scope == Scope::around ? around(expr) : inside(expr); });
  }

  // A removed (null) statement is dropped from a sequence or becomes an empty one where a body is required.
  void inner_stmts(const std::function<Stmt(const Stmt&)>& fn) {
    replace<Stmt>([](auto& node, const auto& visit) { each_inner_stmt(node, visit); },
                  [&](const Stmt& stmt, bool required) {
                    Stmt mapped = fn(stmt);
                    return mapped || !required ? mapped : make_stmt(Sequence{});
                  });
    if (!copy_) return;
    if (auto* sequence = std::get_if<Sequence>(&*copy_)) std::erase(sequence->body, nullptr);
  }

  const decltype(StmtNode::node)& node() const { return copy_ ? *copy_ : original_->node; }
  decltype(StmtNode::node)& edit() {
    if (!copy_) copy_ = original_->node;
    return *copy_;
  }
  Stmt finish() { return copy_ ? make_stmt(*std::move(copy_)) : original_; }

 private:
  // Calls `map` on each part that `each` visits; the first change makes the copy.
  template <typename Part, typename Each, typename Map>
  void replace(const Each& each, const Map& map) {
    std::vector<Part> mapped;
    bool changed = false;
    each(node(), [&](const Part& part, auto kind) {
      mapped.push_back(map(part, kind));
      changed |= mapped.back() != part;
    });
    if (!changed) return;
    auto next = mapped.begin();
    each(edit(), [&](Part& part, auto) { part = std::move(*next++); });
  }

  const Stmt& original_;
  std::optional<decltype(StmtNode::node)> copy_;
};

VarMap without(const VarMap& vars, const VarNode* bound) {
  VarMap rest = vars;
  rest.erase(bound);
  return rest;
}

// Substitution into the expressions of one statement.
class Substitution {
 public:
  explicit Substitution(const VarMap& vars) : vars_(vars) {}

  Expr operator()(const Expr& expr) {
    if (!expr || vars_.empty()) return expr;
    if (const auto* n = std::get_if<VarRef>(&expr->node)) {
      const auto found = vars_.find(n->var.get());
      return found == vars_.end() ? expr : found->second;
    }
    return results_.of(expr, [&](const Expr& e) { return map_children(e, std::ref(*this)); });
  }

 private:
  const VarMap& vars_;
  SharedResults<Expr> results_;
};

// Bottom-up rewriting of the expressions of one statement.
class Rewriting {
 public:
  explicit Rewriting(const ExprFn& rewrite) : rewrite_(rewrite) {}

  Expr operator()(const Expr& expr) {
    if (!expr) return expr;
    return results_.of(expr, [&](const Expr& e) { return rewrite_(map_children(e, std::ref(*this))); });
  }

 private:
  const ExprFn& rewrite_;
  SharedResults<Expr> results_;
};

void visit_once(const Expr& expr, const std::function<void(const Expr&)>& visit, Seen& seen) {
  if (!expr || seen.again(expr)) return;
  visit(expr);
  each_child(expr->node, [&](const Expr& child) { visit_once(child, visit, seen); });
}

}  // namespace

Expr map_children(const Expr& expr, const std::function<Expr(const Expr&)>& fn) {
  if (std::holds_alternative<IntImm>(expr->node) || std::holds_alternative<FloatImm>(expr->node) ||
      std::holds_alternative<VarRef>(expr->node))
    return expr;
  if (const auto* n = std::get_if<Binary>(&expr->node)) {  // the most frequent kind of node
    Expr a = fn(n->a), b = fn(n->b);
    if (a == n->a && b == n->b) return expr;
    return std::make_shared<const ExprNode>(ExprNode{expr->dtype, Binary{n->op, std::move(a), std::move(b)}});
  }
  // The node is not copied before a child is known to change: a copy would reference the children too, so that they
  // would look shared.
  std::vector<Expr> mapped;  // children from the first changed one on
  std::size_t same = 0;      // unchanged children before that
  each_child(expr->node, [&](const Expr& child) {
    Expr result = fn(child);
    if (mapped.empty() && result == child) ++same;
    else mapped.push_back(std::move(result));
  });
  if (mapped.empty()) return expr;
  auto node = expr->node;
  std::size_t position = 0;
  each_child(node, [&](Expr& child) {
    if (position >= same) child = std::move(mapped[position - same]);
    ++position;
  });
  return std::make_shared<const ExprNode>(ExprNode{expr->dtype, std::move(node)});
}

void each_operand(const Expr& expr, const std::function<void(const Expr&)>& fn) { each_child(expr->node, fn); }

Expr substitute(const Expr& expr, const VarMap& vars) { return Substitution(vars)(expr); }

Stmt substitute(const Stmt& stmt, const VarMap& vars) {
  if (!stmt || vars.empty()) return stmt;
  VarMap inner_vars;  // differs from `vars` only if the statement binds one of them
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
  Rebuilding rebuilt(stmt);
  Substitution around(vars), inside(*inner);
  rebuilt.own_exprs(std::ref(around), std::ref(inside));
  rebuilt.inner_stmts([&](const Stmt& s) { return substitute(s, *inner); });
  return rebuilt.finish();
}

Stmt replace_buffers(const Stmt& stmt, const BufferMap& buffers) {
  if (!stmt || buffers.empty()) return stmt;
  const auto replaced = [&](const Buffer& buffer) {
    const auto found = buffers.find(buffer.get());
    return found != buffers.end() && found->second != buffer;
  };
  const auto each_buffer = [](auto& node, const auto& visit) {
    if (auto* block = std::get_if<Block>(&node)) {
      for (auto& region : block->reads) visit(region.buffer);
      for (auto& region : block->writes) visit(region.buffer);
    } else if (auto* store = std::get_if<Store>(&node)) {
      for (auto& target : store->targets) visit(target.buffer);
    } else if (auto* call = std::get_if<IntrinsicCall>(&node)) {
      for (auto& operand : call->operands) visit(operand.buffer);
    }
  };
  const ExprFn replace_load = [&](const Expr& e) -> Expr {
    const auto* n = std::get_if<LoadExpr>(&e->node);
    if (n == nullptr) return e;
    const auto found = buffers.find(n->buffer.get());
    return found == buffers.end() ? e : load(found->second, n->indices);
  };
  Rewriting replace_loads(replace_load);
  Rebuilding rebuilt(stmt);
  rebuilt.own_exprs(std::ref(replace_loads), std::ref(replace_loads));
  bool any = false;
  each_buffer(rebuilt.node(), [&](const Buffer& buffer) { any |= replaced(buffer); });
  if (any)
    each_buffer(rebuilt.edit(), [&](Buffer& buffer) {
      if (replaced(buffer)) buffer = buffers.at(buffer.get());
    });
  rebuilt.inner_stmts([&](const Stmt& s) { return replace_buffers(s, buffers); });
  return rebuilt.finish();
}

Expr rewrite_expr(const Expr& expr, const std::function<Expr(const Expr&)>& rewrite) {
  return Rewriting(rewrite)(expr);
}

Stmt rewrite_stmt(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& rewrite,
                  const std::function<Expr(const Expr&)>& rewrite_exprs) {
  if (!stmt) return stmt;
  Rebuilding rebuilt(stmt);
  if (rewrite_exprs) {
    Rewriting rewritten(rewrite_exprs);
    rebuilt.own_exprs(std::ref(rewritten), std::ref(rewritten));
  }
  rebuilt.inner_stmts([&](const Stmt& s) { return rewrite_stmt(s, rewrite, rewrite_exprs); });
  const Stmt result = rebuilt.finish();
  return rewrite ? rewrite(result) : result;
}

void visit_exprs(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  Seen seen;
  visit_once(expr, visit, seen);
}

void visit_exprs(const Stmt& stmt, const std::function<void(const Expr&)>& visit) {
  visit_stmts(stmt, [&](const Stmt& s) {
    Seen seen;
    each_own_expr(s->node, [&](const Expr& expr, Scope) { visit_once(expr, visit, seen); });
  });
}

void visit_stmts(const Stmt& stmt, const std::function<void(const Stmt&)>& visit) {
  if (!stmt) return;
  visit(stmt);
  each_inner_stmt(stmt->node, [&](const Stmt& inner, bool) { visit_stmts(inner, visit); });
}

}  // namespace dovetail::loops
