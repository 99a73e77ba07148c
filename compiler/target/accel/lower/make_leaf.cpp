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

  Result<Leaf> build() {
    if (block_->init)
      return fail("it initializes its result",
                  fmt::format("make the first part a separate block: decompose_reduction {} LOOP", block_->name));
    if (const auto* call = std::get_if<IntrinsicCall>(&block_->body->node)) DOVETAIL_TRY(compute(*call));
    else if (const auto* assignment = std::get_if<loops::Store>(&block_->body->node))
      DOVETAIL_TRY(transfer(*assignment));
    else return fail("its body is neither a store nor an intrinsic", "let each block be one copy or one operation");
    for (const For* loop : inside_) leaf_.extents.push_back(loop->extent);
    if (block_->predicate) DOVETAIL_TRY(masks(block_->predicate, leaf_.masks));
    choose_enumerated();
    return std::move(leaf_);
  }

 private:
  Diagnostic fail(std::string why, std::string hint) const {
    return cannot_lower(context_.program, fmt::format("block {}", block_->name), std::move(why), std::move(hint));
  }

  Result<Affine> form(const Expr& expr) const {
    const Expr in_loops = simplify(substitute(expr, bindings_), bounds_);
    const auto affine_form = affine(in_loops, bounds_);
    if (!affine_form)
      return fail(fmt::format("{} is not affine in its loops", loops::to_string(in_loops)),
                  "split the loops so that each index is a sum of loops times constants");
    return *affine_form;
  }

  Result<LeafForm> leaf_form(const Affine& affine_form) const {
    LeafForm result{affine_form.constant, {}, std::vector<std::int64_t>(inside_.size(), 0), nullptr};
    for (const auto& [var, coefficient] : affine_form.coefficients) {
      const auto is_it = [&, v = var](const For* l) { return l->var.get() == v; };
      if (const auto loop = std::ranges::find_if(inside_, is_it); loop != inside_.end())
        result.inner[static_cast<std::size_t>(loop - inside_.begin())] = coefficient;
      else if (std::ranges::any_of(outside_, is_it)) result.outer.emplace_back(var, coefficient);
      else
        return fail(
            fmt::format("its predicate depends on {}, a loop of its elements, which are copied whole", var->name),
            "pad the buffers to whole elements");
    }
    return result;
  }
  // The form of an address. The fields of instructions step upwards.
  Result<LeafForm> address(const Affine& affine_form, const std::string& buffer) const {
    DOVETAIL_ASSIGN(LeafForm result, leaf_form(affine_form));
    for (std::size_t l = 0; l < inside_.size(); ++l)
      if (result.inner[l] < 0)
        return fail(fmt::format("its index into {} decreases along loop {}", buffer, inside_[l]->var->name),
                    "let indices increase, or store the buffer in the other order");
    return result;
  }
  // The same for a buffer on chip, relative to its place.
  Result<LeafForm> address_on_chip(const Affine& affine_form, const Buffer& buffer) const {
    DOVETAIL_ASSIGN(LeafForm result, address(affine_form, buffer->name));
    result.place = &context_.placements.at(buffer.get());
    if (result.place->slots * result.place->contexts == 1) return result;
    for (const For* loop : inside_)
      if (std::ranges::find(result.place->home, loop) != result.place->home.end())
        return fail(fmt::format("no other nest accesses {}, which has slots or virtual threads by loop {}",
                                buffer->name, loop->var->name),
                    fmt::format("leave the slots and virtual threads out, or use {} in another block", buffer->name));
    return result;
  }

  static void accumulate(Affine& sum, const Affine& term, std::int64_t factor) {
    sum.constant += term.constant * factor;
    for (const auto& [var, coefficient] : term.coefficients)
      if ((sum.coefficients[var] += coefficient * factor) == 0) sum.coefficients.erase(var);
  }

  // The element index of an access, relative to the beginning of its place.
  Result<Affine> element_index(const Buffer& buffer, const std::vector<Expr>& indices) const {
    Affine sum;
    if (const auto it = context_.placements.find(buffer.get()); it != context_.placements.end()) {
      const Placement& placement = it->second;
      for (std::size_t d = 0; d + 2 < indices.size(); ++d) {
        DOVETAIL_ASSIGN(const Affine index, form(indices[d]));
        accumulate(sum, index, placement.strides[d]);
        accumulate(sum, placement.min[d], -placement.strides[d]);
      }
      return sum;
    }
    std::int64_t stride = 1;
    for (std::size_t d = indices.size() - 2; d-- > 0;) {
      DOVETAIL_ASSIGN(const Affine index, form(indices[d]));
      accumulate(sum, index, stride);
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

  Result<void> compute(const IntrinsicCall& call) {
    if (!call.intrinsic.starts_with("accel."))
      return fail(fmt::format("{} is not an instruction of the accelerator", call.intrinsic),
                  "tensorize it with one of the accelerator's intrinsics");
    Leaf::Compute result{call.intrinsic, {}, {}, {}, {}, {}};
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const IntrinsicOperand& operand = call.operands[i];
      if (!on_chip(operand.buffer))
        return fail(fmt::format("operand {} is not on chip", operand.buffer->name),
                    "copy it to a memory of the accelerator (cache_read, cache_write)");
      DOVETAIL_ASSIGN(const Affine sum, element_index(operand.buffer, operand.indices));
      DOVETAIL_ASSIGN(LeafForm index, address_on_chip(sum, operand.buffer));
      const bool tap = call.intrinsic == "accel.tap" && i == 2;
      if (tap) {
        DOVETAIL_ASSIGN(const Affine at, form(operand.indices.back()));
        DOVETAIL_ASSIGN(result.tap, address(at, operand.buffer->name));
      } else {
        DOVETAIL_TRY(check_element_steps(operand));
      }
      if (memory_of(operand.buffer) == isa::Memory::tab) continue;  // its only element
      if (i == 0) {
        result.dst = index;
      } else if (call.intrinsic == "accel.gemm" || call.intrinsic == "accel.tap") {
        (i == 1 ? result.src : result.wgt) = index;
      } else if (i == 1) {
        // ALU operations work in place: operand 1 must be operand 0.
        if (index.constant != result.dst.constant || index.inner != result.dst.inner ||
            index.outer != result.dst.outer || index.place->base != result.dst.place->base)
          return fail(
              fmt::format("{} and {} do not share their place", call.operands[0].buffer->name, operand.buffer->name),
              "the accelerator's operations work in place: let both have the same indices");
      } else if (memory_of(operand.buffer) == isa::Memory::wgt) {
        result.wgt = index;
      } else if (!result.src) {
        result.src = index;
      } else {
        DOVETAIL_TRY(check_next(*result.src, index, call.operands[i - 1].buffer->name, operand.buffer->name));
      }
    }
    if (!call.immediates.empty()) {
      const auto* immediate = std::get_if<IntImm>(&simplify(call.immediates[0], bounds_)->node);
      if (immediate == nullptr)
        return fail(fmt::format("the immediate {} is not a constant", loops::to_string(call.immediates[0])),
                    "give an integer");
      const isa::spec::FieldRange& range = context_.facts.immediate;
      if (!range.holds(immediate->value))
        return fail(fmt::format("its immediate {} is outside {} to {}", immediate->value, range.least, range.most),
                    "load the number as a vector operand");
      result.immediate = immediate->value;
    } else if (call.intrinsic.ends_with("_alone")) {
      result.immediate = 0;
    }
    leaf_.compute = std::move(result);
    return {};
  }

  // The second source of an operation must be the element after the first.
  Result<void> check_next(const LeafForm& first, const LeafForm& next, const std::string& name,
                          const std::string& next_name) const {
    const Placement &place = *first.place, &next_place = *next.place;
    const std::int64_t distance = next_place.base + next.constant - place.base - first.constant;
    if (distance == 1 && next.inner == first.inner && next.outer == first.outer &&
        next_place.elements == place.elements && next_place.slots == place.slots)
      return {};
    return fail(fmt::format("the element of {} does not follow that of {}", next_name, name),
                "let both have the same indices, or transform_layout a common buffer so that they are neighbors");
  }

  // The last two axes of an operand must be the element of its memory.
  Result<void> check_element_steps(const IntrinsicOperand& operand) const {
    const std::size_t axes = operand.steps.size(), dimensions = operand.buffer->shape.size();
    for (std::size_t e = 1; e <= 2; ++e) {
      const Expr first = simplify(substitute(operand.indices[dimensions - e], bindings_), bounds_);
      const auto* begin = std::get_if<IntImm>(&first->node);
      bool whole = begin != nullptr && begin->value == 0;
      for (std::size_t d = 0; d < dimensions; ++d)
        whole &=
            operand.steps[axes - e][d] == (d == dimensions - e ? 1 : 0) || operand.buffer->shape[dimensions - e] == 1;
      if (!whole)
        return fail(
            fmt::format("its operand {} is not a whole element", operand.buffer->name),
            fmt::format("transform_layout {} so that its last two dimensions are an element", operand.buffer->name));
    }
    return {};
  }

  Result<void> transfer(const loops::Store& assignment) {
    const std::string copy = "let each block copy whole elements between the memory and a buffer on chip";
    if (assignment.targets.size() != 1) return fail("it stores several values", copy);
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
      if (!narrowing || target.buffer->dtype != DType::int8)
        return fail(fmt::format("it stores {} to {}, and STORE narrows int32 to int8", loops::to_string(value),
                                target.buffer->name),
                    "store int8(...) of a buffer in accel.acc");
      value = narrowing->a;
      if (const auto* upper = std::get_if<Binary>(&value->node);
          upper && upper->op == BinaryOp::min && immediate(upper->b, 127)) {
        const auto* lower = std::get_if<Binary>(&upper->a->node);
        if (!lower || lower->op != BinaryOp::max || !immediate(lower->b, -128) || !context_.facts.saturate)
          return fail("STORE does not clamp as the store does",
                      "use hardware with the extension saturate and min(max(a, -128), 127), or clamp in accel.acc");
        result.saturate = true;
        value = lower->a;
      }
      result.memory = isa::Memory::out;
    } else {
      result.memory = memory_of(target.buffer);
      if (const auto* masked = std::get_if<Select>(&value->node)) {
        if (!immediate(masked->if_false, 0))
          return fail("it pads with another value than 0, and LOAD pads with 0", "select(..., ..., 0)");
        padded = masked->condition;
        value = masked->if_true;
      }
      if (const auto* widening = std::get_if<Cast>(&value->node);
          widening && result.memory == isa::Memory::acc && widening->a->dtype == DType::int8) {
        result.memory = isa::Memory::acc8;
        value = widening->a;
      }
    }
    const auto* source = std::get_if<LoadExpr>(&value->node);
    if (!source || on_chip(source->buffer) != result.store)
      return fail(fmt::format("{} = {} is not a copy between memory and a buffer on chip", target.buffer->name,
                              loops::to_string(target.value)),
                  "tensorize what computes, and let other blocks only copy");
    if (result.store && memory_of(source->buffer) != isa::Memory::acc)
      return fail(fmt::format("{} is in {}, and STORE reads accel.acc", source->buffer->name, source->buffer->scope),
                  "store a buffer in accel.acc");
    DOVETAIL_TRY(drop_element_loops(target.buffer, target.indices, source->buffer, source->indices));
    const Buffer& there = result.store ? source->buffer : target.buffer;
    const Buffer& parameter = result.store ? target.buffer : source->buffer;
    DOVETAIL_ASSIGN(const Affine to, element_index(target.buffer, target.indices));
    DOVETAIL_ASSIGN(const Affine from, element_index(source->buffer, source->indices));
    DOVETAIL_ASSIGN(result.on_chip, address_on_chip(result.store ? from : to, there));
    DOVETAIL_ASSIGN(result.dram, address(result.store ? to : from, parameter->name));
    result.parameter = position_of(parameter);
    if (padded) DOVETAIL_TRY(masks(padded, result.pad));
    leaf_.transfer = std::move(result);
    return {};
  }

  // The loops over the last two dimensions must run over whole elements on both sides. The transfer itself moves them,
  // so they are removed.
  Result<void> drop_element_loops(const Buffer& to, const std::vector<Expr>& to_indices, const Buffer& from,
                                  const std::vector<Expr>& from_indices) {
    const auto parts = [&] {
      return fail(
          fmt::format("it copies parts of elements between {} and {}", to->name, from->name),
          "transform_layout both so that their last two dimensions are an element, and let loops run over both");
    };
    if (to_indices.size() < 2 || from_indices.size() < 2) return parts();
    for (int e = 0; e < 2; ++e) {
      DOVETAIL_ASSIGN(const Affine a, form(to_indices[to_indices.size() - 1 - static_cast<std::size_t>(e)]));
      DOVETAIL_ASSIGN(const Affine b, form(from_indices[from_indices.size() - 1 - static_cast<std::size_t>(e)]));
      const std::int64_t extent = to->shape[to->shape.size() - 1 - static_cast<std::size_t>(e)];
      const bool same = a.constant == 0 && b.constant == 0 && a.coefficients == b.coefficients;
      if (!same || extent != from->shape[from->shape.size() - 1 - static_cast<std::size_t>(e)]) return parts();
      if (extent == 1 && a.coefficients.empty()) continue;
      if (a.coefficients.size() != 1 || a.coefficients.begin()->second != 1) return parts();
      const VarNode* var = a.coefficients.begin()->first;
      const auto loop = std::find_if(inside_.begin(), inside_.end(), [&](const For* l) { return l->var.get() == var; });
      if (loop == inside_.end() || (*loop)->extent != extent || !element_loops_.insert(var).second) return parts();
    }
    std::erase_if(inside_, [&](const For* loop) { return element_loops_.contains(loop->var.get()); });
    return {};
  }

  // Splits a conjunction of comparisons into forms that are >= 0 if they hold.
  Result<void> masks(const Expr& condition, std::vector<LeafForm>& out) const {
    const auto refuse = [&] {
      return fail(fmt::format("its condition {} is not a conjunction of inequalities", loops::to_string(condition)),
                  "write i >= 2 && i < 10");
    };
    const auto* comparison = std::get_if<Binary>(&condition->node);
    if (!comparison) return refuse();
    if (comparison->op == BinaryOp::logical_and) {
      DOVETAIL_TRY(masks(comparison->a, out));
      return masks(comparison->b, out);
    }
    if (comparison->a->dtype != DType::int64) return refuse();
    Affine difference;  // a - b
    DOVETAIL_ASSIGN(const Affine a, form(comparison->a));
    DOVETAIL_ASSIGN(const Affine b, form(comparison->b));
    accumulate(difference, a, 1);
    accumulate(difference, b, -1);
    Affine result;
    switch (comparison->op) {
      case BinaryOp::ge: accumulate(result, difference, 1); break;
      case BinaryOp::gt: accumulate(result, difference, 1), result.constant -= 1; break;
      case BinaryOp::le: accumulate(result, difference, -1); break;
      case BinaryOp::lt: accumulate(result, difference, -1), result.constant -= 1; break;
      default: return refuse();
    }
    if (&out == &leaf_.masks && leaf_.transfer && !leaf_.transfer->store && !result.coefficients.empty() &&
        std::ranges::all_of(result.coefficients, [&](const auto& term) { return element_loops_.contains(term.first); }))
      return {};  // the rest of each element, which nothing reads, is loaded too
    DOVETAIL_ASSIGN(LeafForm mask, leaf_form(result));
    out.push_back(std::move(mask));
    return {};
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
  std::set<const VarNode*> element_loops_;  // over the two dimensions of an element that is transferred
  Leaf leaf_;
};

}  // namespace

Result<Leaf> make_leaf(const Stmt& stmt, const std::vector<const For*>& outside, const LeafContext& context) {
  return LeafBuilder(stmt, outside, context).build();
}

}  // namespace dovetail::accel
