// The runtime's extension interface: a device runs the steps of a target. The kit's devices are listed in
// runtime/device/all.cpp; the caller passes others to the executor. The target's code generator
// (compiler/target/target.h) and the device agree on the meaning of a step's code; docs/howto/adding-a-target.md
// describes both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "bundle/bundle.h"
#include "simulator/simulator.h"

namespace dovetail::runtime {

// A memory that belongs to a device: one of a bundle's memory spaces.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // The whole memory, at a host address that is a multiple of bundle::kTensorAlignment. Empty if the host cannot access
  // it: data that other devices' steps read and write there is then copied.
  virtual std::span<std::byte> bytes() { return {}; }
  // Called before each run.
  virtual Result<void> begin() { return {}; }
  // Copies between the host and the tensor at `offset`. Not called if bytes() is not empty.
  virtual Result<void> copy_in(std::uint64_t offset, std::span<const std::byte> bytes);
  virtual Result<void> copy_out(std::uint64_t offset, std::span<std::byte> bytes);
};

// The location of a step's argument or result. Locations do not overlap, unless two arguments are the same tensor.
struct Operand {
  // in the host's memory; empty if it is in a memory of the step's own device that the host cannot access
  std::span<std::byte> bytes;
  // the memory of the step's own device that contains it; else null
  DeviceMemory* memory = nullptr;
  std::uint64_t offset = 0;
};

// Properties of a GPU kernel, for performance analysis.
struct KernelFacts {
  std::string symbol;
  std::uint64_t blocks = 0, threads = 0;  // threads per block
  int registers = 0;                      // per thread
  int spilled_bytes = 0;                  // per thread, in the device's memory: values that did not fit into registers
  int shared_bytes = 0;                   // per block
  double occupancy = 0;                   // threads resident on a processor, as a share of its maximum
};

// A launch with its times: of those that begin together, the one that ends last.
struct TimedLaunch {
  isa::Launch launch;
  simulator::LaunchTrace trace;
};

// Measurements of a step in a run.
struct StepProfile {
  std::string name;
  std::string target;
  double seconds = 0;
  simulator::Counters counters;            // if a simulator ran
  std::vector<TimedLaunch> launches = {};  // if the simulator has a clock
  // The counters of each accelerator, where accelerators differ; else empty.
  std::vector<simulator::Counters> by_accelerator = {};
  // Profiles of the steps of the programs that this step runs, summed over their executions.
  std::vector<std::vector<StepProfile>> programs = {};
  std::uint64_t runs = 1;
};

// A step prepared for repeated runs.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // Arguments and results in the step's order, with the types and shapes of its tensors. Arguments are read-only;
  // results have undefined contents and must be written completely. Diagnostics need not name the step.
  virtual Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) = 0;
  // The time of the last run on the device itself, if run() is asynchronous and its duration differs from the device's;
  // called when all steps of a program have run.
  virtual std::optional<double> device_seconds() { return std::nullopt; }
  virtual std::vector<KernelFacts> kernel_facts() const { return {}; }
  // An estimate of the work of one run, as far as it is known.
  virtual WorkEstimate estimate_work() const { return {}; }
  // The counters of the last run, if a simulator ran; else null. Valid until the next run.
  virtual const simulator::Counters* counters() const { return nullptr; }
  // StepProfile::by_accelerator of the last run.
  virtual std::vector<simulator::Counters> by_accelerator() const { return {}; }
  // The last run's launches, in order; empty if the engine has no clock.
  virtual std::vector<TimedLaunch> timing() const { return {}; }
  // The profiles of the last run, if the step runs programs (StepProfile::programs).
  virtual std::vector<std::vector<StepProfile>> programs() const { return {}; }
};

// All steps of a program, if one device runs them all and can start them together.
class DeviceSequence {
 public:
  virtual ~DeviceSequence() = default;
  struct StepOperands {
    std::span<const Operand> arguments, results;
  };
  // Replaces the kernels' run(), in their order. `times`: device_seconds of the kernels will be called. Diagnostics
  // name the step.
  virtual Result<void> run(std::span<const StepOperands> steps, bool times) = 0;
  // Describes how the last run was launched.
  virtual std::string launched() const = 0;
};

// The device's preparation of a program.
struct DeviceProgram {
  std::vector<std::unique_ptr<DeviceKernel>> kernels;  // for the steps of its target, in order
  std::map<bundle::SpaceIndex, std::shared_ptr<DeviceMemory>> memories =
      {};                                              // for each space that belongs to the device
  std::unique_ptr<DeviceSequence> sequence = nullptr;  // if all steps of the program belong to the device; or null
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // bundle::Step::target, and MemorySpace::target of its memories
  // Further targets whose steps the device runs, in the same memories. Their code describes the computation, and is
  // never machine code.
  virtual std::vector<std::string_view> library_targets() const { return {}; }
  bool runs(std::string_view target) const;
  // Whether the device's memories are in host memory, as a simulator's are, and count toward the host's memory limit.
  virtual bool keeps_tensors_on_host() const { return true; }
  // Whether the code of the device's steps, or of their module, is machine code that this or another process executes.
  // The executor does not pass machine code from an untrusted bundle. False is a guarantee: whatever the bytes are, the
  // device only computes the step's results.
  virtual bool runs_machine_code() const { return true; }
  // Checks the code of the device's steps, which may come from an untrusted file; load() does the same first.
  virtual Result<void> check(const bundle::Bundle&) { return {}; }
  // The bundle verifies, and outlives the result.
  virtual Result<DeviceProgram> load(const bundle::Bundle& bundle) = 0;
};

}  // namespace dovetail::runtime
