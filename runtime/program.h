// A program prepared to run: its tensors have addresses, its steps have kernels on their devices. The executor runs the
// bundle's programs; a step of target `flow` selects and runs the programs of the step.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "runtime/device.h"
#include "runtime/memory.h"

namespace dovetail::runtime {

using Devices = std::vector<std::shared_ptr<Device>>;

struct ReadyStep {
  const bundle::Step* step = nullptr;
  std::string_view device;  // its name, by which its memories are found
  std::unique_ptr<DeviceKernel> kernel;
  std::vector<Operand> arguments, results;  // for the current run
  bool stay = false;                        // they are the same in every run, and no copies are needed for them
};

// A state that stays in a device's memory, which the host can access.
struct ReadyResident {
  const bundle::State* state = nullptr;
  bundle::TensorIndex before = 0;
  std::size_t input = 0;                  // position of its input among the bundle's
  std::vector<std::size_t> pack, unpack;  // the steps that only convert it, in order
};

struct ReadyProgram {
  const bundle::Bundle& bundle;  // memory and steps keep references to it
  TensorMemory memory;           // kept from run to run
  std::vector<ReadyStep> steps;
  std::unique_ptr<DeviceSequence> sequence;  // of all steps; null: run one after the other
  std::vector<ReadyResident> residents = {};

  WorkEstimate estimate_work() const;
};

// Each device with steps in the program prepares them. The bundle and the devices outlive the result. `given`: the
// number of the caller's devices, which come first.
Result<std::unique_ptr<ReadyProgram>> make_ready(const bundle::Bundle& bundle, const Devices& devices,
                                                 std::size_t given);
// The host memory that a program and the programs of its steps need, computed before any is allocated.
Result<void> check_memory_of(const bundle::Bundle& bundle, const Devices& devices);

// Precondition of both: TensorMemory::begin was called.
Result<void> run_step(ReadyStep& ready, TensorMemory& memory);
Result<void> run_together(ReadyProgram& program, bool times);
// Runs all steps that are not skipped.
Result<void> run_steps(ReadyProgram& program, const std::vector<bool>& skips);

// Adds the step's name to its problems.
Diagnostics located(Diagnostics problems, const bundle::Step& step);

}  // namespace dovetail::runtime
