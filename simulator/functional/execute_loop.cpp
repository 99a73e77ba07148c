// GEMM and ALU: all indices are checked before the kernel runs. Indices only grow with loop counts and micro-op fields,
// so the largest is the largest field plus the largest offset, and one comparison per operand covers the instruction.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "isa/semantics/epilogue.h"
#include "isa/semantics/uop_loop.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/memories.h"
#include "simulator/cycle/alu_steps.h"
#include "simulator/functional/core.h"
#include "simulator/functional/slices.h"

namespace dovetail::simulator {

namespace {

using isa::semantics::element_index;
using isa::semantics::GemmMode;
using isa::semantics::step_count;

bool is_single_step(const isa::UopLoop& loop) {
  return loop.uop_begin + 1 == loop.uop_end && loop.iter_out == 1 && loop.iter_in == 1;
}

UopRanges ranges_of(const Kernels& kernels, const UopView& uops) {
  if (uops.count > 1) return kernels.uop_ranges(uops);
  return {{uops.dst[0], uops.dst[0]}, {uops.src[0], uops.src[0]}, {uops.wgt[0], uops.wgt[0]}};
}

// The range of element_index over the loops, from that of the micro-ops.
IndexRange over_loops(const isa::UopLoop& loop, IndexRange uops, LoopFactors factors) {
  return {uops.min, element_index(uops.max, loop.iter_out - 1, loop.iter_in - 1, factors.out, factors.in)};
}

void set_loops(GemmArguments& arguments, const isa::ProductLoop& loop, const UopView& uops) {
  arguments.uops = uops;
  arguments.iter_out = loop.iter_out;
  arguments.iter_in = loop.iter_in;
  arguments.dst = {loop.dst_factor_out, loop.dst_factor_in};
  arguments.src = {loop.src_factor_out, loop.src_factor_in};
  arguments.wgt_factors = {loop.wgt_factor_out, loop.wgt_factor_in};
}

// The reads of ACC by the steps of a vector instruction in addition to those of their destinations: none for a step
// that repeats the operands of the preceding step (docs/reference/timing.md, section 9), that is, one with the same
// src, unless that step has written them. The indices are examined one by one only if the ranges of destinations and
// operands overlap.
std::uint64_t operand_reads(const isa::Alu& alu, const UopView& uops, IndexRange dst, IndexRange src,
                            std::uint64_t operands) {
  const std::uint64_t inner = alu.iter_in, outer = alu.iter_out, last = uops.count - 1;
  std::uint64_t same = 0;
  for (std::size_t k = 1; k < uops.count; ++k) same += uops.src[k] == uops.src[k - 1];
  same *= inner * outer;
  if (uops.src[last] == uops.src[0] + alu.src_factor_in) same += (inner - 1) * outer;
  if (uops.src[last] + (inner - 1) * alu.src_factor_in == uops.src[0] + alu.src_factor_out) same += outer - 1;
  const std::uint64_t steps = inner * outer * uops.count;
  if (same == 0 || dst.max < src.min || dst.min > src.max + operands - 1) return (steps - same) * operands;

  std::vector<isa::Uop> copied(uops.count);
  for (std::size_t k = 0; k < uops.count; ++k) copied[k] = {.dst = uops.dst[k], .src = uops.src[k], .wgt = 0};
  isa::Alu from_first = alu;
  from_first.uop_begin = 0;
  from_first.uop_end = static_cast<std::uint32_t>(uops.count);
  return alu_steps(from_first, copied, 1).reads - steps;  // the batch does not matter where operands are read
}

}  // namespace

// Iterations with the same offset as an earlier one have the same indices, and are skipped: at most a memory's depth of
// offsets remains, for any number of iterations.
template <typename Stop>
std::optional<Core::Step> Core::find_step(const isa::UopLoop& loop, const Operand& operand, Stop&& stop) {
  const std::uint64_t count = loop.uop_end - loop.uop_begin;
  const LoopFactors factors = operand.factors;
  const std::uint64_t outer = factors.out == 0 ? 1 : loop.iter_out, inner = factors.in == 0 ? 1 : loop.iter_in;
  std::vector<bool> seen(outer * inner == 1 ? 0 : depth(operand.memory));
  for (std::uint64_t y = 0; y < outer; ++y)
    for (std::uint64_t x = 0; x < inner; ++x) {
      if (!meter_.advance_uncounted(1)) return std::nullopt;
      const std::uint64_t offset = element_index(0, y, x, factors.out, factors.in);
      if (offset < seen.size()) {
        if (seen[offset]) continue;
        seen[offset] = true;
      }
      for (std::uint64_t k = 0; k < count; ++k)
        if (const std::uint64_t index = operand.uop_indices[k] + offset; has(loop, operand, k) && stop(index))
          return Step{y, x, loop.uop_begin + k, index};
      if (!meter_.advance_uncounted(count)) return std::nullopt;
    }
  return std::nullopt;
}

// Whether micro-op k of the loop has the operand.
inline bool Core::has(const isa::UopLoop& loop, const Operand& operand, std::uint64_t k) const {
  return !operand.unless_wgt || *sram_.uops(loop.uop_begin + k, loop.uop_begin + k + 1).wgt != *operand.unless_wgt;
}

std::string Core::describe(const Step& step) {
  return fmt::format("micro-op {} at iteration (out {}, in {})", step.uop, step.y, step.x);
}

inline bool Core::uops_defined(const isa::UopLoop& loop) {
  if (const auto hole = sram_.defined(isa::Memory::uop).find_undefined(loop.uop_begin, loop.uop_end - 1))
    return fail(fmt::format("micro-op {} is executed, but was not written since reset", *hole),
                "load it first, with `load.uop`");
  return true;
}

inline bool Core::table_defined(const isa::Alu& alu) {
  if (!isa::spec::reads_table(alu.op) || sram_.defined(isa::Memory::tab)[0]) [[likely]]
    return true;
  return fail("the table is read, but was not written since reset", "load it first, with `load.tab`");
}

// The common case of each check is inline; the general case finds the faulty step, or finds that only the hull was out
// of range.

inline bool Core::in_range(const isa::UopLoop& loop, const Operand& operand) {
  if (operand.range.max + operand.beyond < depth(operand.memory)) [[likely]]
    return true;
  return fail_range(loop, operand);
}

bool Core::fail_range(const isa::UopLoop& loop, const Operand& operand) {
  const std::uint64_t limit = depth(operand.memory);
  const auto step = find_step(loop, operand, [&](std::uint64_t index) { return index + operand.beyond >= limit; });
  if (!step) return false;  // stopped
  return fail(fmt::format("{} has the index {} {}{}, but {} has {} elements", describe(*step), operand.index,
                          step->index, operand.beyond == 0 ? "" : " (and reads the element after it)",
                          isa::spec::info(operand.memory).name, limit),
              "check the micro-op, the iteration counts and the factors");
}

inline bool Core::is_defined(const isa::UopLoop& loop, const Operand& operand) {
  if (sram_.defined(operand.memory).all(operand.range.min, operand.range.max + operand.beyond)) [[likely]]
    return true;
  return check_holes(loop, operand);
}

bool Core::check_holes(const isa::UopLoop& loop, const Operand& operand) {
  const DefinedElements& defined = sram_.defined(operand.memory);
  const auto step = find_step(loop, operand,
                              [&](std::uint64_t index) { return !defined[index] || !defined[index + operand.beyond]; });
  if (!step) return !stopped();
  return fail(fmt::format("{} reads element {} of {} ({}), but it was not written since reset", describe(*step),
                          defined[step->index] ? step->index + operand.beyond : step->index,
                          isa::spec::info(operand.memory).name, operand.index),
              "load the element first, reset it with GEMM, or correct the index");
}

inline void Core::define(const isa::UopLoop& loop, const Operand& operand) {
  if (!sram_.defined(operand.memory).all(operand.range.min, operand.range.max)) [[unlikely]]
    define_each(loop, operand);
}

void Core::define_each(const isa::UopLoop& loop, const Operand& operand) {
  DefinedElements& defined = sram_.defined(operand.memory);
  find_step(loop, operand, [&](std::uint64_t index) {
    defined.define(index);
    return false;
  });
}

bool Core::read_parameters(const isa::UopLoop& loop) {
  const std::size_t at = loop.uop_end;
  if (!sram_.defined(isa::Memory::uop)[at])
    return fail(fmt::format("micro-op {} selects the parameters of the epilogue, but was not written since reset", at),
                "load it first, with `load.uop`");
  const UopView uop = sram_.uops(at, at + 1);
  const std::uint64_t element = *uop.wgt;
  if (element >= depth(isa::Memory::wgt))
    return fail(fmt::format("the parameters of the epilogue are element {} (micro-op {}), but wgt has {} elements",
                            element, at, depth(isa::Memory::wgt)),
                "check the micro-op after the loop");
  if (!sram_.defined(isa::Memory::wgt)[element])
    return fail(fmt::format("the parameters of the epilogue are element {} of wgt, but it was not written since reset",
                            element),
                "load the element first, or correct the micro-op after the loop");
  const bool looks_up = config_.table && isa::semantics::looks_up({*uop.dst, 0, 0});
  if (looks_up && !sram_.defined(isa::Memory::tab)[0])
    return fail("the table is read, but was not written since reset", "load it first, with `load.tab`");
  const NdArray values = sram_.read(isa::Memory::wgt, element, 1);
  const auto parameters = values.data<std::int8_t>();
  const TileLayout& tile = sram_.layout();
  for (std::size_t word = 0; word < tile.lanes(); ++word) {
    const auto row = parameters.subspan(word % tile.block_out * tile.block_in, tile.block_in);
    epilogue_bias_[word] = static_cast<std::int32_t>(isa::semantics::word_at(row, isa::semantics::kBiasAt));
    epilogue_scale_[word] = isa::semantics::word_at(row, isa::semantics::kScaleAt);
  }
  epilogue_ = {.words = tile.acc_words(),
               .bias = epilogue_bias_.data(),
               .scale = epilogue_scale_.data(),
               .zero_point = parameters[isa::semantics::zero_point_at(tile.block_in)],
               .least = parameters[isa::semantics::least_at(tile.block_in)],
               .most = parameters[isa::semantics::most_at(tile.block_in)],
               .table = looks_up ? sram_.table() : nullptr};
  return true;
}

// Only the last step of each destination matters: its sum is in ACC.
bool Core::requantize(const isa::UopLoop& loop, const Operand& dst, Counters& counters, std::uint64_t results) {
  find_step(loop, dst, [&](std::uint64_t index) {
    epilogue_.acc = sram_.acc() + index * epilogue_.words;
    epilogue_.out = sram_.out(index);
    kernels_.epilogue(epilogue_);
    sram_.requantized().define(index);
    return false;
  });
  counters.epilogue_uops += results;
  if (epilogue_.table != nullptr) counters.epilogue_lookups += results;
  return !stopped();
}

bool Core::replace_out(const isa::UopLoop& loop, const Operand& dst) {
  if (!config_.epilogue || !sram_.requantized().any(dst.range.min, dst.range.max)) return true;
  find_step(loop, dst, [&](std::uint64_t index) {
    sram_.requantized().undefine(index, 1);
    return false;
  });
  return !stopped();
}

// A single step: the micro-op's fields are the indices, and factors do not matter. False: the instruction has more
// steps or an error, and the general path must handle it.
inline bool Core::run_single(const isa::Gemm& gemm) {
  if (config_.epilogue || !is_single_step(gemm) || isa::semantics::gemm_mode(gemm) != GemmMode::accumulate)
    return false;
  const std::size_t k = gemm.uop_begin;
  const UopView& uops = gemm_arguments_.uops = sram_.uops(k, k + 1);
  if (!sram_.defined(isa::Memory::uop)[k] || !sram_.defined(isa::Memory::acc)[*uops.dst] ||
      !sram_.defined(isa::Memory::inp)[*uops.src] || !sram_.defined(isa::Memory::wgt)[*uops.wgt])
    return false;
  gemm_arguments_.iter_out = gemm_arguments_.iter_in = 1;
  kernels_.accumulate(gemm_arguments_);
  return true;
}

inline bool Core::run_single(const isa::Alu& alu) {
  if (config_.epilogue || !is_single_step(alu) || !alu.use_imm) return false;
  const std::size_t k = alu.uop_begin;
  const UopView& uops = alu_arguments_.uops = sram_.uops(k, k + 1);
  if (!sram_.defined(isa::Memory::uop)[k] || !sram_.defined(isa::Memory::acc)[*uops.dst] ||
      (isa::spec::reads_table(alu.op) && !sram_.defined(isa::Memory::tab)[0]))
    return false;
  alu_arguments_.iter_out = alu_arguments_.iter_in = 1;
  alu_arguments_.imm = alu.imm;
  kernels_.alu_immediate[static_cast<std::size_t>(alu.op)](alu_arguments_);
  return true;
}

bool Core::run(const isa::Gemm& gemm, Dram&, Counters& counters) {
  if (!run_single(gemm)) return run_loops(gemm, counters);
  ++counters.gemm_uops;
  counters.macs += macs_per_uop_;
  return true;
}

bool Core::run_loops(const isa::Gemm& gemm, Counters& counters) {
  const std::uint64_t steps = step_count(gemm);
  if (steps == 0) return true;
  if (!uops_defined(gemm)) return false;
  if (!gemm.reset) return run_products(gemm, false, counters);
  const UopView uops = sram_.uops(gemm.uop_begin, gemm.uop_end);
  const LoopFactors factors{gemm.dst_factor_out, gemm.dst_factor_in};
  const Operand dst{isa::Memory::acc, "dst", uops.dst, factors,
                    over_loops(gemm, ranges_of(kernels_, uops).dst, factors)};
  if (!in_range(gemm, dst)) return false;
  const std::size_t words = sram_.layout().acc_words();
  find_step(gemm, dst, [&](std::uint64_t index) {
    std::fill_n(sram_.acc() + index * words, words, 0);
    return false;
  });
  define(gemm, dst);
  counters.gemm_reset_uops += steps;
  return !stopped() && replace_out(gemm, dst) && meter_.advance(steps);
}

bool Core::run(const isa::GemmQ& gemmq, Dram&, Counters& counters) {
  if (step_count(gemmq) == 0) return true;
  return uops_defined(gemmq) && read_parameters(gemmq) && run_products(gemmq, true, counters);
}

// Precondition: there are steps, and their micro-ops are defined.
bool Core::run_products(const isa::ProductLoop& loop, bool requantizes, Counters& counters) {
  const std::uint64_t steps = step_count(loop);
  const UopView uops = sram_.uops(loop.uop_begin, loop.uop_end);
  const UopRanges ranges = ranges_of(kernels_, uops);
  const LoopFactors dst_factors{loop.dst_factor_out, loop.dst_factor_in},
      src_factors{loop.src_factor_out, loop.src_factor_in}, wgt_factors{loop.wgt_factor_out, loop.wgt_factor_in};
  const Operand dst{isa::Memory::acc, "dst", uops.dst, dst_factors, over_loops(loop, ranges.dst, dst_factors)};
  const Operand src{isa::Memory::inp, "src", uops.src, src_factors, over_loops(loop, ranges.src, src_factors)};
  const Operand wgt{isa::Memory::wgt, "wgt", uops.wgt, wgt_factors, over_loops(loop, ranges.wgt, wgt_factors)};
  if (!in_range(loop, dst) || !in_range(loop, src) || !in_range(loop, wgt) || !is_defined(loop, src) ||
      !is_defined(loop, wgt))
    return false;
  if (!loop.overwrite && !is_defined(loop, dst)) return false;

  set_loops(gemm_arguments_, loop, uops);
  if (loop.overwrite) {
    define(loop, dst);
    if (!run_in_slices(kernels_.overwrite, gemm_arguments_, meter_)) return false;
  } else if (!run_in_slices(kernels_.accumulate, gemm_arguments_, meter_)) {
    return false;
  }
  counters.gemm_uops += steps;
  counters.macs += steps * macs_per_uop_;
  if (!requantizes) return replace_out(loop, dst);
  ++counters.epilogue_parameters;
  return requantize(loop, dst, counters, steps);
}

bool Core::run(const isa::Window& window, Dram&, Counters& counters) {
  const std::uint64_t steps = step_count(window);
  if (steps == 0) return true;
  if (!uops_defined(window)) return false;
  const UopView uops = sram_.uops(window.uop_begin, window.uop_end);
  const LoopFactors dst_factors{window.dst_factor_out, window.dst_factor_in},
      src_factors{window.src_factor_out, window.src_factor_in},
      wgt_factors{window.wgt_factor_out, window.wgt_factor_in};
  const Operand src{isa::Memory::inp, "src", uops.src, src_factors,
                    over_loops(window, ranges_of(kernels_, uops).src, src_factors)};
  if (!in_range(window, src) || !is_defined(window, src)) return false;
  if (window.requant && !read_parameters(window)) return false;

  std::uint64_t products = 0;
  IndexRange dst_range{~std::uint64_t{0}, 0}, wgt_range = dst_range;
  for (std::size_t k = 0; k < uops.count; ++k) {
    if (uops.wgt[k] == push_only_) continue;
    ++products;
    dst_range = {std::min<std::uint64_t>(dst_range.min, uops.dst[k]),
                 std::max<std::uint64_t>(dst_range.max, uops.dst[k])};
    wgt_range = {std::min<std::uint64_t>(wgt_range.min, uops.wgt[k]),
                 std::max<std::uint64_t>(wgt_range.max, uops.wgt[k])};
  }
  const Operand dst{isa::Memory::acc, "dst", uops.dst, dst_factors, over_loops(window, dst_range, dst_factors), 0,
                    push_only_};
  if (products != 0) {
    const Operand wgt{isa::Memory::wgt, "wgt", uops.wgt, wgt_factors, over_loops(window, wgt_range, wgt_factors), 0,
                      push_only_};
    if (!in_range(window, dst) || !in_range(window, wgt) || !is_defined(window, wgt)) return false;
    if (!window.overwrite && !is_defined(window, dst)) return false;
    define(window, dst);
  }

  std::ranges::fill(window_, 0);
  WindowArguments arguments;
  static_cast<GemmArguments&>(arguments) = gemm_arguments_;
  set_loops(arguments, window, uops);
  arguments.push_only = push_only_;
  arguments.window = window_.data();
  arguments.overwrite = window.overwrite;
  if (!run_in_slices(kernels_.window, arguments, meter_)) return false;
  const std::uint64_t trips = std::uint64_t{window.iter_out} * window.iter_in;
  counters.window_uops += trips * products;
  counters.window_pushes += steps - trips * products;
  counters.macs += trips * products * macs_per_uop_;
  if (window.requant) ++counters.epilogue_parameters;
  if (products == 0) return true;
  return window.requant ? requantize(window, dst, counters, trips * products) : replace_out(window, dst);
}

bool Core::run(const isa::Alu& alu, Dram&, Counters& counters) {
  const auto op = static_cast<std::size_t>(alu.op);
  DOVETAIL_CHECK(isa::spec::is_alu_op(alu.op), "instructions must not decode to ALU operation " + std::to_string(op));
  if (!run_single(alu)) return run_loops(alu, counters);
  ++counters.alu_uops;
  ++counters.alu_uops_by_op[op];
  return true;
}

bool Core::run_loops(const isa::Alu& alu, Counters& counters) {
  const std::uint64_t steps = step_count(alu);
  const auto op = static_cast<std::size_t>(alu.op);
  if (steps == 0) return true;
  if (!uops_defined(alu) || !table_defined(alu)) return false;
  const UopView uops = sram_.uops(alu.uop_begin, alu.uop_end);
  const UopRanges ranges = ranges_of(kernels_, uops);

  const LoopFactors dst_factors{alu.dst_factor_out, alu.dst_factor_in},
      src_factors{alu.src_factor_out, alu.src_factor_in};
  const Operand dst{isa::Memory::acc, "dst", uops.dst, dst_factors, over_loops(alu, ranges.dst, dst_factors)};
  if (!in_range(alu, dst) || !is_defined(alu, dst)) return false;
  const std::uint32_t elements = isa::spec::source_elements(alu);
  std::uint64_t reads = 0;
  if (elements != 0) {
    const Operand src{isa::Memory::acc, "src", uops.src, src_factors, over_loops(alu, ranges.src, src_factors),
                      elements - 1};
    if (!in_range(alu, src) || !is_defined(alu, src)) return false;
    reads = operand_reads(alu, uops, dst.range, src.range, elements);
  }

  alu_arguments_.uops = uops;
  alu_arguments_.iter_out = alu.iter_out;
  alu_arguments_.iter_in = alu.iter_in;
  alu_arguments_.dst = dst_factors;
  alu_arguments_.src = src_factors;
  alu_arguments_.imm = alu.imm;
  if (!run_in_slices((elements == 0 ? kernels_.alu_immediate : kernels_.alu_vector)[op], alu_arguments_, meter_))
    return false;
  counters.alu_uops += steps;
  counters.alu_uops_by_op[op] += steps;
  counters.sram_of(isa::Memory::acc).reads += reads;
  return replace_out(alu, dst);
}

}  // namespace dovetail::simulator
