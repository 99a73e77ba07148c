// Prefetches cache lines during long sums of products, some of them whenever an innermost loop begins or in each of its
// steps: data that is read and written when a sum is complete, and data that the next iteration of a loop around the
// sums reads from far away (weights and the input that it copies). All at once, these would fill the buffers that the
// operands of the sums pass through.
#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/target/cpu/codegen/emitter.h"
#include "compiler/target/cpu/codegen/reach.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kLongSum = 32;  // iterations
constexpr std::int64_t kFewLines = 8;  // that may be prefetched at once

// Iterations of the serial loops that are nested at the top of `core`.
std::int64_t steps_of_serial(const Core& core) {
  const auto* loop = std::get_if<CoreLoop>(&core->node);
  return loop == nullptr || loop->kind != ForKind::serial ? 1 : loop->extent * steps_of_serial(loop->body);
}

bool adds_products(const Core& core) {
  if (!core) return false;
  if (const auto* sequence = std::get_if<CoreSequence>(&core->node))
    return std::ranges::any_of(sequence->body, adds_products);
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return adds_products(loop->body);
  if (const auto* call = std::get_if<CoreCall>(&core->node)) return is_dot_product(call->intrinsic);
  const auto* store = std::get_if<CoreStore>(&core->node);
  return store != nullptr && store->product_sum;
}

std::int64_t rounded_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

}  // namespace

Emitter::Sums Emitter::sums_in(const Core& core) {
  if (!core) return {};
  if (const auto known = sums_.find(core.get()); known != sums_.end()) return known->second;
  Sums sums;
  if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) {
      const Sums more = sums_in(part);
      sums.loops += more.loops, sums.steps += more.steps;
    }
  } else if (const auto* n = std::get_if<CoreIf>(&core->node)) {
    const Sums a = sums_in(n->then_body), b = sums_in(n->else_body);
    sums = {std::max(a.loops, b.loops), std::max(a.steps, b.steps)};
  } else if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    sums = sums_in(*loop);
  }
  return sums_[core.get()] = sums;
}

Emitter::Sums Emitter::sums_in(const CoreLoop& n) {
  const Sums inside = sums_in(n.body);
  if (inside.loops > 0) return {n.extent * inside.loops, n.extent * inside.steps};
  return n.kind == ForKind::serial && adds_products(n.body) ? Sums{1, n.extent} : Sums{};
}

// ---- Shares, and how many have been fetched

void Emitter::pass(const Sums& sums) {
  for (Spread& spread : frame_.spreads) spread.further += spread.by_steps ? sums.steps : sums.loops;
}

void Emitter::fetch_shares(llvm::Value* step) {
  for (const Spread& spread : frame_.spreads) {
    if (spread.by_steps != (step != nullptr)) continue;
    llvm::Value* share = builder_.CreateAdd(spread.passed, int64(spread.further));
    if (step != nullptr) share = builder_.CreateAdd(share, step);
    llvm::Value* last = int64(spread.shares - 1);
    share = builder_.CreateSelect(builder_.CreateICmpULT(share, last), share, last);
    llvm::Value* further = builder_.CreateMul(share, int64(spread.step_bytes));
    for (const std::int64_t line : spread.lines)
      fetch(spread.begin, builder_.CreateAdd(further, int64(line)), spread.written);
  }
}

std::vector<Emitter::Spread> Emitter::enter_iteration(const CoreLoop& n, llvm::Value* iteration) {
  std::vector<Spread> around = frame_.spreads;
  const Sums sums = sums_in(n.body);
  for (Spread& spread : frame_.spreads) {
    const std::int64_t each = spread.by_steps ? sums.steps : sums.loops;
    if (each == 0) continue;
    spread.passed = builder_.CreateAdd(builder_.CreateAdd(spread.passed, int64(spread.further)),
                                       builder_.CreateMul(iteration, int64(each)));
    spread.further = 0;
  }
  if (sums.loops > 0) spread_next_iteration(n, iteration, sums);
  else if (sums_in(n).loops > 0) fetch_shares(iteration);
  return around;
}

// ---- What the result of a sum needs

// Vectors of the model's tensors that are read or written unconditionally. Tensors produced by other kernels are in the
// second-level cache or beyond, and are not accessed in order: a tile has parts of many rows.
void Emitter::lines_of(const Core& core, std::vector<Line>& lines) {
  const auto add = [&](const Buffer& buffer, const std::vector<Expr>& indices, bool written) {
    const Parameter* parameter = parameter_of(*buffer);
    if (parameter == nullptr || parameter->role != (written ? ParameterRole::output : ParameterRole::input) ||
        bytes_of(*buffer) < kLargeBytes || (written && bytes_of(*buffer) <= cpu_.l2_bytes) ||
        std::ranges::any_of(indices, holds_load))
      return;
    const Place place = place_of(buffer, indices);
    if (place.stride == 1)
      lines.push_back({buffer.get(), place.pointer, place.constant * size_bytes(buffer->dtype), written});
  };
  if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) lines_of(part, lines);
  } else if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    if (loop->kind != ForKind::vectorized || lane_var_ != nullptr) return;
    lane_var_ = loop->var.get();
    lanes_ = static_cast<unsigned>(loop->extent);
    lines_of(loop->body, lines);
    lane_var_ = nullptr;
    lanes_ = 0;
  } else if (const auto* store = std::get_if<CoreStore>(&core->node); store != nullptr && lane_var_ != nullptr) {
    for (const StoreTarget& target : store->targets) {
      visit_exprs(target.value, [&](const Expr& expr) {
        if (const auto* load = std::get_if<LoadExpr>(&expr->node)) add(load->buffer, load->indices, false);
      });
      add(target.buffer, target.indices, true);
    }
  }
}

// Contiguous rows of lines at equal distances are cut into shares of whole rows. Other lines, and lines needed by sums
// other than products, are prefetched at once if they are read.
void Emitter::spread_lines(std::vector<Line> lines, const Sums& sums) {
  const std::int64_t line_bytes = cpu_.cache_line_bytes;
  std::ranges::sort(lines, {}, &Line::place);
  const auto repeated =
      std::ranges::unique(lines, [&](const Line& a, const Line& b) { return b.place - a.place < line_bytes; });
  lines.erase(repeated.begin(), repeated.end());
  const auto count = static_cast<std::int64_t>(lines.size());
  const auto place = [&](std::int64_t i) { return lines[static_cast<std::size_t>(i)].place - lines.front().place; };
  std::int64_t each = 1;  // lines per row
  while (each < count && place(each) == each * line_bytes) ++each;
  if (each == count) each = 1;
  const std::int64_t distance = each < count ? place(each) : 0;
  bool regular = count % each == 0 && sums.loops > 0;
  for (std::int64_t i = 0; i < count; ++i) regular &= place(i) == i / each * distance + i % each * line_bytes;
  if (!regular) {
    for (const Line& line : lines)
      if (!line.written) fetch(line.pointer, int64(0));
    return;
  }
  const bool by_steps = count > kFewLines * sums.loops;
  const std::int64_t rows = count / each, of_share = rounded_up(rows, by_steps ? sums.steps : sums.loops);
  Spread spread{lines.front().buffer, lines.front().pointer, of_share * distance, rounded_up(rows, of_share)};
  spread.by_steps = by_steps, spread.written = lines.front().written, spread.passed = int64(0);
  for (std::int64_t i = 0; i < of_share * each; ++i) spread.lines.push_back(place(i));
  frame_.spreads.push_back(std::move(spread));
}

void Emitter::spread_before_sum(const CoreSequence& n, std::size_t at) {
  if (cpu_.bytes_ahead() == 0 || mask_ != nullptr || lane_var_ != nullptr) return;
  const auto is_long = [&](const Core& core) {
    return std::max(sums_in(core).steps, steps_of_serial(core)) >= kLongSum;
  };
  if (!is_long(n.body[at])) return;
  std::vector<Line> lines;
  for (std::size_t next = at + 1; next < n.body.size() && !is_long(n.body[next]); ++next) lines_of(n.body[next], lines);
  while (!lines.empty()) {
    const auto others = std::ranges::stable_partition(lines, [first = lines.front()](const Line& line) {
      return line.buffer == first.buffer && line.written == first.written;
    });
    std::vector<Line> of_buffer(lines.begin(), others.begin());
    lines.erase(lines.begin(), others.begin());
    spread_lines(std::move(of_buffer), sums_in(n.body[at]));
  }
}

// ---- What the next iteration needs

// Weights, and input that is copied before it is multiplied, in buffers larger than the second-level cache: prefetches
// the memory that the next iteration reads and this one does not, if it is contiguous, not most of that cache, and at
// most one line per step: a loop that reads a new line in every step would gain nothing, but an enclosing loop may.
void Emitter::spread_next_iteration(const CoreLoop& n, llvm::Value* iteration, const Sums& sums) {
  if (cpu_.bytes_ahead() == 0) return;
  const auto is_far = [&](const Core& reader, const BufferNode& buffer) {
    const Parameter* parameter = parameter_of(buffer);
    if (parameter == nullptr || bytes_of(buffer) <= cpu_.l2_bytes) return false;
    if (adds_products(reader)) return parameter->role == ParameterRole::constant;
    const auto* store = std::get_if<CoreStore>(&reader->node);
    return parameter->role == ParameterRole::input && store != nullptr &&
           parameter_of(*store->targets.front().buffer) == nullptr;
  };
  for (const Reach& reach : reaches(core_, n.body, is_far)) {
    const bool spread_already =
        std::ranges::find(frame_.spreads, reach.buffer.get(), &Spread::buffer) != frame_.spreads.end();
    const std::int64_t step = reach.moves_by(n.var), begin = std::max(reach.first + step, reach.last + 1),
                       bytes = (reach.last + step + 1 - begin) * size_bytes(reach.buffer->dtype);
    if (spread_already || step <= 0 || !reach.dense() || 4 * bytes > 3 * cpu_.l2_bytes ||
        bytes > cpu_.cache_line_bytes * sums.steps)
      continue;
    llvm::Value* offset = builder_.CreateAdd(emit(to_expr(reach.outer)).llvm, int64(begin));
    // After the last iteration, the next iteration of the enclosing loop starts again at the first.
    if (n.kind == ForKind::serial)
      offset = builder_.CreateSub(offset, builder_.CreateSelect(builder_.CreateICmpEQ(iteration, int64(n.extent - 1)),
                                                                int64(n.extent * step), int64(0)));
    const bool by_steps = bytes > kFewLines * cpu_.cache_line_bytes * sums.loops;
    Spread spread{reach.buffer.get(),
                  builder_.CreateGEP(memory_type_of(reach.buffer->dtype), pointer_to(reach.buffer), offset), 0,
                  by_steps ? sums.steps : sums.loops};
    spread.by_steps = by_steps, spread.passed = int64(0);
    spread.step_bytes = rounded_up(bytes, spread.shares);
    for (std::int64_t line = 0; line < spread.step_bytes; line += cpu_.cache_line_bytes) spread.lines.push_back(line);
    frame_.spreads.push_back(std::move(spread));
  }
}

}  // namespace dovetail::cpu
