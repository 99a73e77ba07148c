#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/lower/leaf.h"
#include "loops/print.h"

namespace dovetail::accel {

using namespace loops;

namespace {

class LeafBuilder {
 public:
  LeafBuilder(const Stmt& stmt, const std::vector<const For*>& outside, const LeafContext& context)
      : context_(context), outside_(outside) {
    Stmt at = stmt;
    for (; schedule::as_for(at); at = schedule::as_for(at)->body) inside_.push_back(schedule::as_for(at));
    block_ = schedule::as_block(at);
    std::vector<const For*> all = outside_;
    all.insert(all.end(), inside_.begin(), inside_.end());
    bounds_ = schedule::bounds_of(all);
    bindings_ = schedule::bindings_of(*block_);
    leaf_.block = block_->name;
  }

  Leaf build() {
    if (const auto* call = std::get_if<IntrinsicCall>(&block_->body->node)) compute(*call);
    else if (const auto* assignment = std::get_if<Store>(&block_->body->node)) transfer(*assignment);
    else fail("its body is neither a store nor an intrinsic");
    for (const For* loop : inside_) leaf_.extents.push_back(loop->extent);
    if (block_->predicate) masks(block_->predicate, leaf_.masks);
    choose_enumerated();
    return std::move(leaf_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw InternalError(fmt::format("block {} of {} cannot be lowered to the accelerator: {}", block_->name,
                                    context_.program.name, why));
  }

  Affine form(const Expr& expr) const {
    const Expr in_loops = simplify(substitute(expr, bindings_), bounds_);
    const auto affine_form = affine(in_loops, bounds_);
    if (!affine_form) fail(fmt::format("{} is not affine in its loops", loops::to_string(in_loops)));
    return *affine_form;
  }

  LeafForm leaf_form(const Affine& affine_form) const {
    LeafForm result{affine_form.constant, {}, std::vector<std::int64_t>(inside_.size(), 0), nullptr};
    for (const auto& [var, coefficient] : affine_form.coefficients) {
      const auto loop =
          std::find_if(inside_.begin(), inside_.end(), [&, v = var](const For* l) { return l->var.get() == v; });
      if (loop == inside_.end()) result.outer.emplace_back(var, coefficient);
      else result.inner[static_cast<std::size_t>(loop - inside_.begin())] = coefficient;
    }
    return result;
  }

  static void accumulate(Affine& sum, const Affine& term, std::int64_t factor) {
    sum.constant += term.constant * factor;
    for (const auto& [var, coefficient] : term.coefficients)
      if ((sum.coefficients[var] += coefficient * factor) == 0) sum.coefficients.erase(var);
  }

  // The element index of an access, relative to the beginning of its place.
  Affine element_index(const Buffer& buffer, const std::vector<Expr>& indices) const {
    Affine sum;
    if (const auto it = context_.placements.find(buffer.get()); it != context_.placements.end()) {
      const Placement& placement = it->second;
      for (std::size_t d = 0; d + 2 < indices.size(); ++d) {
        accumulate(sum, form(indices[d]), placement.strides[d]);
        accumulate(sum, placement.min[d], -placement.strides[d]);
      }
      return sum;
    }
    std::int64_t stride = 1;
    for (std::size_t d = indices.size() - 2; d-- > 0;) {
      accumulate(sum, form(indices[d]), stride);
      stride *= buffer->shape[d];
    }
    return sum;
  }

  int position_of(const Buffer& parameter) const {
    const auto& all = context_.program.parameters;
    const auto at = std::ranges::find(all, parameter, &Parameter::buffer);
    DOVETAIL_CHECK(at != all.end(), fmt::format("{} is a parameter", parameter->name));
    return static_cast<int>(at - all.begin());
  }

  bool on_chip(const Buffer& buffer) const { return context_.placements.count(buffer.get()) != 0; }
  isa::Memory memory_of(const Buffer& buffer) const { return context_.placements.at(buffer.get()).memory; }

  void compute(const IntrinsicCall& call) {
    Leaf::Compute result{call.intrinsic, {}, {}, {}, {}};
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const IntrinsicOperand& operand = call.operands[i];
      if (!on_chip(operand.buffer)) fail(fmt::format("operand {} is not on chip", operand.buffer->name));
      LeafForm index = leaf_form(element_index(operand.buffer, operand.indices));
      index.place = &context_.placements.at(operand.buffer.get());
      check_element_steps(call, i);
      if (i == 0) {
        result.dst = index;
      } else if (call.intrinsic == "accel.gemm") {
        (i == 1 ? result.src : result.wgt) = index;
      } else if (i == 1) {
        // ALU operations work in place: operand 1 must be operand 0.
        if (index.constant != result.dst.constant || index.inner != result.dst.inner ||
            index.outer != result.dst.outer || index.place->base != result.dst.place->base)
          fail(fmt::format("{} and {} do not share their place", call.operands[0].buffer->name, operand.buffer->name));
      } else {
        result.src = index;
      }
    }
    if (!call.immediates.empty()) result.immediate = evaluate(call.immediates[0], {});
    leaf_.compute = std::move(result);
  }

  // Elements along further axes of the operand (REQUANT's pair) must be consecutive on chip.
  void check_element_steps(const IntrinsicCall& call, std::size_t i) const {
    const IntrinsicOperand& operand = call.operands[i];
    const Placement& placement = context_.placements.at(operand.buffer.get());
    if (operand.steps.size() <= 2) return;
    std::int64_t step = 0;
    for (std::size_t d = 0; d < operand.steps[0].size(); ++d) step += operand.steps[0][d] * placement.strides[d];
    if (step != 1) fail(fmt::format("the elements of {} are {} apart, not 1", operand.buffer->name, step));
  }

  void transfer(const Store& assignment) {
    if (assignment.targets.size() != 1) fail("it stores several values");
    const StoreTarget& target = assignment.targets[0];
    Leaf::Transfer result;
    Expr value = target.value, padded;
    result.store = !on_chip(target.buffer);
    const auto immediate = [](const Expr& e, std::int64_t value) {
      const auto* imm = std::get_if<IntImm>(&e->node);
      return imm && imm->value == value;
    };
    if (result.store) {
      const auto* narrowing = std::get_if<Cast>(&value->node);
      if (!narrowing) fail("a store must narrow to int8");
      value = narrowing->a;
      if (const auto* upper = std::get_if<Binary>(&value->node);
          upper && upper->op == BinaryOp::min && immediate(upper->b, 127)) {
        const auto* lower = std::get_if<Binary>(&upper->a->node);
        if (!lower || lower->op != BinaryOp::max || !immediate(lower->b, -128) || !context_.facts.saturate)
          fail("STORE cannot clamp as the store does");
        result.saturate = true;
        value = lower->a;
      }
      result.memory = isa::Memory::out;
    } else {
      result.memory = memory_of(target.buffer);
      if (const auto* masked = std::get_if<Select>(&value->node)) {
        if (!immediate(masked->if_false, 0)) fail("a LOAD pads with zero only");
        padded = masked->condition;
        value = masked->if_true;
      }
      if (const auto* widening = std::get_if<Cast>(&value->node); widening && result.memory == isa::Memory::acc) {
        result.memory = isa::Memory::acc8;
        value = widening->a;
      }
    }
    const auto* source = std::get_if<LoadExpr>(&value->node);
    if (!source || on_chip(source->buffer) != result.store) fail("it does not copy between DRAM and an on-chip buffer");
    drop_element_loops(target.buffer, target.indices, source->buffer, source->indices);
    const Affine to = element_index(target.buffer, target.indices),
                 from = element_index(source->buffer, source->indices);
    result.on_chip = leaf_form(result.store ? from : to);
    result.on_chip.place = &context_.placements.at((result.store ? source->buffer : target.buffer).get());
    result.dram = leaf_form(result.store ? to : from);
    result.parameter = position_of(result.store ? target.buffer : source->buffer);
    if (padded) masks(padded, result.pad);
    leaf_.transfer = std::move(result);
  }

  // The loops over the last two dimensions must run over whole elements on both sides. The transfer itself moves them,
  // so they are removed.
  void drop_element_loops(const Buffer& to, const std::vector<Expr>& to_indices, const Buffer& from,
                          const std::vector<Expr>& from_indices) {
    std::set<const VarNode*> element;
    for (int e = 0; e < 2; ++e) {
      const Affine a = form(to_indices[to_indices.size() - 1 - static_cast<std::size_t>(e)]);
      const Affine b = form(from_indices[from_indices.size() - 1 - static_cast<std::size_t>(e)]);
      const std::int64_t extent = to->shape[to->shape.size() - 1 - static_cast<std::size_t>(e)];
      const bool same = a.constant == 0 && b.constant == 0 && a.coefficients == b.coefficients;
      if (!same || extent != from->shape[from->shape.size() - 1 - static_cast<std::size_t>(e)])
        fail("it accesses parts of elements");
      if (extent == 1 && a.coefficients.empty()) continue;
      if (a.coefficients.size() != 1 || a.coefficients.begin()->second != 1) fail("it accesses parts of elements");
      const VarNode* var = a.coefficients.begin()->first;
      const auto loop = std::find_if(inside_.begin(), inside_.end(), [&](const For* l) { return l->var.get() == var; });
      if (loop == inside_.end() || (*loop)->extent != extent) fail("it accesses parts of elements");
      element.insert(var);
    }
    std::erase_if(inside_, [&](const For* loop) { return element.count(loop->var.get()) != 0; });
  }

  // Splits a conjunction of comparisons into forms that are >= 0 if they hold.
  void masks(const Expr& condition, std::vector<LeafForm>& out) const {
    const auto* comparison = std::get_if<Binary>(&condition->node);
    if (!comparison) fail(fmt::format("the condition {} is not a comparison", loops::to_string(condition)));
    if (comparison->op == BinaryOp::logical_and) {
      masks(comparison->a, out);
      masks(comparison->b, out);
      return;
    }
    Affine difference;  // a - b
    accumulate(difference, form(comparison->a), 1);
    accumulate(difference, form(comparison->b), -1);
    Affine result;
    switch (comparison->op) {
      case BinaryOp::ge: accumulate(result, difference, 1); break;
      case BinaryOp::gt: accumulate(result, difference, 1), result.constant -= 1; break;
      case BinaryOp::le: accumulate(result, difference, -1); break;
      case BinaryOp::lt: accumulate(result, difference, -1), result.constant -= 1; break;
      default: fail(fmt::format("the condition {} is not an inequality", loops::to_string(condition)));
    }
    out.push_back(leaf_form(result));
  }

  // Chooses the loops to walk, shortest first, so that at most one loop remains in every mask.
  void choose_enumerated() {
    leaf_.enumerated.assign(inside_.size(), false);
    while (true) {
      std::optional<std::size_t> shortest;
      for (const LeafForm& mask : leaf_.masks) {
        std::vector<std::size_t> open;
        for (std::size_t l = 0; l < inside_.size(); ++l)
          if (mask.inner[l] != 0 && leaf_.extents[l] > 1 && !leaf_.enumerated[l]) open.push_back(l);
        if (open.size() < 2) continue;
        for (std::size_t l : open)
          if (!shortest || leaf_.extents[l] < leaf_.extents[*shortest]) shortest = l;
      }
      if (!shortest) return;
      leaf_.enumerated[*shortest] = true;
    }
  }

  const LeafContext& context_;
  std::vector<const For*> outside_, inside_;
  const Block* block_ = nullptr;
  Bounds bounds_;
  VarMap bindings_;
  Leaf leaf_;
};

}  // namespace

Leaf make_leaf(const Stmt& stmt, const std::vector<const For*>& outside, const LeafContext& context) {
  return LeafBuilder(stmt, outside, context).build();
}

}  // namespace dovetail::accel
