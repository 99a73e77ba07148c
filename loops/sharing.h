// Expressions are graphs: what two nodes hold may be one node. Traversals visit it once. Where an expression is written
// out, as text or as code, such a node stands at every place that holds it, and along a chain of x*f(x) those places
// double with every link; then it is written once instead and referred to.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

// Whether a traversal may meet the node again. One that a single holder has is met once, if its holder is; literals and
// variables are not worth remembering.
bool may_be_shared(const Expr& expr);

// Nodes that a traversal has met. Precondition: none of them goes meanwhile.
class Seen {
 public:
  bool again(const Expr& expr) {
    if (!may_be_shared(expr)) return false;
    const auto end = few_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (std::find(few_.begin(), end, expr.get()) != end) return true;
    if (count_ == few_.size()) return !more_.insert(expr.get()).second;
    few_[count_++] = expr.get();
    return false;
  }

 private:
  std::array<const ExprNode*, 16> few_{};  // of most expressions these are all, and quicker than a set
  std::size_t count_ = 0;
  std::unordered_set<const ExprNode*> more_;
};

// What a traversal has computed of shared nodes.
template <typename T>
class SharedResults {
 public:
  template <typename F>
  T of(const Expr& expr, const F& compute) {
    if (!may_be_shared(expr)) return compute(expr);
    for (const auto& [node, result] : few_)
      if (node == expr) return result;
    if (few_.size() >= kFew)
      if (const auto found = more_.find(expr); found != more_.end()) return found->second;
    T result = compute(expr);
    if (few_.size() < kFew) few_.emplace_back(expr, result);
    else more_.emplace(expr, result);
    return result;
  }

 private:
  static constexpr std::size_t kFew = 16;
  // Both hold their keys: none is freed while another node could get its address.
  std::vector<std::pair<Expr, T>> few_;
  std::unordered_map<Expr, T> more_;
};

// The expressions, written out, have more nodes than are worth writing out. Small ones are: they read better so, and a
// compiler finds what is common in them.
bool worth_sharing(std::span<const Expr> expressions);

// Which shared nodes a select computes whichever side it chooses: they can be computed before it. A node below an inner
// select's side is one only where that select computes it in any case as well.
class ComputedByBoth {
 public:
  std::vector<Expr> of(const Select& select);  // in an order that depends on the expression alone

 private:
  std::vector<Expr> always(const Expr& expr);  // computed with the expression; sorted
  std::vector<Expr> both(const Select& select);

  SharedResults<std::vector<Expr>> results_;
};

// The nodes that are held more than once and large enough to deserve a name, each behind those that it holds.
std::vector<Expr> nodes_to_name(std::span<const Expr> expressions);

}  // namespace dovetail::loops
