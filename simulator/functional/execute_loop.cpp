// GEMM and ALU: all indices are checked before the kernel runs. Indices only grow with loop counts and micro-op fields, so the largest is
// the largest field plus the largest offset, and one comparison per operand covers the instruction.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "isa/semantics/uop_loop.h"
#include "isa/spec/memories.h"
#include "simulator/functional/core.h"

namespace dovetail::simulator {

namespace {

using isa::semantics::element_index;

std::uint64_t steps_of(const isa::UopLoop& loop) {
  return loop.uop_begin < loop.uop_end ? std::uint64_t{loop.iter_out} * loop.iter_in * (loop.uop_end - loop.uop_begin) : 0;
}

UopRanges ranges_of(const Kernels& kernels, const UopView& uops) {
  if (uops.count > 1) return kernels.uop_ranges(uops);
  return {{uops.dst[0], uops.dst[0]}, {uops.src[0], uops.src[0]}, {uops.wgt[0], uops.wgt[0]}};
}

// The first step, in execution order, that `stop` is true of; visit in uop_loop.h's order.
struct Step {
  std::uint64_t y = 0, x = 0, uop = 0, index = 0;
};
template <typename Stop>
std::optional<Step> find_step(const isa::UopLoop& loop, const std::uint32_t* uop_indices, LoopFactors factors, Stop&& stop) {
  for (std::uint64_t y = 0; y < loop.iter_out; ++y)
    for (std::uint64_t x = 0; x < loop.iter_in; ++x)
      for (std::uint64_t k = 0; k < loop.uop_end - loop.uop_begin; ++k) {
        const std::uint64_t index = element_index(uop_indices[k], y, x, factors.out, factors.in);
        if (stop(index)) return Step{y, x, loop.uop_begin + k, index};
      }
  return std::nullopt;
}

std::string describe(const Step& step) {
  return fmt::format("micro-op {} at iteration (out {}, in {})", step.uop, step.y, step.x);
}

}  // namespace

bool Core::uops_defined(const isa::UopLoop& loop) {
  if (!check_undefined_reads_) return true;
  if (const auto hole = sram_.defined(isa::Memory::uop).find_undefined(loop.uop_begin, loop.uop_end - 1))
    return fail(fmt::format("micro-op {} is executed, but nothing has written it since reset", *hole), "load it with `load.uop` before");
  return true;
}

Core::Operand Core::operand(isa::Memory memory, const char* index, const isa::UopLoop& loop, const std::uint32_t* uop_indices,
                            IndexRange uop_range, LoopFactors factors) const {
  const std::uint64_t last = element_index(uop_range.max, loop.iter_out - 1, loop.iter_in - 1, factors.out, factors.in);
  return {memory, index, uop_indices, factors, {uop_range.min, last}};
}

bool Core::in_range(const Operand& operand, const isa::UopLoop& loop, std::uint64_t beyond) {
  const std::uint64_t limit = depth(operand.memory);
  if (operand.range.max + beyond < limit) return true;
  const auto step = find_step(loop, operand.uop_indices, operand.factors, [&](std::uint64_t index) { return index + beyond >= limit; });
  return fail(fmt::format("{} has the index {} {}{}, but {} has {} elements", describe(*step), operand.index, step->index,
                          beyond == 0 ? "" : " (and reads the element after it)", isa::spec::info(operand.memory).name, limit),
              "check the micro-op, the iteration counts and the factors");
}

bool Core::is_defined(const Operand& operand, const isa::UopLoop& loop, std::uint64_t beyond) {
  if (!check_undefined_reads_) return true;
  const DefinedElements& defined = sram_.defined(operand.memory);
  if (!defined.find_undefined(operand.range.min, operand.range.max + beyond)) return true;
  // A hole between the elements that are read is none of this instruction's business.
  const auto step = find_step(loop, operand.uop_indices, operand.factors,
                              [&](std::uint64_t index) { return !defined[index] || !defined[index + beyond]; });
  if (!step) return true;
  return fail(fmt::format("{} reads element {} of {} ({}), but nothing has written it since reset", describe(*step),
                          defined[step->index] ? step->index + beyond : step->index, isa::spec::info(operand.memory).name, operand.index),
              "load it before, reset it with GEMM, or correct the index");
}

void Core::define(const Operand& operand, const isa::UopLoop& loop) {
  DefinedElements& defined = sram_.defined(operand.memory);
  if (!defined.find_undefined(operand.range.min, operand.range.max)) return;
  find_step(loop, operand.uop_indices, operand.factors, [&](std::uint64_t index) {
    defined.define(index);
    return false;
  });
}

bool Core::run(const isa::Gemm& gemm, Dram&, Counters& counters) {
  using isa::semantics::GemmMode;
  const std::uint64_t steps = steps_of(gemm);
  if (steps == 0) return true;
  if (!uops_defined(gemm)) return false;
  const UopView uops = sram_.uops(gemm.uop_begin, gemm.uop_end);
  const UopRanges ranges = ranges_of(kernels_, uops);
  const GemmMode mode = isa::semantics::gemm_mode(gemm);

  const Operand dst = operand(isa::Memory::acc, "dst", gemm, uops.dst, ranges.dst, {gemm.dst_factor_out, gemm.dst_factor_in});
  if (!in_range(dst, gemm)) return false;
  if (mode == GemmMode::reset) {
    const std::size_t words = sram_.layout().acc_words();
    find_step(gemm, uops.dst, dst.factors, [&](std::uint64_t index) {
      std::fill_n(sram_.acc() + index * words, words, 0);
      return false;
    });
    define(dst, gemm);
    counters.gemm_reset_uops += steps;
    return true;
  }

  const Operand src = operand(isa::Memory::inp, "src", gemm, uops.src, ranges.src, {gemm.src_factor_out, gemm.src_factor_in});
  const Operand wgt = operand(isa::Memory::wgt, "wgt", gemm, uops.wgt, ranges.wgt, {gemm.wgt_factor_out, gemm.wgt_factor_in});
  if (!in_range(src, gemm) || !in_range(wgt, gemm) || !is_defined(src, gemm) || !is_defined(wgt, gemm)) return false;
  if (mode == GemmMode::accumulate && !is_defined(dst, gemm)) return false;

  const GemmArguments arguments{.layout = sram_.layout(),
                                .uops = uops,
                                .iter_out = gemm.iter_out,
                                .iter_in = gemm.iter_in,
                                .dst = dst.factors,
                                .src = src.factors,
                                .wgt_factors = wgt.factors,
                                .acc = sram_.acc(),
                                .inp = sram_.inp(),
                                .compensation = sram_.compensation(),
                                .wgt = sram_.wgt()};
  if (mode == GemmMode::overwrite) {
    kernels_.overwrite(arguments);
    define(dst, gemm);
  } else {
    kernels_.accumulate(arguments);
  }
  counters.gemm_uops += steps;
  counters.macs += steps * static_cast<std::uint64_t>(config_.macs_per_uop());
  return true;
}

bool Core::run(const isa::Alu& alu, Dram&, Counters& counters) {
  const std::uint64_t steps = steps_of(alu);
  if (steps == 0) return true;
  if (!uops_defined(alu)) return false;
  const UopView uops = sram_.uops(alu.uop_begin, alu.uop_end);
  const UopRanges ranges = ranges_of(kernels_, uops);

  const Operand dst = operand(isa::Memory::acc, "dst", alu, uops.dst, ranges.dst, {alu.dst_factor_out, alu.dst_factor_in});
  if (!in_range(dst, alu) || !is_defined(dst, alu)) return false;
  const Operand src = operand(isa::Memory::acc, "src", alu, uops.src, ranges.src, {alu.src_factor_out, alu.src_factor_in});
  const std::uint64_t beyond = alu.op == isa::AluOp::requant ? 1 : 0;  // the bias follows the scale
  if (!alu.use_imm && (!in_range(src, alu, beyond) || !is_defined(src, alu, beyond))) return false;

  const auto op = static_cast<std::size_t>(alu.op);
  DOVETAIL_CHECK(op < kAluOps, "no instruction decodes to ALU operation " + std::to_string(op));
  const AluArguments arguments{.vectors = sram_.layout().vectors(),
                               .uops = uops,
                               .iter_out = alu.iter_out,
                               .iter_in = alu.iter_in,
                               .dst = dst.factors,
                               .src = src.factors,
                               .acc = sram_.acc(),
                               .imm = alu.imm};
  (alu.use_imm ? kernels_.alu_immediate : kernels_.alu_vector)[op](arguments);
  counters.alu_uops += steps;
  counters.alu_uops_by_op[op] += steps;
  return true;
}

}  // namespace dovetail::simulator
