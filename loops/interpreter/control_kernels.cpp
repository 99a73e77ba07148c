// Loops, jumps, and moves between registers.
#include <algorithm>

#include "loops/interpreter/element.h"
#include "loops/interpreter/kernels.h"

namespace dovetail::loops {
namespace {

const Instr* run_affine(const Instr* i, Frame& f) {
  std::int64_t* __restrict d = f.own<std::int64_t>(i->d);
  const std::int64_t base = f.affine[i->base];
  const std::int64_t n = f.lanes[i->wide];
  if (i->table < 0) {
    for (std::int64_t l = 0; l < n; ++l) d[l] = base + l * i->imm;
  } else {
    const std::int64_t* __restrict offsets = f.bytecode->tables[static_cast<std::size_t>(i->table)].data();
    for (std::int64_t l = 0; l < n; ++l) d[l] = base + offsets[l];
  }
  return i + 1;
}

template <typename R>
const Instr* run_broadcast(const Instr* i, Frame& f) {
  std::fill_n(f.own<R>(i->d), f.lanes[i->wide], *f.in<R>(i->a));
  return i + 1;
}

const Instr* run_move(const Instr* i, Frame& f) {
  f.reg[i->d] = f.reg[i->a];
  return i + 1;
}

template <bool negated>
const Instr* run_mask(const Instr* i, Frame& f) {
  const auto* __restrict a = f.in<std::uint8_t>(i->a);
  auto* __restrict d = f.own<std::uint8_t>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  if (i->mask < 0) {
    for (std::int64_t l = 0; l < n; ++l) d[l] = static_cast<std::uint8_t>(a[l] ^ (negated ? 1 : 0));
  } else {
    const auto* __restrict mask = f.in<std::uint8_t>(i->mask);
    for (std::int64_t l = 0; l < n; ++l) d[l] = static_cast<std::uint8_t>(mask[l] & (a[l] ^ (negated ? 1 : 0)));
  }
  return i + 1;
}

const Instr* run_jump(const Instr* i, Frame&) { return i + i->imm; }
const Instr* run_jump_if_false(const Instr* i, Frame& f) { return *f.in<std::uint8_t>(i->a) != 0 ? i + 1 : i + i->imm; }
const Instr* run_set_lanes(const Instr* i, Frame& f) {
  f.lanes[1] = i->imm;
  return i + 1;
}

const Instr* run_loop_begin(const Instr* i, Frame& f) {
  const LoopInfo& loop = f.bytecode->loops[static_cast<std::size_t>(i->d)];
  f.left[i->d] = loop.extent;
  for (const auto& [to, from] : loop.start) f.affine[to] = f.affine[from];
  if (loop.in_lanes) f.lanes[1] = std::min(loop.step, loop.extent);
  return i + 1;
}

// Of a trimmed loop: an empty one jumps over its body.
const Instr* run_trimmed_loop_begin(const Instr* i, Frame& f) {
  const LoopInfo& loop = f.bytecode->loops[static_cast<std::size_t>(i->d)];
  const auto limit = [&](std::int32_t reg, std::int64_t otherwise) {
    return reg < 0 ? otherwise : std::clamp<std::int64_t>(*f.in<std::int64_t>(reg), 0, loop.extent);
  };
  const std::int64_t first = limit(loop.first, 0), count = limit(loop.end, loop.extent) - first;
  if (count <= 0) return i + i->imm;
  f.left[i->d] = count;
  for (std::size_t r = 0; r < loop.start.size(); ++r)
    f.affine[loop.start[r].first] = f.affine[loop.start[r].second] + first * (loop.advance[r].second / loop.step);
  if (loop.in_lanes) f.lanes[1] = std::min(loop.step, count);
  return i + 1;
}

const Instr* run_loop_end(const Instr* i, Frame& f) {
  const LoopInfo& loop = f.bytecode->loops[static_cast<std::size_t>(i->d)];
  if (!f.meter.advance(loop.cost)) return nullptr;
  const std::int64_t left = f.left[i->d] -= loop.step;
  if (left <= 0) return i + 1;
  for (const auto& [reg, increment] : loop.advance) f.affine[reg] += increment;
  if (loop.in_lanes) f.lanes[1] = std::min(loop.step, left);
  return i + i->imm;
}

const Instr* run_halt(const Instr*, Frame&) { return nullptr; }

}  // namespace

Kernel affine_kernel() { return run_affine; }
Kernel broadcast_kernel(DType dtype) {
  return with_element(dtype, []<typename E>() -> Kernel { return run_broadcast<typename E::Reg>; });
}
Kernel move_kernel() { return run_move; }
Kernel mask_kernel(bool negated) { return negated ? run_mask<true> : run_mask<false>; }
Kernel jump_kernel() { return run_jump; }
Kernel jump_if_false_kernel() { return run_jump_if_false; }
Kernel set_lanes_kernel() { return run_set_lanes; }
Kernel loop_begin_kernel(bool trimmed) { return trimmed ? run_trimmed_loop_begin : run_loop_begin; }
Kernel loop_end_kernel() { return run_loop_end; }
Kernel halt_kernel() { return run_halt; }

}  // namespace dovetail::loops
