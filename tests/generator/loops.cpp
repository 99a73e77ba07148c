// GEMM and ALU over loaded micro-ops, with trip counts and factors that keep every index within its memory.
#include <algorithm>

#include "isa/semantics/window.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/range.h"
#include "tests/generator/builder.h"

namespace dovetail::test {

// Draws a micro-op range and trip counts, then for each index the factors that its memory has room for.
void Builder::draw_loop(isa::UopLoop& loop, const std::vector<Limit>& limits, bool parameters) {
  const auto fits = [&](const isa::Uop& uop) {
    return std::all_of(limits.begin(), limits.end(), [&](const Limit& limit) {
      return !limit.is_of(uop) || uop.*limit.field + limit.beyond < depth(limit.memory);
    });
  };
  const std::uint64_t longest = random_.pick({1u, 2u, 4u, 8u, 16u, 16u});
  loop.uop_begin = loop.uop_end = 0;
  for (int attempt = 0; attempt < 50 && loop.uop_begin == loop.uop_end; ++attempt) {
    loop.uop_begin = loop.uop_end = static_cast<std::uint32_t>(random_.below(uops_.size()));
    while (loop.uop_end < uops_.size() && loop.uop_end - loop.uop_begin < longest && uop_loaded_[loop.uop_end] &&
           fits(uops_[loop.uop_end]))
      ++loop.uop_end;
    while (parameters && loop.uop_end > loop.uop_begin &&
           (loop.uop_end == uops_.size() || !uop_loaded_[loop.uop_end] ||
            uops_[loop.uop_end].wgt >= depth(isa::Memory::wgt)))
      --loop.uop_end;
  }
  const std::uint64_t count = std::max<std::uint32_t>(1, loop.uop_end - loop.uop_begin);
  const std::uint64_t trips = std::max<std::uint64_t>(1, options_.max_steps / count);
  loop.iter_out = static_cast<std::uint32_t>(random_.between(1, std::min<std::uint64_t>(trips, 10)));
  loop.iter_in = static_cast<std::uint32_t>(
      random_.between(1, std::max<std::uint64_t>(1, std::min<std::uint64_t>(trips / loop.iter_out, 40))));
  if (random_.chance(4)) (random_.chance(50) ? loop.iter_out : loop.iter_in) = 0;

  for (const Limit& limit : limits) {
    std::uint64_t furthest = 0;
    for (std::uint32_t k = loop.uop_begin; k < loop.uop_end; ++k)
      if (limit.is_of(uops_[k])) furthest = std::max<std::uint64_t>(furthest, uops_[k].*limit.field);
    const std::uint64_t last = furthest + limit.beyond, part_end = part_of(limit.memory).end;
    std::uint64_t room =
        loop.uop_begin == loop.uop_end ? 0 : (last < part_end ? part_end : depth(limit.memory)) - 1 - last;
    const auto factor = [&](std::uint32_t trips_of) -> std::uint32_t {
      const std::uint64_t most =
          trips_of > 1 ? room / (trips_of - 1) : depth(limit.memory) - 1;  // one trip: any factor
      const std::uint64_t drawn = random_.chance(25)   ? 0
                                  : random_.chance(40) ? std::min<std::uint64_t>(1, most)
                                                       : random_.below(most + 1);
      if (trips_of > 1) room -= drawn * (trips_of - 1);
      return static_cast<std::uint32_t>(drawn);
    };
    if (random_.chance(50)) {
      *limit.factor_out = factor(loop.iter_out);
      *limit.factor_in = factor(loop.iter_in);
    } else {
      *limit.factor_in = factor(loop.iter_in);
      *limit.factor_out = factor(loop.iter_out);
    }
  }
}

isa::Instruction Builder::draw_products() {
  if (config_.window && random_.chance(35)) return draw_window();
  return config_.epilogue && random_.chance(40) ? draw_gemmq() : draw_gemm();
}

isa::Instruction Builder::draw_gemmq() {
  isa::GemmQ gemmq;
  gemmq.overwrite = config_.overwrite && random_.chance(50);
  draw_loop(gemmq,
            {{&isa::Uop::dst, isa::Memory::acc, 0, &gemmq.dst_factor_out, &gemmq.dst_factor_in},
             {&isa::Uop::src, isa::Memory::inp, 0, &gemmq.src_factor_out, &gemmq.src_factor_in},
             {&isa::Uop::wgt, isa::Memory::wgt, 0, &gemmq.wgt_factor_out, &gemmq.wgt_factor_in}},
            true);
  return {{}, gemmq};
}

isa::Instruction Builder::draw_window() {
  isa::Window window;
  window.overwrite = config_.overwrite && random_.chance(50);
  window.requant = config_.epilogue && random_.chance(50);
  const std::uint32_t push = isa::semantics::push_only(config_);
  draw_loop(window,
            {{&isa::Uop::dst, isa::Memory::acc, 0, &window.dst_factor_out, &window.dst_factor_in, push},
             {&isa::Uop::src, isa::Memory::inp, 0, &window.src_factor_out, &window.src_factor_in},
             {&isa::Uop::wgt, isa::Memory::wgt, 0, &window.wgt_factor_out, &window.wgt_factor_in, push}},
            window.requant);
  return {{}, window};
}

isa::Instruction Builder::draw_gemm() {
  isa::Gemm gemm;
  gemm.reset = random_.chance(20);
  gemm.overwrite = config_.overwrite && random_.chance(30);
  std::vector<Limit> limits = {{&isa::Uop::dst, isa::Memory::acc, 0, &gemm.dst_factor_out, &gemm.dst_factor_in}};
  if (!gemm.reset) {
    limits.push_back({&isa::Uop::src, isa::Memory::inp, 0, &gemm.src_factor_out, &gemm.src_factor_in});
    limits.push_back({&isa::Uop::wgt, isa::Memory::wgt, 0, &gemm.wgt_factor_out, &gemm.wgt_factor_in});
  } else {
    // Operands are not read, so their factors are arbitrary.
    gemm.src_factor_out = static_cast<std::uint32_t>(random_.below(depth(isa::Memory::inp)));
    gemm.wgt_factor_in = static_cast<std::uint32_t>(random_.below(depth(isa::Memory::wgt)));
  }
  draw_loop(gemm, limits);
  return {{}, gemm};
}

isa::Instruction Builder::draw_alu() {
  using isa::AluOp;
  isa::Alu alu;
  std::vector<AluOp> base;
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps)
    if (row.enabled_by == nullptr) base.push_back(row.op);
  alu.op = base[random_.below(base.size())];
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps)
    if (row.enabled_by != nullptr && row.enabled_by != &isa::HardwareConfig::norm &&
        isa::spec::is_enabled(row, config_) && random_.chance(20))
      alu.op = row.op;
  if (config_.norm && random_.chance(40))
    alu.op = random_.pick({AluOp::requant8, AluOp::sqadd, AluOp::rmax, AluOp::radd, AluOp::recip, AluOp::rsqrt});
  // A step of them takes batch times 28 or 56 cycles.
  if (isa::spec::info(alu.op).serial && random_.below(static_cast<std::uint64_t>(config_.batch)) >= 8)
    alu.op = AluOp::add;
  alu.use_imm = isa::spec::takes_immediate(alu.op) && random_.chance(50);
  alu.reset = random_.chance(10);
  const auto imm = isa::spec::range_of<isa::Alu, &isa::Alu::imm>(config_);
  const auto least = static_cast<std::int32_t>(imm.least), most = static_cast<std::int32_t>(imm.most);
  const std::int32_t any =
      static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(imm.most - imm.least + 1))) + least;
  const auto around_0 = [&](std::uint64_t range) {
    return static_cast<std::int32_t>(random_.below(range)) - static_cast<std::int32_t>(range / 2);
  };
  const bool is_exponent = alu.op == AluOp::recip || alu.op == AluOp::rsqrt;
  alu.imm = alu.op == AluOp::shr                ? around_0(80)
            : is_exponent && random_.chance(80) ? around_0(400)
                                                : random_.pick({any, 0, 1, -1, least, most});
  std::vector<Limit> limits = {{&isa::Uop::dst, isa::Memory::acc, 0, &alu.dst_factor_out, &alu.dst_factor_in}};
  if (const std::uint32_t elements = isa::spec::source_elements(alu); elements != 0)
    limits.push_back({&isa::Uop::src, isa::Memory::acc, elements - 1, &alu.src_factor_out, &alu.src_factor_in});
  draw_loop(alu, limits);
  return {{}, alu};
}

}  // namespace dovetail::test
