// structurally_equal of loops/rewrite.h.
#include <algorithm>
#include <bit>

#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

bool equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return structurally_equal(x, y); });
}

struct SameNode {
  bool operator()(const IntImm& a, const IntImm& b) const { return a.value == b.value; }
  // By bits: 0 and -0 differ, a NaN equals itself.
  bool operator()(const FloatImm& a, const FloatImm& b) const {
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
  }
  bool operator()(const VarRef& a, const VarRef& b) const { return a.var == b.var; }
  bool operator()(const Unary& a, const Unary& b) const { return a.op == b.op && structurally_equal(a.a, b.a); }
  bool operator()(const Binary& a, const Binary& b) const {
    return a.op == b.op && structurally_equal(a.a, b.a) && structurally_equal(a.b, b.b);
  }
  bool operator()(const Cast& a, const Cast& b) const { return structurally_equal(a.a, b.a); }
  bool operator()(const Bitcast& a, const Bitcast& b) const { return structurally_equal(a.a, b.a); }
  bool operator()(const Select& a, const Select& b) const {
    return structurally_equal(a.condition, b.condition) && structurally_equal(a.if_true, b.if_true) &&
           structurally_equal(a.if_false, b.if_false);
  }
  bool operator()(const LoadExpr& a, const LoadExpr& b) const {
    return a.buffer == b.buffer && equal(a.indices, b.indices);
  }
  bool operator()(const Call& a, const Call& b) const {
    return a.function == b.function && equal(a.arguments, b.arguments);
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

bool structurally_equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (!a || !b || a->dtype != b->dtype || a->node.index() != b->node.index()) return false;
  return std::visit(SameNode{}, a->node, b->node);
}

}  // namespace dovetail::loops
