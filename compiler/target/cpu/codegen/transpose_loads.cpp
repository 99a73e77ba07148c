#include "compiler/target/cpu/codegen/transpose_loads.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "loops/linear.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kFewestLanes = 2;

// An index as begin + sum of steps[i] * vars[i]; begin contains none of the variables.
struct Moved {
  std::vector<std::int64_t> steps;
  Expr begin;
};
// nullopt: the index is not int64, or not linear in the variables.
std::optional<Moved> moved(const Expr& index, const std::vector<Var>& vars) {
  if (index->dtype != DType::int64) return std::nullopt;
  const Linear form = linear_form(index);
  Moved result{std::vector<std::int64_t>(vars.size(), 0), nullptr};
  Linear rest;
  rest.constant = form.constant;
  for (const LinearTerm& term : form.terms) {
    const auto* n = std::get_if<VarRef>(&term.atom->node);
    const auto var = n == nullptr ? vars.end() : std::ranges::find(vars, n->var);
    if (var != vars.end()) {
      result.steps[static_cast<std::size_t>(var - vars.begin())] = term.coefficient;
      continue;
    }
    if (std::ranges::any_of(vars, [&](const Var& one) { return schedule::mentions(term.atom, one); }))
      return std::nullopt;
    rest.add(term.atom, term.coefficient);
  }
  result.begin = to_expr(rest);
  return result;
}

// Visits loads that run whenever the expression is evaluated.
void each_certain_load(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  if (std::holds_alternative<LoadExpr>(expr->node)) visit(expr);
  if (const auto* n = std::get_if<Select>(&expr->node)) return each_certain_load(n->condition, visit);
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n != nullptr && (n->op == BinaryOp::logical_and || n->op == BinaryOp::logical_or))
    return each_certain_load(n->a, visit);
  each_operand(expr, [&](const Expr& operand) { each_certain_load(operand, visit); });
}

class Transposer {
 public:
  explicit Transposer(CoreProgram& program) : program_(program) {}

  Core rewrite(const Core& core) {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return rewrite(*loop, core);
    if (const auto* condition = std::get_if<CoreIf>(&core->node))
      return core_if(condition->condition, rewrite(condition->then_body), rewrite(condition->else_body));
    const auto* sequence = std::get_if<CoreSequence>(&core->node);
    if (sequence == nullptr) return core;
    std::vector<Core> body;
    for (const Core& part : sequence->body) body.push_back(rewrite(part));
    return core_sequence(std::move(body));
  }

 private:
  Core rewrite(const CoreLoop& n, const Core& core) {
    const auto* lanes = n.body ? std::get_if<CoreLoop>(&n.body->node) : nullptr;
    const auto* store = lanes != nullptr && lanes->body ? std::get_if<CoreStore>(&lanes->body->node) : nullptr;
    if (n.kind != ForKind::unrolled || store == nullptr || lanes->kind != ForKind::vectorized ||
        lanes->extent < kFewestLanes || store->targets.size() != 1) {
      CoreLoop loop = n;
      loop.body = rewrite(n.body);
      return loop.body == n.body ? core : make_core(std::move(loop));
    }
    const StoreTarget& target = store->targets.front();
    std::vector<Core> parts;
    std::map<const ExprNode*, Expr> instead;
    each_certain_load(target.value, [&](const Expr& e) {
      const auto& load = std::get<LoadExpr>(e->node);
      if (load.buffer == target.buffer || instead.contains(e.get())) return;
      if (const auto call = transposition(load, n, *lanes)) {
        instead[e.get()] = loops::load(call->operands[0].buffer, {ref(n.var), ref(lanes->var)});
        parts.push_back(make_core(*call));
      }
    });
    if (parts.empty()) return core;
    CoreStore changed = *store;
    changed.targets.front().value = rewrite_expr(target.value, [&](const Expr& e) {
      const auto it = instead.find(e.get());
      return it == instead.end() ? e : it->second;
    });
    CoreLoop inner = *lanes, outer = n;
    inner.body = make_core(std::move(changed));
    outer.body = make_core(std::move(inner));
    parts.push_back(make_core(std::move(outer)));
    return core_sequence(std::move(parts));
  }

  // The call that performs the load of all iterations of both loops; nullopt if it is not a transposition.
  std::optional<CoreCall> transposition(const LoadExpr& load, const CoreLoop& rows, const CoreLoop& lanes) {
    IntrinsicOperand from{load.buffer, {}, std::vector<std::vector<std::int64_t>>(2)};
    std::int64_t row_stride = 0, lane_stride = 0, stride = 1;
    for (std::size_t d = load.indices.size(); d-- > 0;) {
      const auto index = moved(load.indices[d], {rows.var, lanes.var});
      if (!index) return std::nullopt;
      row_stride += index->steps[0] * stride, lane_stride += index->steps[1] * stride;
      stride *= load.buffer->shape[d];
      from.indices.insert(from.indices.begin(), index->begin);
      for (std::size_t axis = 0; axis < 2; ++axis)
        from.steps[axis].insert(from.steps[axis].begin(), index->steps[axis]);
    }
    if (row_stride != 1 || lane_stride == 0 || lane_stride == 1) return std::nullopt;
    const Buffer to = make_buffer(fmt::format("{}.transposed{}", load.buffer->name, program_.temporary.size()),
                                  load.buffer->dtype, {rows.extent, lanes.extent}, "register");
    program_.temporary.push_back(to);
    return CoreCall{kTranspose, {{to, {int_imm(0), int_imm(0)}, {{1, 0}, {0, 1}}}, std::move(from)}, {}};
  }

  CoreProgram& program_;
};

}  // namespace

CoreProgram transpose_loads(CoreProgram program) {
  Transposer transposer(program);
  program.body = transposer.rewrite(program.body);
  return program;
}

}  // namespace dovetail::cpu
