#include "tests/differential/isa/random_order.h"

#include <algorithm>

#include "isa/semantics/alu.h"
#include "isa/semantics/epilogue.h"
#include "isa/semantics/gemm.h"
#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "isa/semantics/uop_loop.h"
#include "isa/semantics/window.h"
#include "isa/verify/token_machine.h"

namespace dovetail::test {
namespace {

namespace semantics = isa::semantics;

}  // namespace

ReferenceMachine::ReferenceMachine(const GeneratedProgram& program)
    : program_(program), config_(program.config), codec_(program.config), dram_(program.dram) {
  const auto size = [&](isa::Memory memory, std::int64_t lanes) {
    return static_cast<std::size_t>(config_.depth(memory) * lanes);
  };
  uops_.resize(size(isa::Memory::uop, 1));
  inp_.resize(size(isa::Memory::inp, config_.batch * config_.block_in));
  wgt_.resize(size(isa::Memory::wgt, config_.block_out * config_.block_in));
  acc_.resize(size(isa::Memory::acc, config_.batch * config_.block_out));
}

bool ReferenceMachine::run(std::uint64_t seed) {
  Random random(seed);
  return std::all_of(program_.launches.begin(), program_.launches.end(),
                     [&](const isa::Launch& launch) { return run_launch(launch, random); });
}

// A queue that is not served for long reaches orders that uniform choices would not reach: the preferred queue changes
// occasionally.
bool ReferenceMachine::run_launch(const isa::Launch& launch, Random& random) {
  std::array<std::vector<std::size_t>, isa::kQueues> queues;
  for (std::size_t i = launch.begin; i < launch.begin + launch.count; ++i)
    queues[isa::index(program_.program[i].queue())].push_back(i);
  std::array<std::size_t, isa::kQueues> done{};
  std::array<std::size_t, isa::kTokenFifos> tokens{};
  std::size_t favorite = random.below(isa::kQueues);
  for (std::size_t executed = 0; executed < launch.count; ++executed) {
    std::vector<std::size_t> ready;
    for (std::size_t q = 0; q < isa::kQueues; ++q) {
      if (done[q] == queues[q].size()) continue;
      const isa::TokenUse use = isa::token_use(program_.program[queues[q][done[q]]]);
      bool may_start = true;
      for (std::size_t f = 0; f < isa::kTokenFifos; ++f) may_start &= (use.pops >> f & 1) == 0 || tokens[f] > 0;
      if (may_start) ready.push_back(q);
    }
    if (ready.empty()) return false;
    if (random.chance(10)) favorite = random.below(isa::kQueues);
    const bool favor = random.chance(80) && std::find(ready.begin(), ready.end(), favorite) != ready.end();
    const std::size_t q = favor ? favorite : ready[random.below(ready.size())];
    const isa::Instruction& instruction = program_.program[queues[q][done[q]++]];
    const isa::TokenUse use = isa::token_use(instruction);
    std::visit([&](const auto& body) { execute(body); }, instruction.body);
    for (std::size_t f = 0; f < isa::kTokenFifos; ++f) {
      tokens[f] -= use.pops >> f & 1;
      tokens[f] += use.pushes >> f & 1;
    }
  }
  return true;
}

void ReferenceMachine::execute(const isa::Load& load) {
  if (load.x_size == 0) return;
  const auto element = static_cast<std::size_t>(config_.element_bytes(load.memory));
  const auto lanes = static_cast<std::size_t>(config_.batch * config_.block_out);
  const auto write = [&](std::uint64_t sram, std::span<const std::byte> bytes) {  // empty: zeros
    const auto copy = [&](std::vector<std::int8_t>& memory) {
      for (std::size_t i = 0; i < element; ++i)
        memory[sram * element + i] = bytes.empty() ? 0 : static_cast<std::int8_t>(bytes[i]);
    };
    const std::span<std::int32_t> tile = std::span(acc_).subspan(
        load.memory == isa::Memory::acc || load.memory == isa::Memory::acc8 ? sram * lanes : 0, lanes);
    if (load.memory == isa::Memory::acc || load.memory == isa::Memory::acc8) out_.erase(sram);
    switch (load.memory) {
      case isa::Memory::uop: uops_[sram] = bytes.empty() ? isa::Uop{} : codec_.decode_uop(bytes); break;
      case isa::Memory::inp: copy(inp_); break;
      case isa::Memory::wgt: copy(wgt_); break;
      case isa::Memory::wgt4: {
        const std::span weights = std::span(wgt_).subspan(sram * 2 * element, 2 * element);
        if (bytes.empty()) std::ranges::fill(weights, std::int8_t{0});
        else semantics::load_wgt4(weights, bytes);
        break;
      }
      case isa::Memory::acc:
        if (bytes.empty()) std::fill(tile.begin(), tile.end(), 0);
        else semantics::load_acc(tile, bytes);
        break;
      case isa::Memory::acc8:
        if (bytes.empty()) std::fill(tile.begin(), tile.end(), 0);
        else semantics::load_acc8(tile, bytes);
        break;
      case isa::Memory::tab: semantics::load_table(table_, bytes); break;
      case isa::Memory::out: break;
    }
  };
  semantics::for_each_loaded_run(
      load,
      [&](std::uint64_t sram, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) write(sram + i, {});
      },
      [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i)
          write(sram + i,
                std::span<const std::byte>(dram_).subspan((dram + i) * element - program_.dram_base, element));
      });
}

void ReferenceMachine::execute(const isa::Store& store) {
  const auto lanes = static_cast<std::size_t>(config_.batch * config_.block_out);
  semantics::for_each_stored_run(store, [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count * lanes; ++i) {
      const auto requantized = out_.find(sram + i / lanes);
      dram_[dram * lanes - program_.dram_base + i] =
          static_cast<std::byte>(requantized != out_.end() ? requantized->second[i % lanes]
                                                           : semantics::narrow(acc_[sram * lanes + i], store.saturate));
    }
  });
}

semantics::TensorBlock ReferenceMachine::block() const {
  return {static_cast<std::size_t>(config_.batch), static_cast<std::size_t>(config_.block_in),
          static_cast<std::size_t>(config_.block_out)};
}

void ReferenceMachine::requantize(const isa::Uop& parameters, std::uint64_t dst) {
  const semantics::TensorBlock block = this->block();
  const std::size_t wgt_lanes = block.block_out * block.block_in;
  const auto values = std::span(wgt_).subspan(parameters.wgt * wgt_lanes, wgt_lanes);
  const bool looks_up = config_.table && semantics::looks_up(parameters);
  std::vector<std::int8_t>& out = out_[dst];
  out.clear();
  for (std::size_t lane = 0; lane < block.batch * block.block_out; ++lane)
    out.push_back(semantics::epilogue(acc_[dst * block.batch * block.block_out + lane], lane % block.block_out, values,
                                      block.block_in, looks_up ? table_.data() : nullptr));
}

void ReferenceMachine::execute(const isa::GemmQ& gemmq) {
  isa::Gemm gemm;
  static_cast<isa::ProductLoop&>(gemm) = gemmq;
  execute(gemm);
  semantics::for_each_step(gemmq, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
    requantize(uops_[gemmq.uop_end],
               semantics::element_index(uop.dst, y, x, gemmq.dst_factor_out, gemmq.dst_factor_in));
  });
}

void ReferenceMachine::execute(const isa::Window& window) {
  const semantics::TensorBlock block = this->block();
  const std::size_t acc_lanes = block.batch * block.block_out, inp_lanes = block.batch * block.block_in,
                    wgt_lanes = block.block_out * block.block_in;
  const std::uint32_t push = semantics::push_only(config_);
  std::vector<std::int8_t> last(block.block_in * inp_lanes);
  semantics::for_each_step(window, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
    const auto src = semantics::element_index(uop.src, y, x, window.src_factor_out, window.src_factor_in);
    semantics::push(last, std::span(inp_).subspan(src * inp_lanes, inp_lanes));
    if (uop.wgt == push) return;
    const auto dst = semantics::element_index(uop.dst, y, x, window.dst_factor_out, window.dst_factor_in);
    const auto wgt = semantics::element_index(uop.wgt, y, x, window.wgt_factor_out, window.wgt_factor_in);
    semantics::window(std::span(acc_).subspan(dst * acc_lanes, acc_lanes), last,
                      std::span(wgt_).subspan(wgt * wgt_lanes, wgt_lanes), block, window.overwrite);
    out_.erase(dst);
    if (window.requant) requantize(uops_[window.uop_end], dst);
  });
}

void ReferenceMachine::execute(const isa::Gemm& gemm) {
  const semantics::TensorBlock block = this->block();
  const std::size_t acc_lanes = block.batch * block.block_out, inp_lanes = block.batch * block.block_in,
                    wgt_lanes = block.block_out * block.block_in;
  const auto mode = semantics::gemm_mode(gemm);
  semantics::for_each_step(gemm, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
    const auto dst = semantics::element_index(uop.dst, y, x, gemm.dst_factor_out, gemm.dst_factor_in);
    const auto acc = std::span(acc_).subspan(dst * acc_lanes, acc_lanes);
    out_.erase(dst);
    if (mode == semantics::GemmMode::reset) return semantics::gemm(acc, {}, {}, block, mode);
    const auto src = semantics::element_index(uop.src, y, x, gemm.src_factor_out, gemm.src_factor_in);
    const auto wgt = semantics::element_index(uop.wgt, y, x, gemm.wgt_factor_out, gemm.wgt_factor_in);
    semantics::gemm(acc, std::span(inp_).subspan(src * inp_lanes, inp_lanes),
                    std::span(wgt_).subspan(wgt * wgt_lanes, wgt_lanes), block, mode);
  });
}

void ReferenceMachine::execute(const isa::Alu& alu) {
  const auto lanes = static_cast<std::size_t>(config_.batch * config_.block_out);
  semantics::for_each_step(alu, uops_, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
    const auto dst = semantics::element_index(uop.dst, y, x, alu.dst_factor_out, alu.dst_factor_in);
    const auto src = semantics::element_index(uop.src, y, x, alu.src_factor_out, alu.src_factor_in);
    out_.erase(dst);
    const std::vector<std::int32_t> before(&acc_[dst * lanes], &acc_[dst * lanes] + lanes);
    const auto row_lanes = static_cast<std::size_t>(config_.block_out);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto row = std::span(before).subspan(lane / row_lanes * row_lanes, row_lanes);
      const auto source = [&](std::size_t element) { return acc_[(src + element) * lanes + lane]; };
      std::int32_t& target = acc_[dst * lanes + lane];
      target = semantics::alu(alu.op, target, semantics::alu_operands(alu, source, table_.data(), row));
    }
  });
}

}  // namespace dovetail::test
