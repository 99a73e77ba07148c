#include "loops/linear.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "loops/integer.h"
#include "loops/rewrite.h"
#include "loops/sharing.h"

namespace dovetail::loops {
namespace {

constexpr std::size_t kMostlyEnough = 4;  // enough for most sums; a compilation makes millions of them

std::int64_t wrapped_add(std::int64_t a, std::int64_t b) { return *fold(BinaryOp::add, DType::int64, a, b); }
std::int64_t wrapped_mul(std::int64_t a, std::int64_t b) { return *fold(BinaryOp::mul, DType::int64, a, b); }

class Accumulation {
 public:
  void add(Linear& sum, const Expr& expr, std::int64_t factor) {
    // Terms keep the order of their first occurrence; only a graph with shared nodes is summed node by node.
    if (++steps_ > kUnremembered && is_linear_op(expr) && may_be_shared(expr)) {
      if (!forms_) forms_.emplace();
      const Linear whole = forms_->of(expr, [&](const Expr& shared) {
        Linear form;
        add_parts(form, shared, 1);
        return form;
      });
      return sum.add(whole, factor);
    }
    add_parts(sum, expr, factor);
  }

 private:
  static constexpr int kUnremembered = 1024;

  void add_parts(Linear& sum, const Expr& expr, std::int64_t factor) {
    if (const auto* n = std::get_if<IntImm>(&expr->node)) {
      sum.constant = wrapped_add(sum.constant, wrapped_mul(n->value, factor));
      return;
    }
    if (const auto* n = std::get_if<Unary>(&expr->node); n != nullptr && n->op == UnaryOp::neg)
      return add(sum, n->a, wrapped_mul(factor, -1));
    if (const auto* n = std::get_if<Binary>(&expr->node)) {
      if (n->op == BinaryOp::add || n->op == BinaryOp::sub) {
        add(sum, n->a, factor);
        return add(sum, n->b, n->op == BinaryOp::add ? factor : wrapped_mul(factor, -1));
      }
      if (n->op == BinaryOp::mul) {
        if (const auto* b = std::get_if<IntImm>(&n->b->node)) return add(sum, n->a, wrapped_mul(factor, b->value));
        if (const auto* a = std::get_if<IntImm>(&n->a->node)) return add(sum, n->b, wrapped_mul(factor, a->value));
      }
    }
    sum.add(expr, factor);
  }

  int steps_ = 0;
  std::optional<SharedResults<Linear>> forms_;
};

}  // namespace

void Linear::add(const Expr& atom, std::int64_t coefficient) {
  if (coefficient == 0) return;
  const auto found = std::find_if(terms.begin(), terms.end(),
                                  [&](const LinearTerm& term) { return structurally_equal(term.atom, atom); });
  if (found == terms.end()) {
    if (terms.empty()) terms.reserve(kMostlyEnough);
    terms.push_back({atom, coefficient});
    return;
  }
  found->coefficient = wrapped_add(found->coefficient, coefficient);
  if (found->coefficient == 0) terms.erase(found);
}

void Linear::add(const Linear& other, std::int64_t factor) {
  constant = wrapped_add(constant, wrapped_mul(other.constant, factor));
  for (const LinearTerm& term : other.terms) add(term.atom, wrapped_mul(term.coefficient, factor));
}

bool is_linear_op(const Expr& expr) {
  if (const auto* n = std::get_if<Unary>(&expr->node)) return n->op == UnaryOp::neg;
  const auto* n = std::get_if<Binary>(&expr->node);
  return n != nullptr && (n->op == BinaryOp::add || n->op == BinaryOp::sub || n->op == BinaryOp::mul);
}

Linear linear_form(const Expr& expr) {
  Linear sum;
  Accumulation().add(sum, expr, 1);
  return sum;
}

Expr to_expr(const Linear& linear) {
  Expr result;
  const auto scaled = [](const Expr& atom, std::int64_t factor) { return factor == 1 ? atom : atom * factor; };
  for (const LinearTerm& term : linear.terms)
    if (term.coefficient > 0)
      result = result ? result + scaled(term.atom, term.coefficient) : scaled(term.atom, term.coefficient);
  std::int64_t constant = linear.constant;
  for (const LinearTerm& term : linear.terms) {
    if (term.coefficient > 0) continue;
    if (!result && constant != 0) {
      result = int_imm(constant);
      constant = 0;
    }
    // The negation of INT64_MIN is itself, modulo 2^64.
    const Expr negated = scaled(term.atom, wrapped_mul(term.coefficient, -1));
    result = result ? result - negated : term.atom * term.coefficient;
  }
  if (!result) return int_imm(constant);
  if (constant == 0) return result;
  return constant < 0 && constant != type_min(DType::int64) ? result - -constant : result + constant;
}

}  // namespace dovetail::loops
