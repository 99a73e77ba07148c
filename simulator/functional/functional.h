// The functional simulator: values without time, as fast as the host allows. It executes instructions whole, one after
// the other, in an order that the queues and tokens permit; every order gives a race-free program the same result
// (isa/verify finds the races). docs/explanation/functional-simulator.md describes how it works and what was measured.
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

// Which of the instructions that may start goes first. Always deterministic.
enum class ExecutionOrder : std::uint8_t {
  program,      // each as soon as it is fetched and its tokens are there: program order where that is legal
  load_first,   // fetch as far ahead as the command queues allow, then loads before computation before stores
  store_first,  // the same, stores before computation before loads
};

struct FunctionalOptions {
  // Reading SRAM that nothing has written since reset is an error; otherwise it reads as zero.
  bool check_undefined_reads = true;
  // Two orders that give different results prove a race.
  ExecutionOrder order = ExecutionOrder::program;
  // For tests and measurements. Precondition: is_supported(*kernel_level). Default: best_kernel_level().
  std::optional<KernelLevel> kernel_level = std::nullopt;
  // What it counts its steps for, and stops with; outlives the simulator. Null: nobody watches.
  Work* work = nullptr;
  // Asked before each instruction, by its index in the program, in the order of execution. True ends the launch without
  // it: launch() then returns what has been counted so far, and neither SRAM nor queues are fit for another launch.
  std::function<bool(std::size_t instruction)> stop_before = nullptr;
};

// Precondition: validate(config).
std::unique_ptr<Simulator> make_functional(const isa::HardwareConfig& config, const FunctionalOptions& options = {});

}  // namespace dovetail::simulator
