#include "compiler/target/cpu/prepare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <ranges>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cpu.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/codegen/sum_bounds.h"
#include "compiler/target/cpu/float_sums.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/skip_padding.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

Json facts(const Cpu& cpu) {
  Json facts = {{"llvm_cpu", cpu.llvm_cpu},
                {"vector_bytes", cpu.vector_bytes},
                {"vector_registers", cpu.vector_registers},
                {"vnni", cpu.byte_dots},
                {"l1_bytes", cpu.l1_bytes},
                {"l1_ways", cpu.l1_ways},
                {"l2_bytes", cpu.l2_bytes},
                {"cache_line_bytes", cpu.cache_line_bytes},
                {"l1_code_bytes", cpu.l1_code_bytes}};
  if (cpu.tile_registers > 0) facts["tile_registers"] = cpu.tile_registers;
  return facts;
}

// Upper bound of a sum of block `main` and its bias: for channel o, weights[o, ..] times activations minus a zero
// point, which span 255 and include 0. Weights with a zero point, which the block then reads, may be larger by up to
// 128. nullopt if weights are not per channel.
std::optional<std::int64_t> largest_sum(const Block& main, const NdArray& weights, const NdArray& bias) {
  constexpr std::int64_t kSpan = 255, kLargestZeroPoint = 128;
  constexpr std::size_t kOperands = 3;  // the sum, activations and weights
  const std::int64_t more = main.reads.size() > kOperands ? kLargestZeroPoint : 0;
  const std::int64_t outputs = bias.count(), each = weights.count() / std::max<std::int64_t>(outputs, 1);
  if (weights.shape().empty() || weights.shape()[0] != outputs) return std::nullopt;
  std::int64_t largest = 0;
  for (std::int64_t o = 0; o < outputs; ++o) {
    std::int64_t positive = 0, negative = 0;
    for (std::int64_t i = 0; i < each; ++i) {
      const std::int64_t weight = weights.as_int64(o * each + i);
      positive += std::max<std::int64_t>(weight + more, 0);
      negative += std::max<std::int64_t>(more - weight, 0);
    }
    largest = std::max(largest, std::abs(bias.as_int64(o)) + kSpan * std::max(positive, negative));
  }
  return largest;
}

std::int64_t power_of_two_from(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value) + 1));
}

Expr clamped_to(const Expr& value, std::int64_t low, std::int64_t high) {
  return binary(BinaryOp::min, binary(BinaryOp::max, value, int_imm(low, DType::int32)), int_imm(high, DType::int32));
}

// The value of min(max(value, -limit), limit) with literals if the limit is at least `most`; else null.
Expr idly_clamped(const Expr& expr, double most) {
  const auto* high = std::get_if<Binary>(&expr->node);
  const auto* low = high != nullptr && high->op == BinaryOp::min ? std::get_if<Binary>(&high->a->node) : nullptr;
  if (low == nullptr || low->op != BinaryOp::max) return nullptr;
  const auto *least = std::get_if<IntImm>(&low->b->node), *limit = std::get_if<IntImm>(&high->b->node);
  const bool idle = least != nullptr && limit != nullptr && least->value == -limit->value &&
                    most <= static_cast<double>(limit->value);
  return idle ? low->a : nullptr;
}

Stmt rewrite_values(const Stmt& stmt, const std::function<Expr(const Expr&)>& rewrite) {
  return rewrite_stmt(
      stmt,
      [](const Stmt& s) {
        const auto* block = std::get_if<Block>(&s->node);
        return block == nullptr ? s : make_stmt(schedule::with_inferred_regions(Block(*block)));
      },
      rewrite);
}

// The block's result, if it is clamped to a part of int8; else null.
const ExprNode* saturated(const Block& block) {
  const auto* result = std::get_if<Store>(&block.body->node);
  const auto* cast_node = result != nullptr ? std::get_if<Cast>(&result->targets[0].value->node) : nullptr;
  const auto* high = cast_node != nullptr ? std::get_if<Binary>(&cast_node->a->node) : nullptr;
  const auto* low = high != nullptr && high->op == BinaryOp::min ? std::get_if<Binary>(&high->a->node) : nullptr;
  if (low == nullptr || low->op != BinaryOp::max) return nullptr;
  const auto *least = std::get_if<IntImm>(&low->b->node), *most = std::get_if<IntImm>(&high->b->node);
  const bool fits = least != nullptr && most != nullptr && least->value >= -128 && most->value <= 127;
  return fits && result->targets[0].value->dtype == DType::int8 ? low->a.get() : nullptr;
}

bool is_finite(const NdArray& array) {
  if (!is_floating(array.dtype())) return true;
  for (std::int64_t i = 0; i < array.count(); ++i)
    if (!std::isfinite(array.as_double(i))) return false;
  return true;
}

// Enlarges the array, filling with zeros.
NdArray grown(const NdArray& array, const Shape& shape) {
  NdArray result(array.dtype(), shape);
  const auto bytes = static_cast<std::int64_t>(size_bytes(array.dtype()));
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + at[d];
    std::copy_n(array.bytes().begin() + i * bytes, bytes, result.bytes().begin() + place * bytes);
    for (std::size_t d = shape.size(); d-- > 0 && ++at[d] == array.shape()[d];) at[d] = 0;
  }
  return result;
}

}  // namespace

Preparation::Preparation(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& processor,
                         std::string_view kind)
    : prepare::Preparation(group, schedule::Task{std::string(bundle::kCpuTarget),
                                                 std::string(kind),
                                                 group.program,
                                                 {},
                                                 {},
                                                 facts(processor),
                                                 {std::shared_ptr<const void>(), &intrinsics(processor)}}),
      cpu(processor) {
  std::size_t input = 0, output = 0;
  for (const Parameter& parameter : group.program.parameters)
    task.layouts[parameter.buffer->name] =
        parameter.role == ParameterRole::output ? layouts.results[output++] : layouts.arguments[input++];
}

void Preparation::bound_accumulator(const std::string& main, const std::string& weights) {
  const auto bias = bias_of(main);
  const auto w = argument(weights);
  if (!bias || !w || !group().constants[*w]) return;
  const auto largest = largest_sum(*block(main), *group().constants[*w], *group().constants[bias->argument]);
  if (!largest) return;
  const bool small = *largest < kSmallAccumulator;  // else the sum has no bound and may even wrap
  const Buffer sum = block(main)->writes.front().buffer;
  // Values that are clamped to int8 at once: larger sums may be clipped to where they saturate anyway.
  std::set<const ExprNode*> saturating;
  for (const schedule::Path& path : schedule::blocks_below(task.program.body))
    saturating.insert(saturated(*schedule::as_block(path.back())));
  task.program.body = rewrite_stmt(task.program.body, {}, [&](const Expr& e) -> Expr {
    const auto* n = std::get_if<Call>(&e->node);
    if (n == nullptr || n->function != Function::requantize) return e;
    const auto* add = std::get_if<Binary>(&n->arguments[0]->node);
    const auto* from = add == nullptr ? nullptr : std::get_if<LoadExpr>(&add->a->node);
    if (from == nullptr || from->buffer != sum) return e;
    std::int64_t limit = small ? std::max<std::int64_t>(kFloatAccumulator, power_of_two_from(*largest)) - 1
                               : std::numeric_limits<std::int64_t>::max();
    Expr scale = n->arguments[1];
    if (const auto range = scales(scale)) {
      constexpr double kSaturates = 512;  // still exceeds int8 after adding a zero point
      const double most = std::exp2(std::ceil(std::log2(range->largest)));
      if (saturating.contains(e.get()) && range->least * static_cast<double>(kFloatAccumulator) >= kSaturates)
        limit = std::min(limit, kFloatAccumulator);
      scale = binary(BinaryOp::min, binary(BinaryOp::max, scale, float_imm(-most)), float_imm(most));
    }
    const bool clamps = limit <= std::numeric_limits<std::int32_t>::max();
    const Expr acc = clamps ? clamped_to(n->arguments[0], -limit, limit) : n->arguments[0];
    return call(Function::requantize, {acc, scale, n->arguments[2]});
  });
  task.prepared.push_back(fmt::format("bound_accumulator {} {}", main, weights));
}

void Preparation::start_with_bias(const std::string& main) {
  const auto bias = bias_of(main);
  Block started = *block(main);
  const auto* start = started.init ? std::get_if<Store>(&started.init->node) : nullptr;
  const auto* zero = start != nullptr ? std::get_if<IntImm>(&start->targets[0].value->node) : nullptr;
  if (!bias || zero == nullptr || zero->value != 0) return;
  const Buffer sum = start->targets[0].buffer;
  const std::vector<Expr> indices = start->targets[0].indices;
  const Buffer added = task.program.parameters[bias->argument].buffer;
  const NdArray& values = *constant(bias->argument);
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < values.count(); ++i) largest = std::max(largest, std::abs(values.as_int64(i)));
  const Expr first = load(added, {indices[bias->dimension]});
  started.init = store(sum, indices, largest < kSmallAccumulator ? clamped_to(first, -largest, largest) : first);
  const auto path = schedule::find_block(task.program.body, main);
  const Stmt body = schedule::replace(task.program.body, path->back(), make_stmt(std::move(started)));
  task.program.body = rewrite_values(body, [&](const Expr& e) -> Expr {
    const auto* add = std::get_if<Binary>(&e->node);
    if (add == nullptr || add->op != BinaryOp::add) return e;
    const auto *a = std::get_if<LoadExpr>(&add->a->node), *b = std::get_if<LoadExpr>(&add->b->node);
    return a != nullptr && b != nullptr && a->buffer == sum && b->buffer == added ? add->a : e;
  });
  const auto bounds = sum_bounds(task.program);
  if (const auto most = bounds.find(sum->name); most != bounds.end())
    task.program.body = rewrite_values(task.program.body, [&](const Expr& e) -> Expr {
      const Expr value = idly_clamped(e, most->second);
      const auto* of = value ? std::get_if<LoadExpr>(&value->node) : nullptr;
      return of != nullptr && of->buffer == sum ? value : e;
    });
  task.prepared.push_back(fmt::format("start_with_bias {}", main));
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

std::optional<Preparation::Scales> Preparation::scales(const Expr& scale) const {
  const auto* load = std::get_if<LoadExpr>(&scale->node);
  const auto position = load == nullptr ? std::nullopt : argument(load->buffer->name);
  if (!position || !group().constants[*position] || load->buffer->dtype != DType::float32) return std::nullopt;
  const NdArray& values = *group().constants[*position];
  Scales range{std::numeric_limits<double>::infinity(), 0};
  for (std::int64_t i = 0; i < values.count(); ++i) {
    const double magnitude = std::abs(values.as_double(i));
    if (!std::isfinite(magnitude)) return std::nullopt;
    range = {std::min(range.least, magnitude), std::max(range.largest, magnitude)};
  }
  return range.largest > 0 ? std::optional(range) : std::nullopt;
}

void Preparation::sum_in_floats(const std::string& main, const std::string& weights) {
  const auto w = argument(weights);
  if (!w || !group().constants[*w] || group().constants[*w]->shape().empty()) return;
  const NdArray no_bias(DType::int32, {group().constants[*w]->shape()[0]});
  const auto largest = largest_sum(*block(main), *group().constants[*w], no_bias);
  if (!largest || *largest >= kFloatSum) return;
  auto floats = cpu::sum_in_floats(task.program, main);
  if (!floats) return;
  task.program = *std::move(floats);
  task.prepared.push_back(fmt::format("sum_in_floats {} {}", main, weights));
}

void Preparation::skip_padding(const std::string& main, const std::string& weights) {
  constexpr double kWorthIt = 1.0 / 64;  // share of the products
  const auto w = argument(weights);
  if (!w || std::ranges::any_of(task.program.parameters[*w].buffer->shape | std::views::drop(2),
                                [](std::int64_t extent) { return extent > kLongestSkippingWindow; }))
    return;
  auto skipping = cpu::skip_padding(task.program, main);
  if (!skipping || skipping->share < kWorthIt || !group().constants[*w] || !is_finite(*group().constants[*w])) return;
  task.program = std::move(skipping->program);
  task.prepared.push_back(fmt::format("skip_padding {} {}", main, weights));
}

void Preparation::pad_rows(const std::vector<std::string>& names, std::int64_t multiple) {
  BufferMap padded;
  for (const std::string& name : names) {
    const auto position = argument(name);
    if (!position || !group().constants[*position]) return;
    const Buffer before = task.program.parameters[*position].buffer;
    Shape shape = before->shape;
    shape[0] = (shape[0] + multiple - 1) / multiple * multiple;
    if (shape != before->shape) padded[before.get()] = make_buffer(before->name, before->dtype, shape, before->scope);
  }
  if (padded.empty()) return;
  for (std::size_t i = 0; i < task.program.parameters.size(); ++i) {
    Parameter& parameter = task.program.parameters[i];
    const auto more = padded.find(parameter.buffer.get());
    if (more == padded.end()) continue;
    parameter.buffer = more->second;
    constants.insert_or_assign(i, grown(*group().constants[i], parameter.buffer->shape));
  }
  task.program.body = replace_buffers(task.program.body, padded);
  task.prepared.push_back(fmt::format("pad_rows {} {}", fmt::join(names, ","), multiple));
}

void Preparation::extend_product(const std::string& main, const Extents& extents) {
  const Block& product = *block(main);
  const bool more =
      std::ranges::any_of(extents, [&](const auto& one) { return product.iterators[one.first].extent != one.second; });
  auto extended = more ? cpu::extend_product(task.program, main, extents) : std::nullopt;
  if (!extended) return;
  for (const auto& [name, shape] : extended->constants)
    if (const auto position = argument(name); !position || !group().constants[*position]) return;
  for (const auto& [name, shape] : extended->constants) {
    const std::size_t position = *argument(name);
    constants.insert_or_assign(position, grown(*group().constants[position], shape));
  }
  task.program = std::move(extended->program);
  std::string words;
  for (const auto& [iterator, extent] : extents) words += fmt::format(" {}:{}", iterator, extent);
  task.prepared.push_back(fmt::format("extend_product {}{}", main, words));
}

}  // namespace dovetail::cpu
