// One simulation of a program: `dovetail simulate`, and the C interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/program/early_stop.h"
#include "cli/program/program_input.h"
#include "driver/system.h"
#include "driver/timed_program.h"
#include "isa/config.h"
#include "simulator/counters.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"
#include "simulator/sram_reader.h"

namespace dovetail::cli {

struct SimulationOptions {
  std::string engine;
  driver::System system;
  simulator::EngineOptions engine_options = {};  // memory, accelerators and address of the program are set from others
  std::optional<std::string> until = std::nullopt;  // a place of make_early_stop()
  bool reads_sram = false;                          // sram() is needed
  bool what_if = false;                             // also time the same instructions on other hardware
};

// "acc", "out", "inp", "wgt" or "uop". `option`: names the value in diagnostics.
Result<isa::Memory> parse_sram(std::string_view option, std::string_view name);

class Simulation {
 public:
  // Errors: the input has no memory, its program_base does not fit, or the engine cannot do what the options say.
  // Precondition: `input` and the Work of the options outlive the simulation.
  static Result<std::unique_ptr<Simulation>> make(const ProgramInput& input, SimulationOptions options);

  // Runs all launches, or up to `until`. Call it once. Errors: the program fails, or is stopped.
  Result<void> run();

  const ProgramInput& input() const { return input_; }
  const SimulationOptions& options() const { return options_; }
  const isa::HardwareConfig& config() const { return input_.machine.hardware; }

  // After run().
  const simulator::Dram& dram() const { return stop_ ? stop_->dram() : dram_; }
  const simulator::SramReader* sram() const;  // null: the engine does not show its memories
  const simulator::Counters& counters() const { return timed_.counters; }
  double seconds() const { return seconds_; }  // of the launches
  // Without `until`: the launches, and their times where the engine has a clock.
  const driver::TimedProgram& timed() const { return timed_; }
  const std::vector<simulator::Counters>& of_launches() const { return of_launches_; }
  const std::optional<StopPoint>& stopped() const { return stopped_; }  // set with `until`

 private:
  Simulation(const ProgramInput& input, SimulationOptions options);
  Result<void> run_launches();
  Result<void> run_until();

  const ProgramInput& input_;
  SimulationOptions options_;
  std::unique_ptr<simulator::Simulator> simulator_;  // one of these two
  std::unique_ptr<EarlyStop> stop_;
  simulator::Dram dram_;
  driver::TimedProgram timed_;
  std::vector<simulator::Counters> of_launches_;
  std::optional<StopPoint> stopped_;
  double seconds_ = 0;
};

}  // namespace dovetail::cli
