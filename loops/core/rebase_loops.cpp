#include "loops/core/rebase_loops.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "loops/core/guards.h"
#include "loops/core/instantiate.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"

namespace dovetail::loops {
namespace {

constexpr std::int64_t kMostCopied = 4;                        // statements
constexpr std::int64_t kMostPosition = std::int64_t{1} << 40;  // sums of such values do not wrap

bool same_form(const Linear& a, const Linear& b) {
  Linear difference = a;
  difference.add(b, -1);
  return difference.constant == 0 && difference.terms.empty();
}

// One value, perhaps with a constant: it cannot wrap where the value is small.
bool is_one_value(const Linear& form) {
  return form.terms.size() == 1 && form.terms.front().coefficient == 1 && std::abs(form.constant) <= kMostPosition;
}

// The linear forms by which dimensions of buffers are indexed, and the least extent of those of equal form.
class IndexForms {
 public:
  struct Row {
    Linear form;
    std::int64_t extent = 0;
  };

  explicit IndexForms(const Core& core) { visit(core); }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void visit(const Core& core) {
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return visit(loop->body);
    if (const auto* n = std::get_if<CoreIf>(&core->node)) {
      visit(n->condition), visit(n->then_body), visit(n->else_body);
    } else if (const auto* s = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& inner : s->body) visit(inner);
    } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
      for (const StoreTarget& target : store->targets) {
        access(target.buffer, target.indices);
        for (const Expr& index : target.indices) visit(index);
        visit(target.value);
      }
    }
  }
  void visit(const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<LoadExpr>(&e->node)) access(n->buffer, n->indices);
    });
  }
  void access(const Buffer& buffer, const std::vector<Expr>& indices) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (indices[d]->dtype != DType::int64 || !holds_load(indices[d])) continue;
      Linear form = linear_form(indices[d]);
      const auto known = std::ranges::find_if(rows_, [&](const Row& row) { return same_form(row.form, form); });
      if (known == rows_.end()) rows_.push_back({std::move(form), buffer->shape[d]});
      else known->extent = std::min(known->extent, buffer->shape[d]);
    }
  }

  std::vector<Row> rows_;
};

class Rebaser {
 public:
  explicit Rebaser(Bounds& bounds) : bounds_(bounds) {}

  Core rebased(const Core& core) {
    if (!core) return core;
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return make_core(CoreIf{n->condition, rebased(n->then_body), rebased(n->else_body)});
    if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
      CoreSequence result;
      for (const Core& inner : sequence->body) result.body.push_back(rebased(inner));
      return make_core(std::move(result));
    }
    const auto* n = std::get_if<CoreLoop>(&core->node);
    if (n == nullptr) return core;
    CoreLoop loop = *n;
    loop.body = rebased(n->body);
    const Core plain = make_core(loop);
    const Writes writes = writes_of(n->body);
    if (n->kind != ForKind::serial || writes.unknown || statement_count(n->body) > kMostCopied) return plain;
    const Expr condition = condition_around(n->body);
    if (!condition) return plain;
    std::vector<Expr> terms = terms_of(condition);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto part = part_of(*n, terms[i], writes);
      if (!part) continue;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
      return core_if(part->inside, over(*n, *part, terms), plain);
    }
    return plain;
  }

 private:
  // The part `begin` <= place < `end` of a buffer's dimension, and whether all of it is there.
  struct Part {
    Expr begin, end, inside;
    std::int64_t extent = 0;
  };

  static Expr condition_around(const Core& body) {
    if (const auto* n = std::get_if<CoreIf>(&body->node)) return n->else_body ? nullptr : n->condition;
    const auto* store = std::get_if<CoreStore>(&body->node);
    return store == nullptr ? nullptr : condition_of(*store);
  }

  // Of a comparison that bounds the variable from above by values which the loop does not change.
  static std::optional<Part> part_of(const CoreLoop& loop, const Expr& term, const Writes& writes) {
    const auto* n = std::get_if<Binary>(&term->node);
    if (n == nullptr || n->a->dtype != DType::int64) return std::nullopt;
    const bool less = n->op == BinaryOp::lt || n->op == BinaryOp::le;
    if (!less && n->op != BinaryOp::gt && n->op != BinaryOp::ge) return std::nullopt;
    const Linear small = linear_form(less ? n->a : n->b), large = linear_form(less ? n->b : n->a);
    // The condition is var < count.
    Linear count = large;
    count.add(small, -1);
    count.add(ref(loop.var), 1);
    count.constant += n->op == BinaryOp::le || n->op == BinaryOp::ge ? 1 : 0;
    if (!holds_load(term) || mentions(to_expr(count), {loop.var.get()})) return std::nullopt;
    const IndexForms forms(loop.body);
    for (const auto& [form, extent] : forms.rows()) {
      Linear begin = form;
      begin.add(ref(loop.var), -1);
      Linear end = begin;
      end.add(count, 1);
      if (extent < 2 || !is_one_value(begin) || !is_one_value(end)) continue;
      const Expr first = to_expr(begin), last = to_expr(end);
      const auto changes = [&](const Expr& e) {
        return mentions(e, {loop.var.get()}) || loads_one_of(e, writes.buffers);
      };
      if (changes(first) || changes(last)) continue;
      const auto in_limits = [&](const Linear& side) {
        return std::abs(side.constant) <= kMostPosition && std::ranges::all_of(side.terms, [&](const LinearTerm& t) {
                 return std::abs(t.coefficient) == 1 &&
                        (structurally_equal(t.atom, ref(loop.var)) || structurally_equal(t.atom, begin.terms[0].atom) ||
                         structurally_equal(t.atom, end.terms[0].atom));
               });
      };
      if (!in_limits(small) || !in_limits(large)) continue;
      const auto is_within = [](const Expr& e, std::int64_t low, std::int64_t high) {
        return logical_and(binary(BinaryOp::ge, e, int_imm(low)), binary(BinaryOp::le, e, int_imm(high)));
      };
      // A value that is not small makes first or last leave these limits, also where their sums wrap.
      Expr inside = logical_and(is_within(first, 0, extent), is_within(last, -kMostPosition, extent));
      for (const Linear* side : {&begin, &end})
        if (side->constant != 0)
          inside = logical_and(inside, is_within(side->terms[0].atom, -2 * kMostPosition, 2 * kMostPosition));
      return Part{first, binary(BinaryOp::min, last, first + loop.extent), std::move(inside), extent};
    }
    return std::nullopt;
  }

  // The loop over the part, under the remaining terms of its condition.
  Core over(const CoreLoop& n, const Part& part, const std::vector<Expr>& terms) {
    Expr remaining;
    for (const Expr& term : terms) remaining = remaining ? logical_and(remaining, term) : term;
    const auto* guarded = std::get_if<CoreIf>(&n.body->node);
    const Core body = guarded != nullptr ? core_if(remaining, guarded->then_body)
                                         : make_core(with_condition(std::get<CoreStore>(n.body->node), remaining));
    CoreLoop loop = n;
    loop.var = make_var(n.var->name + ".at", n.var->dtype);
    loop.extent = part.extent;
    loop.first = part.begin;
    loop.end = part.end;
    bounds_[loop.var.get()] = {0, part.extent - 1};
    loop.body = instantiate(body, {{n.var.get(), ref(loop.var) - part.begin}}, bounds_);
    return loop.body ? make_core(std::move(loop)) : nullptr;
  }

  Bounds& bounds_;
};

}  // namespace

CoreProgram rebase_loops(CoreProgram program) {
  program.body = Rebaser(program.bounds).rebased(program.body);
  return program;
}

}  // namespace dovetail::loops
