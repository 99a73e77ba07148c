// The one interface of all simulators: memory image + program + configuration in, memory image + counters out. A run is
// a pure function of its inputs; SRAM persists from launch to launch within a Simulator object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/accelerators.h"
#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/counters.h"
#include "simulator/launch_error.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// Physical memory: `bytes` starts at physical address `base`. Everything outside is out of range.
struct Dram {
  std::uint64_t base = 0;
  std::vector<std::byte> bytes;
};

class Simulator {
 public:
  virtual ~Simulator() = default;

  virtual std::string_view name() const = 0;  // "functional", "cycle", "systemc", "rtl", "axi"

  // Runs one launch to completion against `dram`. On an error (deadlock, token overflow, out-of-range access, undefined
  // read, illegal instruction) the diagnostic names instruction index (plus `first_index`), disassembly and queue
  // heads; `dram` then contains what had been written so far. The returned counters are those of this launch only.
  virtual Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram,
                                  std::size_t first_index = 0) = 0;

  // Runs launches of `program` that begin together, each on its accelerator, and ends with the last one. Returns the
  // counters of each, of which the first has the DRAM commands of all. timing() is that of the launch that ends last,
  // with the sum of the counters. Precondition: runs_together().
  virtual Result<std::vector<Counters>> launch_together(std::span<const isa::Instruction> program,
                                                        std::span<const isa::Launch> launches, Dram& dram);
  // Whether it simulates several accelerators that run different launches (EngineOptions::by_launch).
  virtual bool runs_together() const { return false; }
  // What runs the launches of this accelerator, if they do not run together. It has the OFFSET of this simulator.
  virtual Simulator& of_accelerator(std::size_t) { return *this; }

  // The last launch's cycles, and with EngineOptions::trace its events, also if tokens are left over. After a deadlock
  // only the events, with 0 for those that never happened. nullptr: the launch failed otherwise, or the engine has no
  // clock.
  virtual const LaunchTrace* timing() const { return nullptr; }

  // What the registers report if the last call of launch() failed in a way that the design reports: not for a deadlock,
  // on which it never ends, nor for a fault of the simulation itself. Engines that run several accelerators, and engine
  // systemc, do not know it.
  virtual std::optional<LaunchError> error() const { return std::nullopt; }

  // Resets SRAM to its state after power-up.
  virtual void reset() = 0;

  // The register OFFSET in later launches; 0 until then. Precondition: isa::check_offset().
  void set_offset(std::uint64_t bytes) { offset_ = bytes; }

 protected:
  std::uint64_t offset() const { return offset_; }
  // What the launch does at OFFSET; valid until the next call.
  std::span<const isa::Instruction> at_offset(const isa::HardwareConfig& config,
                                              std::span<const isa::Instruction> program);

 private:
  std::uint64_t offset_ = 0;
  std::vector<isa::Instruction> moved_;  // the result of at_offset(), unless it is its argument
};

// Decodes a raw program and runs `launches` in order, or one launch of all instructions if there is none. Returns the
// sum of their counters. Errors: a program that does not decode or run, and a launch beyond the program. `where` names
// the program in diagnostics. Precondition: the codec's configuration is the simulator's.
Result<Counters> run_program(Simulator& simulator, const isa::Codec& codec, std::span<const std::byte> program,
                             std::string_view where, std::span<const isa::Launch> launches, Dram& dram);

}  // namespace dovetail::simulator
