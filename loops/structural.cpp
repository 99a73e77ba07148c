// structurally_equal, declared in loops/rewrite.h.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

#include "loops/rewrite.h"
#include "loops/sharing.h"

namespace dovetail::loops {
namespace {

// Compares two graphs of shared nodes: pairs known to be equal are not compared again. Most comparisons end after a few
// nodes, without using the cache.
class StructuralComparison {
 public:
  bool equal(const Expr& a, const Expr& b) {
    if (a == b) return true;
    if (!a || !b || a->dtype != b->dtype || a->node.index() != b->node.index()) return false;
    const bool remembers = ++steps_ > kUnremembered && may_be_shared(a) && may_be_shared(b);
    if (!remembers) return std::visit(*this, a->node, b->node);
    if (!equal_) equal_.emplace();
    if (equal_->count({a.get(), b.get()}) != 0) return true;
    const bool same = std::visit(*this, a->node, b->node);
    if (same) equal_->emplace(a.get(), b.get());
    return same;
  }

  bool operator()(const IntImm& a, const IntImm& b) { return a.value == b.value; }
  // Compared by bits: 0 and -0 differ, a NaN equals itself.
  bool operator()(const FloatImm& a, const FloatImm& b) {
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
  }
  bool operator()(const VarRef& a, const VarRef& b) { return a.var == b.var; }
  bool operator()(const Unary& a, const Unary& b) { return a.op == b.op && equal(a.a, b.a); }
  bool operator()(const Binary& a, const Binary& b) { return a.op == b.op && equal(a.a, b.a) && equal(a.b, b.b); }
  bool operator()(const Cast& a, const Cast& b) { return equal(a.a, b.a); }
  bool operator()(const Bitcast& a, const Bitcast& b) { return equal(a.a, b.a); }
  bool operator()(const Select& a, const Select& b) {
    return equal(a.condition, b.condition) && equal(a.if_true, b.if_true) && equal(a.if_false, b.if_false);
  }
  bool operator()(const LoadExpr& a, const LoadExpr& b) { return a.buffer == b.buffer && equal(a.indices, b.indices); }
  bool operator()(const Call& a, const Call& b) { return a.function == b.function && equal(a.arguments, b.arguments); }
  template <typename A, typename B>
  bool operator()(const A&, const B&) {
    return false;
  }

 private:
  static constexpr std::size_t kUnremembered = 64;
  using Pair = std::pair<const ExprNode*, const ExprNode*>;
  struct HashPair {
    std::size_t operator()(const Pair& pair) const {
      return std::hash<const ExprNode*>{}(pair.first) * 31 + std::hash<const ExprNode*>{}(pair.second);
    }
  };

  bool equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Expr& x, const Expr& y) { return equal(x, y); });
  }

  std::size_t steps_ = 0;
  std::optional<std::unordered_set<Pair, HashPair>> equal_;
};

}  // namespace

bool structurally_equal(const Expr& a, const Expr& b) { return StructuralComparison().equal(a, b); }

}  // namespace dovetail::loops
