#include "simulator/cycle/cycle.h"

#include <fmt/format.h>

#include <optional>

#include "base/check.h"
#include "isa/legal.h"
#include "isa/text.h"
#include "simulator/cycle/count.h"
#include "simulator/cycle/machine.h"
#include "simulator/cycle/uop_memory.h"
#include "simulator/functional/command_queues.h"
#include "simulator/functional/core.h"
#include "simulator/image_range.h"

namespace dovetail::simulator {

namespace {

class CycleSimulator final : public Simulator {
 public:
  CycleSimulator(const isa::HardwareConfig& config, const EngineOptions& options, bool values)
      : config_(config),
        options_(options),
        rules_(config),
        memory_(make_memory(options.memory, config.bus_bytes)),
        machine_(config, *memory_),
        uops_(config) {
    if (values) core_.emplace(config, FunctionalOptions{});
  }

  std::string_view name() const override { return "cycle"; }
  Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) override;
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  void reset() override {
    if (core_) core_->reset();
    uops_.reset();
  }

 private:
  bool execute(const isa::Instruction& instruction, Dram& dram, Counters& counters, Diagnostics& errors);
  Diagnostic standstill(std::span<const isa::Instruction> program, std::size_t first_index) const;

  isa::HardwareConfig config_;
  EngineOptions options_;
  isa::LegalityRules rules_;
  Routes routes_;
  std::unique_ptr<Memory> memory_;
  Machine machine_;
  UopMemory uops_;
  std::optional<Core> core_;  // empty: time alone
  std::optional<LaunchTrace> timing_;
};

bool CycleSimulator::execute(const isa::Instruction& instruction, Dram& dram, Counters& counters, Diagnostics& errors) {
  if (!rules_.is_legal(instruction)) [[unlikely]] {
    errors = rules_.check(instruction);
    return false;
  }
  const auto refuse = [&](const Fault& fault) {
    errors = {{.what = fmt::format("cannot execute `{}`", isa::format_instruction(instruction)), .where = "", .why = fault.why, .hint = fault.hint}};
    return false;
  };
  count(config_, instruction, routes_.of(instruction), counters);
  if (core_) {
    Counters same;
    if (!core_->execute(instruction, dram, same)) return refuse(core_->fault());
  } else {
    const auto outside = [&](const isa::Transfer& transfer, const char* action) {
      if (transfer.x_size == 0 || transfer.y_size == 0) return false;
      const auto size = static_cast<std::uint64_t>(config_.element_bytes(transfer.memory));
      const ByteRange range = bytes_moved(transfer, size);
      return !covers(dram, range) && !refuse(outside_image(dram, range, size, action));
    };
    if (const auto* load = std::get_if<isa::Load>(&instruction.body); load != nullptr && outside(*load, "read")) return false;
    if (const auto* store = std::get_if<isa::Store>(&instruction.body); store != nullptr && outside(*store, "written")) return false;
  }
  if (const auto* load = std::get_if<isa::Load>(&instruction.body); load != nullptr && load->memory == isa::Memory::uop)
    DOVETAIL_CHECK(uops_.load(*load, dram), "micro-ops outside the image, after that was checked");
  return true;
}

// Walks the queues without time to the standstill that the launch came to, to tell of it.
Diagnostic CycleSimulator::standstill(std::span<const isa::Instruction> program, std::size_t first_index) const {
  CommandQueues queues(isa::queue_depths(config_));
  queues.clear();
  std::size_t next = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (; next < program.size() && queues.has_room(routes_.of(program[next]).use.queue); ++next, moved = true)
      queues.fetch(next, routes_.of(program[next]).use);
    for (const isa::Queue queue : {isa::Queue::load, isa::Queue::compute, isa::Queue::store}) {
      moved |= queues.push_blocked(queue);
      if (!queues.ready(queue)) continue;
      queues.start(queue);
      queues.finish(queue);
      moved = true;
    }
  }
  if (!queues.idle() || next < program.size()) return queues.deadlock(program, first_index, next);
  return queues.leftover_tokens(first_index, program.size());
}

Result<Counters> CycleSimulator::launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) {
  timing_.reset();
  const auto instruction_bytes = static_cast<std::uint64_t>(config_.instruction_bytes());
  const std::uint64_t program_bytes = (first_index + program.size()) * instruction_bytes;
  std::uint64_t base = 0;
  if (options_.program_base) {
    base = *options_.program_base;
    if (base % instruction_bytes != 0 || program_bytes > (std::uint64_t{1} << config_.address_bits) ||
        base > (std::uint64_t{1} << config_.address_bits) - program_bytes)
      return Diagnostic{"cannot place the program in memory", fmt::format("program base {:#x}", base),
                        fmt::format("{} bytes must begin at a multiple of {} and end within {} address bits", program_bytes, instruction_bytes,
                                    config_.address_bits),
                        "choose another --program-base, or leave it to the engine"};
  } else {
    DOVETAIL_ASSIGN(base, program_place(config_, dram.base, dram.bytes.size(), program_bytes));
  }

  Counters counters;
  Diagnostics errors;
  memory_->reset();
  machine_.begin({.program = program,
                  .first_index = first_index,
                  .program_address = base + first_index * instruction_bytes,
                  .uops = uops_.uops(),
                  .on_start =
                      [&](std::size_t instruction) {
                        if (execute(program[instruction], dram, counters, errors)) [[likely]]
                          return true;
                        for (Diagnostic& error : errors) error.where = fmt::format("instruction {}", first_index + instruction);
                        return false;
                      },
                  .trace = options_.trace});
  while (machine_.next() != kUnknown) machine_.step();
  if (machine_.stopped()) return errors;
  if (!machine_.done() || machine_.tokens_left()) return standstill(program, first_index);
  timing_ = machine_.result();
  return counters;
}

}  // namespace

std::unique_ptr<Simulator> make_cycle(const isa::HardwareConfig& config, const EngineOptions& options) {
  return std::make_unique<CycleSimulator>(config, options, true);
}

std::unique_ptr<Simulator> make_cycle_timing(const isa::HardwareConfig& config, const EngineOptions& options) {
  return std::make_unique<CycleSimulator>(config, options, false);
}

}  // namespace dovetail::simulator
