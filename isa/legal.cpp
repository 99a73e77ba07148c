#include "isa/legal.h"

#include <fmt/format.h>

#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "isa/spec/instructions.h"
#include "isa/spec/memories.h"
#include "isa/text.h"

namespace dovetail::isa {

namespace {

struct Violation {
  std::string why, hint;
};

}  // namespace

LegalityRules::LegalityRules(const HardwareConfig& config) : address_bits_(config.address_bits) {
  for (const spec::MemoryInfo& row : spec::kMemories) {
    const auto id = static_cast<std::size_t>(row.id);
    depth_[id] = static_cast<std::uint64_t>(config.depth(row.id));
    element_bytes_[id] = static_cast<std::uint64_t>(config.element_bytes(row.id));
    dram_elements_[id] = (std::uint64_t{1} << config.address_bits) / element_bytes_[id];
  }
}

// `report` takes a callable that creates the Violation, so that the legal path formats nothing.
template <typename Report>
void LegalityRules::visit_transfer(const Transfer& transfer, Opcode opcode, Report&& report) const {
  if (transfer.x_size == 0) return;  // moves tokens only: memory id, addresses and pads mean nothing
  const auto id = static_cast<std::size_t>(transfer.memory);
  const bool takes_memory =
      spec::is_memory(transfer.memory) && depth_[id] != 0 &&
      (opcode == Opcode::load ? spec::info(transfer.memory).loadable : spec::info(transfer.memory).storable);
  if (!takes_memory)
    return report([&] {
      return Violation{fmt::format("memory id {} is not valid for {}", id, spec::info(opcode).name),
                       "see the memories in docs/gen/isa.md"};
    });

  const bool has_pads = (transfer.y_pad_0 | transfer.y_pad_1 | transfer.x_pad_0 | transfer.x_pad_1) != 0;
  if (opcode == Opcode::store && has_pads)
    report([&] {
      return Violation{fmt::format("a store has pads {},{},{},{}: they must be 0", transfer.y_pad_0, transfer.y_pad_1,
                                   transfer.x_pad_0, transfer.x_pad_1),
                       "set the pads to 0; only a load pads"};
    });

  // No sum or product here overflows 64 bits: this holds for the wide fields, which are the larger ones.
  static_assert(2 * (spec::kTransferSize.wide + 1) < 63 && spec::kTransferSize.wide + spec::kStride.wide < 63 &&
                spec::kSramBase.wide < 63 && spec::kDramBase.wide < 63);
  const std::uint64_t elements =
      opcode == Opcode::load ? semantics::loaded_elements(transfer) : semantics::stored_elements(transfer);
  if (opcode == Opcode::load && has_pads && elements != 0 && !spec::info(transfer.memory).takes_pads)
    report([&] {
      return Violation{
          fmt::format("a load of {} has pads {},{},{},{}: they must be 0", spec::info(transfer.memory).name,
                      transfer.y_pad_0, transfer.y_pad_1, transfer.x_pad_0, transfer.x_pad_1),
          "set the pads to 0; store zeros in DRAM instead"};
    });
  if (elements != 0 && transfer.sram_base + elements > depth_[id])
    report([&] {
      return Violation{
          fmt::format("{} elements from {} end at {} > {}, the depth of {}", elements, transfer.sram_base,
                      transfer.sram_base + elements, depth_[id], spec::info(spec::info(transfer.memory).buffer).name),
          "move fewer elements, or lower sram_base"};
    });
  if (transfer.y_size != 0) {
    const std::uint64_t end =
        transfer.dram_base + std::uint64_t{transfer.y_size - 1} * transfer.x_stride + transfer.x_size;
    if (end > dram_elements_[id])
      report([&] {
        return Violation{
            fmt::format("the transfer ends at DRAM element {} > {}, the last one of {} bytes below address 2^{}",
                        end - 1, dram_elements_[id] - 1, element_bytes_[id], address_bits_),
            "lower dram_base, sizes or stride, or raise `address_bits`"};
      });
  }
}

template <typename Report>
void LegalityRules::visit_loop(const UopLoop& loop, bool has_parameters, Report&& report) const {
  if (loop.uop_begin > loop.uop_end)
    return report([&] {
      return Violation{fmt::format("uop_begin {} > uop_end {}", loop.uop_begin, loop.uop_end),
                       "exchange them: uop_end is exclusive"};
    });
  const bool runs = loop.iter_out != 0 && loop.iter_in != 0 && loop.uop_begin != loop.uop_end;
  const std::uint64_t depth = depth_[static_cast<std::size_t>(Memory::uop)];
  const std::uint64_t end = std::uint64_t{loop.uop_end} + (has_parameters ? 1 : 0);
  if (runs && end > depth)
    report([&] {
      return Violation{
          fmt::format("the instruction uses micro-op {} > {}, the last one of the micro-op memory", end - 1, depth - 1),
          "load the micro-ops to a lower index, or raise `uop_buffer_bytes`"};
    });
}

template <typename Report>
void LegalityRules::visit_violations(const Instruction& instruction, Report&& report) const {
  const DependencyFlags& flags = instruction.flags;
  if ((flags.pop_prev || flags.push_prev) && instruction.queue() == Queue::load)
    report([&] {
      return Violation{fmt::format("{} is set on a load of {}, but the load queue has no previous queue",
                                   flags.pop_prev ? "pop_prev" : "push_prev",
                                   spec::info(std::get<Load>(instruction.body).memory).name),
                       "use pop_next and push_next, to and from the compute queue"};
    });
  if ((flags.pop_next || flags.push_next) && instruction.queue() == Queue::store)
    report([&] {
      return Violation{fmt::format("{} is set on a store, but the store queue has no next queue",
                                   flags.pop_next ? "pop_next" : "push_next"),
                       "use pop_prev and push_prev, to and from the compute queue"};
    });
  switch (instruction.opcode()) {
    case Opcode::load: return visit_transfer(std::get<Load>(instruction.body), Opcode::load, report);
    case Opcode::store: return visit_transfer(std::get<Store>(instruction.body), Opcode::store, report);
    case Opcode::gemm:
    case Opcode::window:
    case Opcode::gemmq: return visit_loop(*uop_loop(instruction), has_epilogue(instruction), report);
    case Opcode::finish: return;
    case Opcode::alu: {
      const Alu& alu = std::get<Alu>(instruction.body);
      if (alu.use_imm && !spec::takes_immediate(alu.op))
        report([&] {
          const spec::AluOpInfo& op = spec::info(alu.op);
          return Violation{fmt::format("use_imm is 1 and must be 0 for {}: {}", op.name,
                                       op.source_elements == 0
                                           ? "it has no second operand"
                                           : fmt::format("its operands start at acc[src], the immediate is its {}",
                                                         op.immediate.word)),
                           fmt::format("write {}= instead of imm=", op.immediate.word)};
        });
      return visit_loop(alu, false, report);
    }
  }
}

bool LegalityRules::is_legal(const Instruction& instruction) const {
  bool legal = true;
  visit_violations(instruction, [&](auto&&) { legal = false; });
  return legal;
}

Diagnostics LegalityRules::check(const Instruction& instruction) const {
  Diagnostics errors;
  visit_violations(instruction, [&](auto&& describe) {
    Violation violation = describe();
    errors.push_back({fmt::format("illegal instruction `{}`", format_instruction(instruction)), "",
                      std::move(violation.why), std::move(violation.hint)});
  });
  return errors;
}

Diagnostics check_instruction(const HardwareConfig& config, const Instruction& instruction) {
  return LegalityRules(config).check(instruction);
}

}  // namespace dovetail::isa
