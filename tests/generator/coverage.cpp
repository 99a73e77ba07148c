#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "isa/semantics/gemm.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"
#include "isa/verify/token_use.h"
#include "tests/generator/generator.h"
#include "tests/generator/touches.h"

namespace dovetail::test {
namespace {

constexpr std::array kPadNames = {"none", "rows", "columns", "both"};
constexpr std::array kStrideNames = {"packed", "gap", "overlap"};

std::string transfer_bin(const isa::Transfer& transfer, bool store) {
  const std::string start = fmt::format("{}.{}", store ? "store" : "load", isa::spec::info(transfer.memory).name);
  if (transfer.x_size == 0) return start + " nop";
  if (transfer.y_size == 0) return start + " no rows";
  const bool rows = transfer.y_pad_0 + transfer.y_pad_1 != 0;
  const bool columns = transfer.x_pad_0 + transfer.x_pad_1 != 0;
  const std::size_t pads = rows ? (columns ? 3 : 1) : (columns ? 2 : 0);
  // One row has no stride.
  const std::size_t stride = transfer.y_size == 1 || transfer.x_stride == transfer.x_size ? 0
                             : transfer.x_stride > transfer.x_size                        ? 1
                                                                                          : 2;
  return fmt::format("{} pads {}, rows {}", start, kPadNames[pads], kStrideNames[stride]);
}

std::string loop_bin(const isa::Instruction& instruction) {
  const auto* gemm = std::get_if<isa::Gemm>(&instruction.body);
  const auto* gemmq = std::get_if<isa::GemmQ>(&instruction.body);
  const auto* window = std::get_if<isa::Window>(&instruction.body);
  const isa::UopLoop& loop = *isa::uop_loop(instruction);
  const bool idle = loop.iter_out == 0 || loop.iter_in == 0 || loop.uop_begin == loop.uop_end;
  if (gemm != nullptr) {
    if (idle) return "gemm zero-trip";
    const auto mode = isa::semantics::gemm_mode(*gemm);
    return mode == isa::semantics::GemmMode::reset       ? "gemm reset"
           : mode == isa::semantics::GemmMode::overwrite ? "gemm overwrite"
                                                         : "gemm accumulate";
  }
  if (gemmq != nullptr) return idle ? "gemmq zero-trip" : gemmq->overwrite ? "gemmq overwrite" : "gemmq accumulate";
  if (window != nullptr)
    return idle                ? "window zero-trip"
           : window->requant   ? "window requant"
           : window->overwrite ? "window overwrite"
                               : "window accumulate";
  if (idle) return "alu zero-trip";
  const auto& alu = std::get<isa::Alu>(instruction.body);
  return fmt::format("alu {} {}", isa::spec::info(alu.op).name, alu.use_imm ? "immediate" : "vector");
}

}  // namespace

void Coverage::expect_bins(const isa::HardwareConfig& config) {
  for (const isa::spec::MemoryInfo& memory : isa::spec::kMemories) {
    if (!isa::spec::is_enabled(memory, config)) continue;
    const std::size_t strides = config.depth(memory.id) == 1 ? 1 : kStrideNames.size();  // one element: one row
    for (const char* stride : std::span(kStrideNames).first(strides)) {
      if (memory.storable) bins_[fmt::format("store.{} pads none, rows {}", memory.name, stride)];
      if (!memory.loadable) continue;
      for (const char* pads : std::span(kPadNames).first(memory.takes_pads ? kPadNames.size() : 1))
        bins_[fmt::format("load.{} pads {}, rows {}", memory.name, pads, stride)];
      bins_[fmt::format("load.{} nop", memory.name)];
      bins_[fmt::format("load.{} no rows", memory.name)];
    }
  }
  bins_["store.out nop"];
  for (const char* mode : {"reset", "accumulate", "zero-trip"}) bins_[fmt::format("gemm {}", mode)];
  if (config.overwrite) bins_["gemm overwrite"];
  if (config.window) {
    bins_["window accumulate"];
    bins_["window zero-trip"];
    if (config.overwrite) bins_["window overwrite"];
    if (config.epilogue) bins_["window requant"];
  }
  if (config.epilogue) {
    bins_["gemmq accumulate"];
    bins_["gemmq zero-trip"];
    if (config.overwrite) bins_["gemmq overwrite"];
  }
  bins_["alu zero-trip"];
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps) {
    if (!isa::spec::is_enabled(row, config)) continue;
    bins_[fmt::format("alu {} vector", row.name)];
    if (isa::spec::takes_immediate(row.op)) bins_[fmt::format("alu {} immediate", row.name)];
  }
  for (const isa::Queue queue : isa::kAllQueues)
    for (const char* level : {"full", "empty"}) bins_[fmt::format("{} queue {}", name(queue), level)];
  for (std::size_t f = 0; f < isa::kTokenFifos; ++f) {
    const auto fifo = static_cast<isa::TokenFifo>(f);
    bins_[fmt::format("tokens {} -> {} full", name(producer(fifo)), name(consumer(fifo)))];
  }
}

void Coverage::add(const GeneratedProgram& program) {
  expect_bins(program.config);
  std::vector<isa::Uop> uops(static_cast<std::size_t>(program.config.depth(isa::Memory::uop)));
  for (const isa::Instruction& instruction : program.program) {
    ++instructions_;
    ++opcodes_[static_cast<std::size_t>(instruction.opcode())];
    std::uint64_t operations = 0;
    if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
      ++bins_[transfer_bin(*load, false)];
      operations = touches(program.config, instruction, uops).operations;
    } else if (const auto* store = std::get_if<isa::Store>(&instruction.body)) {
      ++bins_[transfer_bin(*store, true)];
      operations = touches(program.config, instruction, uops).operations;
    } else if (instruction.opcode() != isa::Opcode::finish) {
      ++bins_[loop_bin(instruction)];
      operations = touches(program.config, instruction, uops).operations;
    }
    if (operations != 0) operations_.push_back(operations);
  }
  const isa::QueueDepths depths = isa::queue_depths(program.config);
  for (const isa::Launch& launch : program.launches) {
    isa::TokenMachine machine(std::span(program.program).subspan(launch.begin, launch.count), depths);
    machine.run();
    for (const isa::Queue queue : isa::kAllQueues) {
      bins_[fmt::format("{} queue full", name(queue))] += machine.peak_commands(queue) >= depths.commands;
      // The queue was empty while its unit could have worked: another instruction was executed meanwhile.
      bins_[fmt::format("{} queue empty", name(queue))] += machine.ran_dry(queue);
    }
    for (std::size_t f = 0; f < isa::kTokenFifos; ++f) {
      const auto fifo = static_cast<isa::TokenFifo>(f);
      bins_[fmt::format("tokens {} -> {} full", name(producer(fifo)), name(consumer(fifo)))] +=
          machine.peak_tokens(fifo) >= depths.tokens;
    }
  }
}

double Coverage::opcode_percent(isa::Opcode opcode) const {
  return instructions_ == 0 ? 0.0
                            : 100.0 * static_cast<double>(opcodes_[static_cast<std::size_t>(opcode)]) /
                                  static_cast<double>(instructions_);
}

std::uint64_t Coverage::median_operations() const {
  if (operations_.empty()) return 0;
  std::vector<std::uint64_t> sorted = operations_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> names;
  for (const auto& [bin, count] : bins_)
    if (count == 0) names.push_back(bin);
  return names;
}

std::string Coverage::report() const {
  std::string text = fmt::format("{} instructions, median {} operations\n", instructions_, median_operations());
  for (const auto& [opcode, label] : {std::pair{isa::Opcode::load, "load"},
                                      {isa::Opcode::store, "store"},
                                      {isa::Opcode::gemm, "gemm"},
                                      {isa::Opcode::finish, "finish"},
                                      {isa::Opcode::alu, "alu"},
                                      {isa::Opcode::window, "window"},
                                      {isa::Opcode::gemmq, "gemmq"}})
    text += fmt::format("  {:6.1f} %  {}\n", opcode_percent(opcode), label);
  for (const auto& [bin, count] : bins_) text += fmt::format("  {:6}    {}\n", count, bin);
  return text;
}

}  // namespace dovetail::test
