#include "compiler/target/cpu/codegen/reach.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

class Reaches {
 public:
  Reaches(const CoreProgram& core, const ReadFilter& counts) : core_(core), counts_(counts) {}

  std::vector<Reach> of(const Core& body) {
    visit(body);
    std::erase_if(all_, [&](const Reach& reach) { return std::ranges::find(broken_, reach.buffer) != broken_.end(); });
    return std::move(all_);
  }

 private:
  void visit(const Core& core) {
    if (!core) return;
    if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& part : sequence->body) visit(part);
    } else if (const auto* n = std::get_if<CoreIf>(&core->node)) {
      visit(n->then_body), visit(n->else_body);
    } else if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      loops_.push_back(loop);
      visit(loop->body);
      loops_.pop_back();
    } else if (const auto* call = std::get_if<CoreCall>(&core->node)) {
      for (std::size_t i = 1; i < call->operands.size(); ++i)
        if (counts_(core, *call->operands[i].buffer)) read(call->operands[i].buffer, call->operands[i].indices);
    } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
      for (const StoreTarget& target : store->targets)
        visit_exprs(target.value, [&](const Expr& e) {
          const auto* load = std::get_if<LoadExpr>(&e->node);
          if (load != nullptr && counts_(core, *load->buffer)) read(load->buffer, load->indices);
        });
    }
  }

  void read(const Buffer& buffer, const std::vector<Expr>& indices) {
    const auto one = reach_of(buffer, indices);
    const auto known = std::ranges::find(all_, buffer, &Reach::buffer);
    if (!one || (known != all_.end() && !structurally_equal(to_expr(known->outer), to_expr(one->outer)))) {
      broken_.push_back(buffer);
    } else if (known == all_.end()) {
      all_.push_back(*one);
    } else {
      known->first = std::min(known->first, one->first), known->last = std::max(known->last, one->last);
      known->count += one->count;
    }
  }

  std::optional<Reach> reach_of(const Buffer& buffer, const std::vector<Expr>& indices) const {
    if (std::ranges::any_of(indices, holds_load)) return std::nullopt;
    Expr offset = int_imm(0);
    std::int64_t stride = 1;
    for (std::size_t d = indices.size(); d-- > 0; stride *= buffer->shape[d]) offset = offset + indices[d] * stride;
    const Linear form = linear_form(simplify(offset, core_.bounds));
    Reach reach{buffer, {}, form.constant, form.constant, 1};
    for (const LinearTerm& term : form.terms) {
      const auto* n = std::get_if<VarRef>(&term.atom->node);
      const auto loop =
          std::ranges::find_if(loops_, [&](const CoreLoop* one) { return schedule::mentions(term.atom, one->var); });
      if (loop == loops_.end()) {
        reach.outer.add(term.atom, term.coefficient);
      } else if (n == nullptr) {
        return std::nullopt;
      } else {
        (term.coefficient > 0 ? reach.last : reach.first) += term.coefficient * ((*loop)->extent - 1);
        reach.count *= (*loop)->extent;
      }
    }
    return reach;
  }

  const CoreProgram& core_;
  const ReadFilter& counts_;
  std::vector<const CoreLoop*> loops_;  // enclosing loops inside the analyzed one
  std::vector<Reach> all_;
  std::vector<Buffer> broken_;  // buffers without a simple access pattern
};

}  // namespace

std::int64_t Reach::moves_by(const Var& var) const {
  const auto term = std::ranges::find_if(outer.terms, [&](const LinearTerm& one) {
    const auto* n = std::get_if<VarRef>(&one.atom->node);
    return n != nullptr && n->var == var;
  });
  return term == outer.terms.end() ? 0 : term->coefficient;
}

std::vector<Reach> reaches(const CoreProgram& core, const Core& body, const ReadFilter& counts) {
  return Reaches(core, counts).of(body);
}

}  // namespace dovetail::cpu
