// Expressions are graphs: two nodes may share a child. Traversals visit it once. Written out, as text or as code, a
// shared node would occur once per parent, and along a chain of x*f(x) the occurrences double with every link; so it is
// written once, and referenced.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

// Whether a traversal may meet the node again. A node with a single parent is met once if its parent is; literals and
// variables are not worth caching.
inline bool may_be_shared(const Expr& expr) {
  return expr.use_count() > 1 && !std::holds_alternative<IntImm>(expr->node) &&
         !std::holds_alternative<FloatImm>(expr->node) && !std::holds_alternative<VarRef>(expr->node);
}

// The two caches below cost nothing while they are empty: most traversals end after a few nodes, and a compilation
// makes millions of them.

// The nodes that a traversal has met. Precondition: none of them is destroyed meanwhile.
class Seen {
 public:
  bool again(const Expr& expr) {
    if (!may_be_shared(expr)) return false;
    const auto end = few_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (std::find(few_.begin(), end, expr.get()) != end) return true;
    if (count_ < few_.size()) {
      few_[count_++] = expr.get();
      return false;
    }
    if (!more_) more_.emplace();
    return !more_->insert(expr.get()).second;
  }

 private:
  std::size_t count_ = 0;
  std::array<const ExprNode*, 16> few_;  // the first `count_` are used: usually enough, and faster than a set
  std::optional<std::unordered_set<const ExprNode*>> more_;
};

// The results that a traversal has computed for shared nodes.
template <typename T>
class SharedResults {
 public:
  template <typename F>
  T of(const Expr& expr, const F& compute) {
    if (!may_be_shared(expr)) return compute(expr);
    for (const auto& [node, result] : few_)
      if (node == expr) return result;
    if (more_)
      if (const auto found = more_->find(expr); found != more_->end()) return found->second;
    T result = compute(expr);
    remember(expr, result);
    return result;
  }

 private:
  static constexpr std::size_t kFew = 16;

  void remember(const Expr& expr, const T& result) {
    if (few_.size() < kFew) {
      if (few_.empty()) few_.reserve(kFew);
      few_.emplace_back(expr, result);
      return;
    }
    if (!more_) more_.emplace();
    more_->emplace(expr, result);
  }

  // Both maps own their keys: a node must not be freed while another node could get its address.
  std::vector<std::pair<Expr, T>> few_;
  std::optional<std::unordered_map<Expr, T>> more_;
};

// True if the expressions, written out, have too many nodes. Small ones are always written out: they are more readable,
// and a compiler finds their common subexpressions.
bool worth_sharing(std::span<const Expr> expressions);

// The shared nodes that a select computes whichever side it chooses: they can be computed before it. A node below an
// inner select's side counts only if that select computes it in any case, too.
class ComputedByBoth {
 public:
  std::vector<Expr> of(const Select& select);  // in an order that depends only on the expression

 private:
  std::vector<Expr> always(const Expr& expr);  // computed with the expression; sorted
  std::vector<Expr> both(const Select& select);

  SharedResults<std::vector<Expr>> results_;
};

// The nodes that have several parents and are large enough to be named, each after its operands.
std::vector<Expr> nodes_to_name(std::span<const Expr> expressions);

}  // namespace dovetail::loops
