#include "loops/sharing.h"

#include <algorithm>
#include <iterator>

#include "loops/rewrite.h"

namespace dovetail::loops {

namespace {

constexpr std::size_t kWrittenOut =
    512;                           // a statement with at most this many nodes is written out, even if nodes are shared
constexpr std::size_t kNamed = 8;  // nodes of the smallest expression that gets a name instead of being repeated

// The number of nodes of the expression written out; stops counting after `most`.
void count_written(const Expr& expr, std::size_t most, std::size_t& count) {
  if (++count > most) return;
  each_operand(expr, [&](const Expr& operand) {
    if (count <= most) count_written(operand, most, count);
  });
}

struct Held {
  std::size_t places = 0;   // number of parents of the node
  std::size_t written = 0;  // its nodes when written out, up to kNamed
};

class Namer {
 public:
  void add(const Expr& expr) {
    Held& held = held_[expr];  // references stay valid
    if (++held.places > 1) return;
    std::size_t written = 1;
    each_operand(expr, [&](const Expr& operand) {
      add(operand);
      written += held_.at(operand).written;
    });
    held.written = std::min(written, kNamed);
    in_order_.push_back(expr);
  }

  std::vector<Expr> named() const {
    std::vector<Expr> result;
    for (const Expr& expr : in_order_)
      if (const Held& held = held_.at(expr); held.places > 1 && held.written >= kNamed) result.push_back(expr);
    return result;
  }

 private:
  std::unordered_map<Expr, Held> held_;
  std::vector<Expr> in_order_;
};

}  // namespace

bool worth_sharing(std::span<const Expr> expressions) {
  std::size_t count = 0;
  for (const Expr& expr : expressions) count_written(expr, kWrittenOut, count);
  return count > kWrittenOut;
}

std::vector<Expr> ComputedByBoth::of(const Select& select) {
  const std::vector<Expr> nodes = both(select);
  std::vector<Expr> in_order;
  visit_exprs(select.if_true, [&](const Expr& e) {
    if (std::binary_search(nodes.begin(), nodes.end(), e)) in_order.push_back(e);
  });
  return in_order;
}

std::vector<Expr> ComputedByBoth::both(const Select& select) {
  const std::vector<Expr> a = always(select.if_true), b = always(select.if_false);
  std::vector<Expr> result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

std::vector<Expr> ComputedByBoth::always(const Expr& expr) {
  return results_.of(expr, [&](const Expr& e) {
    std::vector<Expr> nodes;
    const auto add = [&](const std::vector<Expr>& more) {
      std::vector<Expr> all;
      std::set_union(nodes.begin(), nodes.end(), more.begin(), more.end(), std::back_inserter(all));
      nodes = std::move(all);
    };
    if (const auto* select = std::get_if<Select>(&e->node)) add(always(select->condition)), add(both(*select));
    else each_operand(e, [&](const Expr& operand) { add(always(operand)); });
    if (may_be_shared(e)) add({e});
    return nodes;
  });
}

std::vector<Expr> nodes_to_name(std::span<const Expr> expressions) {
  if (!worth_sharing(expressions)) return {};
  Namer namer;
  for (const Expr& expr : expressions) namer.add(expr);
  return namer.named();
}

}  // namespace dovetail::loops
