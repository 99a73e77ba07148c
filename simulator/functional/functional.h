// The functional simulator: values without time, as fast as the host allows. It executes instructions whole, one after
// the other, in an order that the queues and tokens permit; every order gives a race-free program the same result
// (isa/verify finds the races). docs/explanation/functional-simulator.md describes its implementation and measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/work.h"
#include "isa/config.h"
#include "simulator/functional/kernel_level.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// Which of several instructions that may start is executed first. Always deterministic.
enum class ExecutionOrder : std::uint8_t {
  program,      // each as soon as it is fetched and its tokens are available: program order where that is legal
  load_first,   // fetch as far ahead as the command queues allow, then loads before computation before stores
  store_first,  // the same, stores before computation before loads
};

struct FunctionalOptions {
  // Reading SRAM that was not written since reset is an error; otherwise it reads as zero.
  bool check_undefined_reads = true;
  // Two orders that give different results prove a race.
  ExecutionOrder order = ExecutionOrder::program;
  // For tests and measurements. Precondition: is_supported(*kernel_level). Default: best_kernel_level().
  std::optional<KernelLevel> kernel_level = std::nullopt;
  // Counts the simulated steps, and may stop the run; outlives the simulator. Null: not observed.
  Work* work = nullptr;
  // Called before each instruction, with its index in the program, in the order of execution. Returning true ends the
  // launch before it: launch() then returns the counters so far, and the simulator cannot run another launch.
  std::function<bool(std::size_t instruction)> stop_before = nullptr;
};

// Precondition: validate(config).
std::unique_ptr<Simulator> make_functional(const isa::HardwareConfig& config, const FunctionalOptions& options = {});

}  // namespace dovetail::simulator
