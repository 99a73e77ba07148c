#include "tests/torture/sram_model.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "isa/semantics/alu.h"
#include "isa/semantics/epilogue.h"
#include "isa/semantics/gemm.h"
#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "isa/semantics/uop_loop.h"
#include "isa/semantics/window.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"

namespace dovetail::test {

SramModel::SramModel(const isa::HardwareConfig& config) : config_(config), codec_(config) {
  for (std::size_t m = 0; m < buffers_.size(); ++m) {
    const auto memory = static_cast<isa::Memory>(m);
    const auto bytes = static_cast<std::size_t>(config.element_bytes(memory));
    const auto depth = static_cast<std::size_t>(config.depth(memory));
    buffers_[m] = {bytes, std::vector<std::byte>(bytes * depth), std::vector<bool>(depth)};
  }
  uops_.resize(static_cast<std::size_t>(config.depth(isa::Memory::uop)));
}

std::span<const std::byte> SramModel::element(isa::Memory memory, std::uint64_t index) const {
  const Buffer& from = buffer(memory);
  if (!from.defined[index]) return {};
  return std::span(from.bytes).subspan(index * from.element_bytes, from.element_bytes);
}

void SramModel::launch(std::span<const isa::Instruction> program, simulator::Dram& dram) {
  isa::TokenMachine machine(program, isa::queue_depths(config_));
  machine.run([&](std::size_t i, std::span<const std::size_t>) { execute(program[i], dram); });
}

void SramModel::put(isa::Memory memory, std::uint64_t index, const std::byte* from) {
  Buffer& to = buffer(isa::spec::info(memory).buffer);
  to.defined[index] = true;
  if (&to == &buffer(isa::Memory::acc)) out_.erase(index);
  std::byte* at = to.bytes.data() + index * to.element_bytes;
  if (memory == isa::Memory::wgt4 && from != nullptr) {
    std::span lanes(reinterpret_cast<std::int8_t*>(at), to.element_bytes);
    return isa::semantics::load_wgt4(lanes, {from, lanes.size() / 2});
  }
  if (memory != isa::Memory::acc8 || from == nullptr) {
    if (from == nullptr) std::memset(at, 0, to.element_bytes);
    else std::memcpy(at, from, to.element_bytes);
    if (memory == isa::Memory::uop) uops_[index] = codec_.decode_uop({at, to.element_bytes});
    return;
  }
  std::vector<std::int32_t> lanes(to.element_bytes / 4);
  isa::semantics::load_acc8(lanes, {from, lanes.size()});
  set_acc(index, lanes);
}

void SramModel::set_acc(std::uint64_t index, std::span<const std::int32_t> lanes) {
  Buffer& acc = buffer(isa::Memory::acc);
  acc.defined[index] = true;
  out_.erase(index);
  std::memcpy(acc.bytes.data() + index * acc.element_bytes, lanes.data(), acc.element_bytes);  // little-endian hosts
}

std::vector<std::int32_t> SramModel::acc(std::uint64_t index) const {
  const Buffer& acc = buffer(isa::Memory::acc);
  std::vector<std::int32_t> lanes(acc.element_bytes / 4);
  std::memcpy(lanes.data(), acc.bytes.data() + index * acc.element_bytes, acc.element_bytes);
  return lanes;
}

void SramModel::requantize(const isa::Uop& parameters, std::uint64_t dst) {
  const Buffer& wgt = buffer(isa::Memory::wgt);
  const std::span values(reinterpret_cast<const std::int8_t*>(wgt.bytes.data()) + parameters.wgt * wgt.element_bytes,
                         wgt.element_bytes);
  std::array<std::uint16_t, isa::spec::kTableEntries> table{};
  const bool looks_up = config_.table && isa::semantics::looks_up(parameters);
  if (looks_up) isa::semantics::load_table(table, buffer(isa::Memory::tab).bytes);
  const std::vector<std::int32_t> lanes = acc(dst);
  const auto block_in = static_cast<std::size_t>(config_.block_in),
             block_out = static_cast<std::size_t>(config_.block_out);
  std::vector<std::int8_t>& out = out_[dst];
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    out.push_back(
        isa::semantics::epilogue(lanes[lane], lane % block_out, values, block_in, looks_up ? table.data() : nullptr));
}

void SramModel::execute(const isa::Instruction& instruction, simulator::Dram& dram) {
  using isa::semantics::element_index;
  const isa::semantics::TensorBlock block{static_cast<std::size_t>(config_.batch),
                                          static_cast<std::size_t>(config_.block_in),
                                          static_cast<std::size_t>(config_.block_out)};
  const auto operand = [&](isa::Memory memory, std::uint64_t index) {
    const Buffer& from = buffer(memory);
    return std::span(reinterpret_cast<const std::int8_t*>(from.bytes.data()) + index * from.element_bytes,
                     from.element_bytes);
  };
  if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
    if (load->x_size == 0) return;
    const auto bytes = static_cast<std::uint64_t>(config_.element_bytes(load->memory));
    isa::semantics::for_each_loaded_run(
        *load,
        [&](std::uint64_t at, std::uint64_t count) {
          for (std::uint64_t i = 0; i < count; ++i) put(load->memory, at + i, nullptr);
        },
        [&](std::uint64_t at, std::uint64_t from, std::uint64_t count) {
          for (std::uint64_t i = 0; i < count; ++i)
            put(load->memory, at + i, dram.bytes.data() + ((from + i) * bytes - dram.base));
        });
  } else if (const auto* store = std::get_if<isa::Store>(&instruction.body)) {
    const auto bytes = static_cast<std::uint64_t>(config_.element_bytes(isa::Memory::out));
    isa::semantics::for_each_stored_run(*store, [&](std::uint64_t from, std::uint64_t to, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::vector<std::int32_t> lanes = acc(from + i);
        const auto requantized = out_.find(from + i);
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
          dram.bytes[(to + i) * bytes - dram.base + lane] =
              static_cast<std::byte>(requantized != out_.end() ? requantized->second[lane]
                                                               : isa::semantics::narrow(lanes[lane], store->saturate));
      }
    });
  } else if (const auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) {
    isa::semantics::for_each_step(*gemm, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      const std::uint64_t dst = element_index(uop.dst, y, x, gemm->dst_factor_out, gemm->dst_factor_in);
      std::vector<std::int32_t> lanes = acc(dst);
      const auto mode = isa::semantics::gemm_mode(*gemm);
      if (mode == isa::semantics::GemmMode::reset) {
        std::fill(lanes.begin(), lanes.end(), 0);
      } else {
        isa::semantics::gemm(
            lanes, operand(isa::Memory::inp, element_index(uop.src, y, x, gemm->src_factor_out, gemm->src_factor_in)),
            operand(isa::Memory::wgt, element_index(uop.wgt, y, x, gemm->wgt_factor_out, gemm->wgt_factor_in)), block,
            mode);
      }
      set_acc(dst, lanes);
    });
  } else if (const auto* gemmq = std::get_if<isa::GemmQ>(&instruction.body)) {
    isa::semantics::for_each_step(*gemmq, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      const std::uint64_t dst = element_index(uop.dst, y, x, gemmq->dst_factor_out, gemmq->dst_factor_in);
      std::vector<std::int32_t> lanes = acc(dst);
      isa::semantics::gemm(
          lanes, operand(isa::Memory::inp, element_index(uop.src, y, x, gemmq->src_factor_out, gemmq->src_factor_in)),
          operand(isa::Memory::wgt, element_index(uop.wgt, y, x, gemmq->wgt_factor_out, gemmq->wgt_factor_in)), block,
          gemmq->overwrite ? isa::semantics::GemmMode::overwrite : isa::semantics::GemmMode::accumulate);
      set_acc(dst, lanes);
      requantize(uops_[gemmq->uop_end], dst);
    });
  } else if (const auto* window = std::get_if<isa::Window>(&instruction.body)) {
    std::vector<std::int8_t> last(block.block_in * block.batch * block.block_in);
    isa::semantics::for_each_step(*window, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      isa::semantics::push(
          last, operand(isa::Memory::inp, element_index(uop.src, y, x, window->src_factor_out, window->src_factor_in)));
      if (uop.wgt == isa::semantics::push_only(config_)) return;
      const std::uint64_t dst = element_index(uop.dst, y, x, window->dst_factor_out, window->dst_factor_in);
      std::vector<std::int32_t> lanes = acc(dst);
      isa::semantics::window(
          lanes, last,
          operand(isa::Memory::wgt, element_index(uop.wgt, y, x, window->wgt_factor_out, window->wgt_factor_in)), block,
          window->overwrite);
      set_acc(dst, lanes);
      if (window->requant) requantize(uops_[window->uop_end], dst);
    });
  } else if (const auto* alu = std::get_if<isa::Alu>(&instruction.body)) {
    isa::semantics::for_each_step(*alu, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
      const std::uint64_t dst = element_index(uop.dst, y, x, alu->dst_factor_out, alu->dst_factor_in);
      const std::uint64_t src = element_index(uop.src, y, x, alu->src_factor_out, alu->src_factor_in);
      std::vector<std::int32_t> lanes = acc(dst);
      std::vector<std::vector<std::int32_t>> sources;
      for (std::uint32_t element = 0; element < isa::spec::source_elements(*alu); ++element)
        sources.push_back(acc(src + element));
      std::array<std::uint16_t, isa::spec::kTableEntries> table{};
      if (isa::spec::reads_table(alu->op)) isa::semantics::load_table(table, buffer(isa::Memory::tab).bytes);
      const std::vector<std::int32_t> before = lanes;
      for (std::size_t l = 0; l < lanes.size(); ++l) {
        const auto row = std::span(before).subspan(l / block.block_out * block.block_out, block.block_out);
        const auto source = [&](std::size_t element) { return sources[element][l]; };
        lanes[l] =
            isa::semantics::alu(alu->op, lanes[l], isa::semantics::alu_operands(*alu, source, table.data(), row));
      }
      set_acc(dst, lanes);
    });
  }
}

}  // namespace dovetail::test
