#include "tests/generator/touches.h"

#include <algorithm>
#include <bit>

#include "isa/semantics/gemm.h"
#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "isa/semantics/uop_loop.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/memories.h"

namespace dovetail::test {
namespace {

using isa::Memory;
constexpr std::size_t kInp = 0, kWgt = 1, kAcc = 2, kTab = 3;

std::size_t shared_index(Memory memory) {
  const Memory buffer = isa::spec::info(memory).buffer;
  return buffer == Memory::inp ? kInp : buffer == Memory::wgt ? kWgt : buffer == Memory::tab ? kTab : kAcc;
}

void sort_unique(std::vector<std::uint32_t>& elements) {
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
}

void append(std::vector<std::uint32_t>& elements, std::uint64_t begin, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) elements.push_back(static_cast<std::uint32_t>(begin + i));
}

// Of a micro-op's field wgt: 21 in the wide form, log2 of WGT's depth in the compact form.
int wgt_index_bits(const isa::HardwareConfig& config) {
  return config.encoding() == isa::Encoding::wide
             ? 21
             : std::countr_zero(static_cast<std::uint64_t>(config.depth(Memory::wgt)));
}

struct Finder {
  const isa::HardwareConfig& config;
  std::span<const isa::Uop> uops;
  Touches result;

  isa::Extent bytes(Memory memory, std::uint64_t begin, std::uint64_t count) const {
    const auto size = static_cast<std::uint64_t>(config.element_bytes(memory));
    return {begin * size, (begin + count) * size};
  }

  void operator()(const isa::Load& load) {
    result.operations = isa::semantics::loaded_elements(load);
    const bool uop = load.memory == Memory::uop;
    const auto written = [&](std::uint64_t sram, std::uint64_t count) {
      if (!uop) append(result.writes[shared_index(load.memory)], sram, count);
    };
    isa::semantics::for_each_loaded_run(
        load, written, [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
          written(sram, count);
          (uop ? result.uop_reads : result.dram_reads).push_back(bytes(load.memory, dram, count));
        });
  }

  void operator()(const isa::Store& store) {
    result.operations = isa::semantics::stored_elements(store);
    isa::semantics::for_each_stored_run(store, [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
      append(result.reads[kAcc], sram, count);
      result.dram_writes.push_back(bytes(store.memory, dram, count));
    });
  }

  void operator()(const isa::Gemm& gemm) {
    const auto mode = isa::semantics::gemm_mode(gemm);
    step(gemm, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      const std::uint64_t dst = isa::semantics::element_index(uop.dst, y, x, gemm.dst_factor_out, gemm.dst_factor_in);
      append(result.writes[kAcc], dst, 1);
      if (mode == isa::semantics::GemmMode::reset) return;
      if (mode == isa::semantics::GemmMode::accumulate) append(result.reads[kAcc], dst, 1);
      append(result.reads[kInp], isa::semantics::element_index(uop.src, y, x, gemm.src_factor_out, gemm.src_factor_in),
             1);
      append(result.reads[kWgt], isa::semantics::element_index(uop.wgt, y, x, gemm.wgt_factor_out, gemm.wgt_factor_in),
             1);
    });
  }

  void operator()(const isa::GemmQ& gemmq) {
    isa::Gemm products;
    static_cast<isa::ProductLoop&>(products) = gemmq;
    (*this)(products);
    parameters(gemmq);
  }

  // The micro-op after the loop, and what it names.
  void parameters(const isa::UopLoop& loop) {
    if (result.operations == 0 || loop.uop_end >= uops.size()) return;
    append(result.uops_executed, loop.uop_end, 1);
    append(result.reads[kWgt], uops[loop.uop_end].wgt, 1);
    if (config.table && uops[loop.uop_end].dst % 2 == 1) append(result.reads[kTab], 0, 1);
  }

  void operator()(const isa::Window& window) {
    const std::uint32_t push = (std::uint32_t{1} << wgt_index_bits(config)) - 1;
    step(window, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      const auto at = [&](std::uint32_t base, std::uint32_t out, std::uint32_t in) {
        return isa::semantics::element_index(base, y, x, out, in);
      };
      append(result.reads[kInp], at(uop.src, window.src_factor_out, window.src_factor_in), 1);
      if (uop.wgt == push) return;
      append(result.reads[kWgt], at(uop.wgt, window.wgt_factor_out, window.wgt_factor_in), 1);
      const std::uint64_t dst = at(uop.dst, window.dst_factor_out, window.dst_factor_in);
      append(result.writes[kAcc], dst, 1);
      if (!window.overwrite) append(result.reads[kAcc], dst, 1);
    });
    if (window.requant) parameters(window);
  }

  void operator()(const isa::Alu& alu) {
    step(alu, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      const std::uint64_t dst = isa::semantics::element_index(uop.dst, y, x, alu.dst_factor_out, alu.dst_factor_in);
      append(result.reads[kAcc], dst, 1);
      append(result.writes[kAcc], dst, 1);
      if (isa::spec::reads_table(alu.op)) append(result.reads[kTab], 0, 1);
      if (const std::uint32_t elements = isa::spec::source_elements(alu); elements != 0)
        append(result.reads[kAcc], isa::semantics::element_index(uop.src, y, x, alu.src_factor_out, alu.src_factor_in),
               elements);
    });
  }

  void operator()(const isa::Finish&) {}

  template <typename Visit>
  void step(const isa::UopLoop& loop, Visit&& visit) {
    isa::semantics::for_each_step(loop, uops, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      ++result.operations;
      visit(uop, y, x);
    });
    if (result.operations != 0) append(result.uops_executed, loop.uop_begin, loop.uop_end - loop.uop_begin);
  }
};

}  // namespace

Touches touches(const isa::HardwareConfig& config, const isa::Instruction& instruction,
                std::span<const isa::Uop> uops) {
  Finder finder{config, uops, {}};
  std::visit(finder, instruction.body);
  for (auto& elements : finder.result.reads) sort_unique(elements);
  for (auto& elements : finder.result.writes) sort_unique(elements);
  return std::move(finder.result);
}

}  // namespace dovetail::test
