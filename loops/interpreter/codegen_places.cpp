#include <algorithm>

#include "loops/interpreter/access.h"
#include "loops/interpreter/codegen.h"
#include "loops/linear.h"

namespace dovetail::loops {
namespace {

// The affine form of a simplified int64 expression in loop variables; nullopt if it has other atoms.
std::optional<Affine> affine_of(const Expr& expr) {
  if (expr->dtype != DType::int64) return std::nullopt;
  const Linear form = linear_form(expr);
  Affine result;
  result.constant = form.constant;
  for (const LinearTerm& term : form.terms) {
    const auto* n = std::get_if<VarRef>(&term.atom->node);
    if (n == nullptr) return std::nullopt;
    result.coefficients[n->var.get()] = term.coefficient;
  }
  return result;
}

}  // namespace

// The register with the form's value. Each loop with a coefficient has one: it starts from the enclosing loop's
// register and is advanced each pass, so that no multiplication is left inside. Lane variables start at 0 here; in
// passes the loop itself advances.
std::int32_t Codegen::affine_register(const Affine& form) {
  auto root = roots_.find(form.constant);
  if (root == roots_.end()) {
    root = roots_.emplace(form.constant, static_cast<std::int32_t>(out_.affine_roots.size())).first;
    out_.affine_roots.push_back(form.constant);
  }
  std::int32_t reg = root->second;
  for (LoopScope& scope : scopes_) {
    const auto found = form.coefficients.find(scope.var);
    if (found == form.coefficients.end() || found->second == 0) continue;
    const auto [entry, is_new] = scope.chained.try_emplace({reg, found->second}, 0);
    if (is_new) {
      entry->second = static_cast<std::int32_t>(out_.affine_roots.size());
      out_.affine_roots.push_back(0);
      LoopInfo& loop = out_.loops[static_cast<std::size_t>(scope.index)];
      loop.start.emplace_back(entry->second, reg);
      loop.advance.emplace_back(entry->second, found->second * loop.step);
    }
    reg = entry->second;
  }
  return reg;
}

Codegen::LaneOffsets Codegen::lane_offsets(const Affine& form) const {
  LaneOffsets result;
  if (!in_lanes()) return result;
  std::vector<std::int64_t> coefficients;
  for (const CoreLoop* loop : space_->loops) {
    const auto found = form.coefficients.find(loop->var.get());
    coefficients.push_back(found == form.coefficients.end() ? 0 : found->second);
    result.varies |= coefficients.back() != 0;
  }
  if (!result.varies) return result;
  if (in_passes_) {
    result.stride = coefficients[0];
    return result;
  }
  result.offsets.assign(static_cast<std::size_t>(space_->count), 0);
  std::int64_t repeat = space_->count;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    repeat /= space_->loops[i]->extent;
    for (std::int64_t lane = 0; lane < space_->count; ++lane)
      result.offsets[static_cast<std::size_t>(lane)] += coefficients[i] * (lane / repeat % space_->loops[i]->extent);
  }
  result.stride = result.offsets[1];
  for (std::size_t lane = 0; lane < result.offsets.size(); ++lane)
    result.linear &= result.offsets[lane] == static_cast<std::int64_t>(lane) * result.stride;
  return result;
}

std::int32_t Codegen::table(const std::vector<std::int64_t>& offsets) {
  const auto [entry, is_new] = tables_.try_emplace(offsets, static_cast<std::int32_t>(out_.tables.size()));
  if (is_new) out_.tables.push_back(offsets);
  return entry->second;
}

std::int32_t Codegen::site(const Buffer& buffer, int dimension, std::int64_t extent) {
  out_.sites.push_back({block_, buffer, dimension, extent});
  return static_cast<std::int32_t>(out_.sites.size() - 1);
}

Codegen::Value Codegen::affine_value(const Affine& form, DType dtype) {
  const LaneOffsets lanes = lane_offsets(form);
  Instr instr;
  instr.kernel = affine_kernel();
  instr.base = affine_register(form);
  instr.wide = lanes.varies ? 1 : 0;
  instr.imm = lanes.stride;
  if (!lanes.linear) instr.table = table(lanes.offsets);
  instr.d = new_register();
  emit(instr);
  return cast_value(Value{instr.d, lanes.varies}, DType::int64, dtype);
}

// Checks indices that are not proven in bounds, and computes the lanes' offsets if they are not affine.
Codegen::Place Codegen::place(const Buffer& buffer, const std::vector<Expr>& indices, std::int32_t mask) {
  Place result;
  result.buffer = buffers_.at(buffer.get());
  const auto strides = row_major_strides(buffer->shape);
  Affine flat;
  Value computed;
  bool needs_mask = out_.buffers[static_cast<std::size_t>(result.buffer)].tracked;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool proven = facts_.in_range(indices[i], buffer->shape[i]);
    needs_mask |= !proven || (mask >= 0 && !unmasked_facts_.in_range(indices[i], buffer->shape[i]));
    const auto form = affine_of(indices[i]);
    if (form) {
      flat.constant += form->constant * strides[i];
      for (const auto& [var, coefficient] : form->coefficients) flat.coefficients[var] += coefficient * strides[i];
      if (proven) continue;
    }
    Value index = value(indices[i], mask);
    if (!proven) {
      Instr check;
      check.kernel = check_index_kernel();
      if (mask >= 0) index = in_all_lanes(index, DType::int64);
      check.wide = index.wide || mask >= 0 ? 1 : 0;
      check.a = index.reg;
      check.mask = mask;
      check.imm = buffer->shape[i];
      check.site = site(buffer, static_cast<int>(i), buffer->shape[i]);
      emit(check);
    }
    if (form) continue;
    const Value stride = constant_value(int_imm(strides[i]));
    const Value scaled =
        strides[i] == 1 ? index : emit_op(binary_kernel(BinaryOp::mul, DType::int64), index.wide, index, stride);
    computed =
        computed.reg < 0 ? scaled : joined(computed, scaled, binary_kernel(BinaryOp::add, DType::int64), DType::int64);
  }
  const LaneOffsets lanes = lane_offsets(flat);
  result.mask = needs_mask ? mask : -1;
  result.wide = lanes.varies || computed.wide || result.mask >= 0;
  result.base = affine_register(flat);
  if (computed.reg >= 0) {
    result.addressing = Addressing::computed;
    if (result.wide) computed = in_all_lanes(computed, DType::int64);
    if (lanes.varies) {  // the affine part's lanes are added to the computed ones; its scalar part stays in the base
      Instr add_lanes;
      add_lanes.kernel = affine_kernel();
      add_lanes.base = affine_register({});
      add_lanes.imm = lanes.stride;
      if (!lanes.linear) add_lanes.table = table(lanes.offsets);
      add_lanes.wide = 1;
      add_lanes.d = new_register();
      emit(add_lanes);
      computed = emit_op(binary_kernel(BinaryOp::add, DType::int64), true, computed, Value{add_lanes.d, true});
    }
    result.computed = computed.reg;
  } else if (result.wide) {
    result.addressing = !lanes.linear ? Addressing::table : lanes.stride == 1 ? Addressing::unit : Addressing::strided;
    result.stride = lanes.stride;
    if (!lanes.linear) result.table = table(lanes.offsets);
  }
  return result;
}

Instr Codegen::at(const Place& place, Kernel kernel) const {
  Instr instr;
  instr.kernel = kernel;
  instr.wide = place.wide ? 1 : 0;
  instr.a = place.computed;
  instr.buffer = place.buffer;
  instr.base = place.base;
  instr.table = place.table;
  instr.imm = place.stride;
  instr.mask = place.mask;
  return instr;
}

void Codegen::check_defined(const Place& p, const Buffer& buffer) {
  if (!out_.buffers[static_cast<std::size_t>(p.buffer)].tracked) return;
  Instr check = at(p, check_defined_kernel(p.addressing));
  check.site = site(buffer, -1, 0);
  emit(check);
}

}  // namespace dovetail::loops
