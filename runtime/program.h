// A program made ready to run: its tensors have places, its steps kernels on their devices. The executor runs those of
// the bundle, a step of target `flow` those that it chooses among.
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
  std::string_view device;  // its name, by which its memories are known
  std::unique_ptr<DeviceKernel> kernel;
  std::vector<Operand> arguments, results;  // of the current run
  bool stay = false;                        // they are those of every run, and nothing is copied for them
};

struct ReadyProgram {
  const bundle::Bundle& bundle;  // memory and steps keep references into it
  TensorMemory memory;           // kept from run to run
  std::vector<ReadyStep> steps;
  std::unique_ptr<DeviceSequence> sequence;  // of all steps; null: one after the other

  WorkEstimate estimate_work() const;
};

// Each device with steps in the program makes it ready. The bundle and the devices outlive it. `given`: how many of the
// devices, the first ones, are the caller's.
Result<std::unique_ptr<ReadyProgram>> make_ready(const bundle::Bundle& bundle, const Devices& devices,
                                                 std::size_t given);
// What all memory of a program and of those that its steps run takes of the host, before any of it is allocated.
Result<void> check_memory_of(const bundle::Bundle& bundle, const Devices& devices);

// Precondition of both: TensorMemory::begin.
Result<void> run_step(ReadyStep& ready, TensorMemory& memory);
Result<void> run_together(ReadyProgram& program, bool times);
// All steps.
Result<void> run_steps(ReadyProgram& program);

// A step's problems, which name it.
Diagnostics located(Diagnostics problems, const bundle::Step& step);

}  // namespace dovetail::runtime
