// The part of a timing core that is not timing: which instructions may start, their values, and the micro-ops that ALU
// times depend on. SRAM persists from launch to launch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/work.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/legal.h"
#include "simulator/cycle/machine.h"
#include "simulator/cycle/uop_memory.h"
#include "simulator/engine_options.h"
#include "simulator/functional/core.h"
#include "simulator/functional/routes.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

enum class Values : std::uint8_t {
  computed,
  left_out,  // DRAM is only read, for micro-ops
};

class Execution {
 public:
  Execution(const isa::HardwareConfig& config, Values values, Work* work = nullptr);

  // Resets to the state after power-up.
  void reset();

  // The launch in the form that the machine expects; `program` and `dram` outlive it. Instruction 0 of the program, not
  // of the launch, is at `program_base`.
  Machine::Launch begin(std::span<const isa::Instruction> program, std::size_t first_index, Dram& dram,
                        std::uint64_t program_base, bool trace);
  // Must be called at each of the machine's events. False: the work was stopped, and outcome() reports it.
  bool goes_on() { return meter_.advance_uncounted(kStepsOfEvent); }
  // Call after the machine's last event, or when it cannot continue: returns the counters, or the reason why the launch
  // was stopped, came to a standstill, or left tokens.
  Result<Counters> outcome(const Machine& machine) const;
  // What the registers report, if the machine has stopped or left tokens.
  std::optional<LaunchError> error(const Machine& machine) const;
  // Null: values are not computed.
  const Sram* sram() const { return core_ ? &core_->sram() : nullptr; }

 private:
  static constexpr std::uint64_t kStepsOfEvent = 64;  // approximate cost of an event at the memory port

  bool execute(std::size_t instruction);
  bool refuse(std::size_t instruction, const Fault& fault);

  isa::HardwareConfig config_;
  isa::LegalityRules rules_;
  Routes routes_;
  UopMemory uops_;
  std::optional<Core> core_;  // empty: only time is simulated

  std::span<const isa::Instruction> program_;
  std::size_t first_index_ = 0;
  Dram* dram_ = nullptr;
  Counters counters_, values_;  // from instructions' fields, and as counted by core_
  Diagnostics errors_;
  std::size_t failed_at_ = 0, started_ = 0;
  bool beyond_image_ = false;
  WorkMeter meter_;
};

// The address of instruction 0: from `options`, or from program_place(). `instructions` counts from instruction 0 to
// the last of the launch. Errors: misaligned, or outside the address space.
Result<std::uint64_t> program_base_of(const isa::HardwareConfig& config, const EngineOptions& options, const Dram& dram,
                                      std::size_t instructions);
// The same for launches that begin together. Errors also: a launch of an accelerator beyond
// EngineOptions::accelerators.
Result<std::uint64_t> program_base_of(const isa::HardwareConfig& config, const EngineOptions& options, const Dram& dram,
                                      std::span<const isa::Launch> launches);

}  // namespace dovetail::simulator
