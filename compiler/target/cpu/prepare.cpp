#include "compiler/target/cpu/prepare.h"

#include <algorithm>

#include <fmt/format.h>

#include "bundle/code/cpu.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/shift_activations.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

Json facts(const Cpu& cpu) {
  return {{"llvm_cpu", cpu.llvm_cpu},
          {"vector_bytes", cpu.vector_bytes},
          {"vector_registers", cpu.vector_registers},
          {"vnni", cpu.vnni},
          {"l1_bytes", cpu.l1_bytes},
          {"l1_ways", cpu.l1_ways},
          {"l2_bytes", cpu.l2_bytes},
          {"cache_line_bytes", cpu.cache_line_bytes},
          {"l1_code_bytes", cpu.l1_code_bytes}};
}

}  // namespace

Preparation::Preparation(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& processor,
                         std::string_view kind)
    : cpu(processor),
      task{std::string(bundle::kCpuTarget),
           std::string(kind),
           group.program,
           {},
           {},
           facts(processor),
           {std::shared_ptr<const void>(), &intrinsics(processor)}},
      group_(group) {
  std::size_t input = 0, output = 0;
  for (const Parameter& parameter : group.program.parameters)
    task.layouts[parameter.buffer->name] =
        parameter.role == ParameterRole::output ? layouts.results[output++] : layouts.arguments[input++];
}

const Block* Preparation::block(const std::string& name) const {
  const auto path = schedule::find_block(task.program.body, name);
  return path ? schedule::as_block(path->back()) : nullptr;
}

std::optional<std::size_t> Preparation::argument(const std::string& name) const {
  for (std::size_t i = 0; i < group_.arguments.size(); ++i)
    if (group_.program.parameters[i].buffer->name == name) return i;
  return std::nullopt;
}

std::optional<std::size_t> Preparation::bias_of(const std::string& main) const {
  // sum + bias[o]: the one int32 vector that is added to the sum.
  std::optional<std::size_t> bias;
  const Buffer sum = block(main)->writes.front().buffer;
  for (const schedule::Path& path : schedule::blocks_below(task.program.body))
    visit_exprs(schedule::as_block(path.back())->body, [&](const Expr& e) {
      const auto* add = std::get_if<Binary>(&e->node);
      if (add == nullptr || add->op != BinaryOp::add) return;
      const auto *a = std::get_if<LoadExpr>(&add->a->node), *b = std::get_if<LoadExpr>(&add->b->node);
      if (a == nullptr || b == nullptr || a->buffer != sum) return;
      for (std::size_t i = 0; i < group_.arguments.size(); ++i)
        if (group_.program.parameters[i].buffer == b->buffer && group_.constants[i] && b->buffer->dtype == DType::int32)
          bias = i;
    });
  return bias;
}

void Preparation::bound_accumulator(const std::string& main, const std::string& weights) {
  constexpr std::int64_t kLimit = kSmallAccumulator - 1, kLargestActivation = 255;  // |x - zero point| of int8
  const auto bias = bias_of(main);
  const auto w = argument(weights);
  if (!bias || !w || !group_.constants[*w]) return;
  const NdArray &values = *group_.constants[*w], &offsets = *group_.constants[*bias];
  const std::int64_t outputs = offsets.count(), each = values.count() / std::max<std::int64_t>(outputs, 1);
  if (values.shape().empty() || values.shape()[0] != outputs) return;
  for (std::int64_t o = 0; o < outputs; ++o) {
    std::int64_t total = std::abs(offsets.as_int64(o));
    for (std::int64_t i = 0; i < each; ++i) total += std::abs(values.as_int64(o * each + i)) * kLargestActivation;
    if (total > kLimit) return;
  }
  const Buffer sum = block(main)->writes.front().buffer;
  task.program.body = rewrite_stmt(task.program.body, {}, [&](const Expr& e) -> Expr {
    const auto* n = std::get_if<Call>(&e->node);
    if (n == nullptr || n->function != Function::requantize) return e;
    const auto* add = std::get_if<Binary>(&n->arguments[0]->node);
    const auto* from = add == nullptr ? nullptr : std::get_if<LoadExpr>(&add->a->node);
    if (from == nullptr || from->buffer != sum) return e;
    const Expr bounded = binary(BinaryOp::min, binary(BinaryOp::max, n->arguments[0], int_imm(-kLimit, DType::int32)),
                                int_imm(kLimit, DType::int32));
    return call(Function::requantize, {bounded, n->arguments[1], n->arguments[2]});
  });
  task.prepared.push_back(fmt::format("bound_accumulator {} {}", main, weights));
}

void Preparation::split_groups(const std::string& main, std::int64_t groups) {
  const Block& before = *block(main);
  const Iterator outputs = before.iterators[1];
  const auto* loop = std::get_if<VarRef>(&outputs.binding->node);
  if (loop == nullptr) return;
  const std::int64_t each = outputs.extent / groups;
  const Var group = make_var("g"), group_loop = make_var(main + ".g"), o = outputs.var, o_loop = loop->var;
  const Expr whole = each == 1 ? ref(group) : ref(group) * each + ref(o);
  const auto by_group = [&](const Expr& e) -> Expr {
    if (const auto* n = std::get_if<VarRef>(&e->node)) return n->var == o ? whole : e;
    const auto* n = std::get_if<Binary>(&e->node);
    const auto* by = n != nullptr && n->op == BinaryOp::floor_div ? std::get_if<IntImm>(&n->b->node) : nullptr;
    return by != nullptr && by->value == each && structurally_equal(n->a, whole) ? ref(group) : e;
  };
  task.program.body = rewrite_stmt(task.program.body, [&](const Stmt& stmt) -> Stmt {
    if (const auto* n = std::get_if<For>(&stmt->node); n != nullptr && n->var == o_loop) {
      For inner = *n;
      inner.extent = each;
      return make_stmt(For{group_loop, groups, ForKind::serial, "", {}, make_stmt(std::move(inner))});
    }
    const auto* n = std::get_if<Block>(&stmt->node);
    if (n == nullptr || n->name != main) return stmt;
    Block split = *n;
    split.iterators[1].extent = each;
    split.iterators.insert(split.iterators.begin() + 1, {group, groups, IterKind::spatial, ref(group_loop)});
    split.init = rewrite_stmt(split.init, {}, by_group);
    split.body = rewrite_stmt(split.body, {}, by_group);
    return make_stmt(schedule::with_inferred_regions(std::move(split)));
  });
  task.prepared.push_back(fmt::format("split_groups {} {}", main, groups));
}

void Preparation::shift_activations(const std::string& main, std::int64_t channels) {
  auto shifted = cpu::shift_activations(task.program, main, channels);
  if (!shifted) return;
  const auto weights = argument(shifted->weights), bias = bias_of(main);
  if (!weights || !bias || !group_.constants[*weights]) return;
  const NdArray& w = *group_.constants[*weights];
  NdArray corrected = *group_.constants[*bias];
  if (corrected.count() != w.shape()[0]) return;
  const std::int64_t each = w.count() / w.shape()[0];
  for (std::int64_t o = 0; o < corrected.count(); ++o) {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < each; ++i) total += w.as_int64(o * each + i);
    // As the accumulator does, it wraps.
    corrected.data<std::int32_t>()[static_cast<std::size_t>(o)] = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(corrected.as_int64(o)) - static_cast<std::uint32_t>(total * shifted->offset));
  }
  constants.insert_or_assign(*bias, std::move(corrected));
  if (shifted->weights_shape != w.shape()) {
    // Zeros for the channels that were added.
    NdArray wider(w.dtype(), shifted->weights_shape);
    const std::int64_t block = each / w.shape()[1], channels_now = shifted->weights_shape[1];
    for (std::int64_t o = 0; o < w.shape()[0]; ++o)
      for (std::int64_t i = 0; i < each; ++i) wider.set_int64(o * channels_now * block + i, w.as_int64(o * each + i));
    constants.insert_or_assign(*weights, std::move(wider));
  }
  task.program = std::move(shifted->program);
  task.prepared.push_back(fmt::format("shift_activations {} {}", main, channels));
}

}  // namespace dovetail::cpu
