#include "compiler/target/cpu/schedules/builder.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/shift_activations.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

Builder::Builder(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& processor)
    : s(group.program, intrinsics(processor)), cpu(processor), group_(group), given_(layouts) {}

bool Builder::attempt(const std::string& primitive, std::vector<std::string> arguments,
                      std::vector<std::string> results) {
  return s.status().ok() && s.apply({primitive, std::move(arguments), std::move(results)}).ok();
}

std::vector<std::string> Builder::blocks() const {
  std::vector<std::string> names;
  for (const schedule::Path& path : schedule::blocks_below(s.program().body))
    names.push_back(schedule::as_block(path.back())->name);
  return names;
}

const Block* Builder::block(const std::string& name) const {
  const auto path = schedule::find_block(s.program().body, name);
  return path ? schedule::as_block(path->back()) : nullptr;
}

std::vector<std::string> Builder::loops_of(const std::string& name) const {
  std::vector<std::string> names;
  if (const auto path = schedule::find_block(s.program().body, name))
    for (const For* loop : schedule::loops_of(*path)) names.push_back(loop->var->name);
  return names;
}

std::vector<std::string> Builder::own_loops(const std::string& name) const {
  std::vector<std::string> names;
  if (const auto path = schedule::find_block(s.program().body, name))
    for (const Stmt& stmt : *path)
      if (schedule::as_for(stmt) && schedule::only_block(stmt)) names.push_back(schedule::as_for(stmt)->var->name);
  return names;
}

std::int64_t Builder::extent(const std::string& loop) const {
  const auto path = schedule::find_loop(s.program().body, loop);
  return path ? schedule::as_for(path->back())->extent : 1;
}

Buffer Builder::buffer(const std::string& name) const { return schedule::find_buffer(s.program(), name); }

Buffer Builder::written_by(const std::string& name) const {
  const Block* found = block(name);
  return found && !found->writes.empty() ? found->writes.front().buffer : nullptr;
}

std::vector<Region> Builder::reads_of(const std::string& name) const {
  const Block* found = block(name);
  return found ? found->reads : std::vector<Region>{};
}

void Builder::lay_out(const std::string& name, const std::string& index_map) {
  if (index_map.empty()) return;
  if (const auto [it, added] = layouts_.emplace(name, index_map); !added) {
    DOVETAIL_CHECK(it->second == index_map, "one layout for " + name);
    return;
  }
  s.transform_layout(name, index_map);
}

void Builder::follow_layout(const std::string& name) {
  const auto position = argument(name);
  DOVETAIL_CHECK(position && *position < given_.arguments.size(), name + " is an argument");
  follows_.insert(name);
  lay_out(name, given_.arguments[*position]);
}

std::optional<std::size_t> Builder::bias_of(const std::string& main) const {
  // sum + bias[o]: the one int32 vector that is added to the sum.
  std::optional<std::size_t> bias;
  const Buffer sum = written_by(main);
  for (const std::string& name : blocks())
    visit_exprs(block(name)->body, [&](const Expr& e) {
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

void Builder::bound_accumulator(const std::string& main, const std::string& weights) {
  constexpr std::int64_t kLimit = kSmallAccumulator - 1, kLargestActivation = 255;  // |x - zero point| of int8
  const auto bias = bias_of(main);
  const auto w = argument(weights);
  if (!bias || !w || !group_.constants[*w] || !s.trace().empty()) return;
  const NdArray &values = *group_.constants[*w], &offsets = *group_.constants[*bias];
  const std::int64_t outputs = offsets.count(), each = values.count() / std::max<std::int64_t>(outputs, 1);
  if (values.shape().empty() || values.shape()[0] != outputs) return;
  for (std::int64_t o = 0; o < outputs; ++o) {
    std::int64_t total = std::abs(offsets.as_int64(o));
    for (std::int64_t i = 0; i < each; ++i) total += std::abs(values.as_int64(o * each + i)) * kLargestActivation;
    if (total > kLimit) return;
  }
  Program program = s.program();
  const Buffer sum = written_by(main);
  program.body = rewrite_stmt(program.body, {}, [&](const Expr& e) -> Expr {
    const auto* n = std::get_if<Call>(&e->node);
    if (n == nullptr || n->function != Function::requantize) return e;
    const auto* add = std::get_if<Binary>(&n->arguments[0]->node);
    const auto* from = add == nullptr ? nullptr : std::get_if<LoadExpr>(&add->a->node);
    if (from == nullptr || from->buffer != sum) return e;
    const Expr bounded = binary(BinaryOp::min, binary(BinaryOp::max, n->arguments[0], int_imm(-kLimit, DType::int32)),
                                int_imm(kLimit, DType::int32));
    return call(Function::requantize, {bounded, n->arguments[1], n->arguments[2]});
  });
  s = schedule::Schedule(std::move(program), intrinsics(cpu));
}

std::optional<std::size_t> Builder::argument(const std::string& name) const {
  for (std::size_t i = 0; i < group_.arguments.size(); ++i)
    if (group_.program.parameters[i].buffer->name == name) return i;
  return std::nullopt;
}

bool Builder::shift_activations(const std::string& main, std::int64_t channels) {
  const auto shifted = cpu::shift_activations(s.program(), main, channels);
  if (!shifted || !s.trace().empty()) return false;
  const auto weights = argument(shifted->weights), bias = bias_of(main);
  if (!weights || !bias || !group_.constants[*weights]) return false;
  const NdArray& w = *group_.constants[*weights];
  NdArray corrected = *group_.constants[*bias];
  if (corrected.count() != w.shape()[0]) return false;
  const std::int64_t each = w.count() / w.shape()[0];
  for (std::int64_t o = 0; o < corrected.count(); ++o) {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < each; ++i) total += w.as_int64(o * each + i);
    // As the accumulator does, it wraps.
    corrected.data<std::int32_t>()[static_cast<std::size_t>(o)] = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(corrected.as_int64(o)) - static_cast<std::uint32_t>(total * shifted->offset));
  }
  constants_.insert_or_assign(*bias, std::move(corrected));
  if (shifted->weights_shape != w.shape()) {
    // Zeros for the channels that were added.
    NdArray wider(w.dtype(), shifted->weights_shape);
    const std::int64_t block = each / w.shape()[1], channels_now = shifted->weights_shape[1];
    for (std::int64_t o = 0; o < w.shape()[0]; ++o)
      for (std::int64_t i = 0; i < each; ++i) wider.set_int64(o * channels_now * block + i, w.as_int64(o * each + i));
    constants_.insert_or_assign(*weights, std::move(wider));
  }
  s = schedule::Schedule(shifted->program, intrinsics(cpu));
  return true;
}

std::string Builder::gather_epilogue(const std::string& main, const std::string& scope) {
  std::vector<std::string> behind = blocks();
  behind.erase(behind.begin(), std::find(behind.begin(), behind.end(), main) + 1);
  const std::string result = written_by(main)->name;
  if (behind.empty()) {
    const std::string copy = main + ".tile";
    s.cache_write(main, result, scope, copy);
    return copy;
  }
  for (std::size_t i = 0; i + 1 < behind.size(); ++i) s.inline_block(behind[i]);
  s.set_scope(result, scope);
  return behind.back();
}

std::pair<std::string, std::string> Builder::tile(const std::string& loop, std::int64_t factor) {
  if (factor >= extent(loop)) return {"", loop};
  const std::string outer = loop + "_o", inner = loop + "_i";
  s.split(loop, factor, outer, inner);
  return {outer, inner};
}

std::string Builder::vectorize(const std::string& loop, std::int64_t lanes) {
  if (extent(loop) == 1) return "";
  const auto [outer, inner] = tile(loop, lanes);
  s.vectorize(inner);
  return outer;
}

void Builder::follow_layouts() {
  bool channels_last = false;
  std::size_t input = 0, output = 0;
  for (const Parameter& parameter : group_.program.parameters) {
    const std::string& wanted =
        parameter.role == ParameterRole::output ? given_.results[output++] : given_.arguments[input++];
    channels_last |= wanted == kChannelsLast;
    if (parameter.role == ParameterRole::constant) continue;
    follows_.insert(parameter.buffer->name);
    lay_out(parameter.buffer->name, wanted);
  }
  // Constants of an image's shape lie like the images.
  for (const Parameter& parameter : group_.program.parameters)
    if (parameter.role == ParameterRole::constant)
      lay_out(parameter.buffer->name, channels_last && parameter.buffer->shape.size() == 4 ? kChannelsLast : "");
  if (!channels_last) return;
  const std::vector<Buffer> allocations = s.program().allocations;  // a step replaces the program
  for (const Buffer& allocation : allocations)
    if (allocation->shape.size() == 4) lay_out(allocation->name, kChannelsLast);
}

void Builder::unroll(const std::string& loop) {
  if (!loop.empty() && extent(loop) > 1) s.unroll(loop);
}

void Builder::reorder(std::vector<std::string> loops) {
  std::erase(loops, "");
  if (loops.size() > 1) s.reorder(loops);
}

void Builder::parallel(const std::vector<std::string>& loops) {
  std::vector<std::string> several;
  for (const std::string& loop : loops)
    if (!loop.empty() && extent(loop) > 1) several.push_back(loop);
  if (several.empty() || !s.status().ok()) return;
  // All of them in one where that can be proven, else the longest alone.
  const schedule::Schedule before = s;
  std::string fused = several.front();
  bool taken = true;
  for (std::size_t i = 1; i < several.size() && taken; ++i) {
    const std::string next = fused + "_" + several[i].substr(several[i].find_last_of('.') + 1);
    taken = attempt("fuse", {fused, several[i]}, {next});
    fused = next;
  }
  if (taken && attempt("parallel", {fused})) return;
  s = before;
  s.parallel(*std::max_element(several.begin(), several.end(),
                               [&](const std::string& a, const std::string& b) { return extent(a) < extent(b); }));
}

ScheduledGroup Builder::finish(std::string kind) const {
  ScheduledGroup result{s.program(), s.trace(), {}, {}, std::move(kind), constants_};
  std::vector<bool> results_follow;
  for (const Parameter& parameter : group_.program.parameters) {
    const auto it = layouts_.find(parameter.buffer->name);
    const bool output = parameter.role == ParameterRole::output;
    (output ? result.result_layouts : result.argument_layouts).push_back(it == layouts_.end() ? "" : it->second);
    (output ? results_follow : result.follows).push_back(follows_.count(parameter.buffer->name) > 0);
  }
  result.follows.insert(result.follows.end(), results_follow.begin(), results_follow.end());
  return result;
}

bool crowds_sets(std::int64_t distance_bytes, const Cpu& cpu) {
  return distance_bytes % (cpu.l1_set_stride_bytes() / 2) == 0;
}

std::int64_t largest_divisor(std::int64_t value, std::int64_t at_most) {
  for (std::int64_t d = std::min(value, at_most); d > 1; --d)
    if (value % d == 0) return d;
  return 1;
}

}  // namespace dovetail::cpu
