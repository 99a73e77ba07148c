// The open interface of the runtime: a device runs the steps of a target. Those of the kit are listed in
// runtime/device/all.cpp, the caller hands others to the executor. The target's code generator
// (compiler/target/target.h) and the device agree on what a step's code means; docs/howto/adding-a-target.md leads
// through both.
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
  // All of it, beginning at an address in the host that is a multiple of bundle::kTensorAlignment. Empty where the host
  // cannot reach it: what others than the device's own steps read and write there is then copied.
  virtual std::span<std::byte> bytes() { return {}; }
  // Before each run.
  virtual Result<void> begin() { return {}; }
  // Between the host and the tensor at `offset`. Not called where bytes() shows the memory.
  virtual Result<void> copy_in(std::uint64_t offset, std::span<const std::byte> bytes);
  virtual Result<void> copy_out(std::uint64_t offset, std::span<std::byte> bytes);
};

// Where a step finds an argument or a result. No two overlap but for arguments that are the same tensor.
struct Operand {
  // In the host's memory; empty where it lies in a memory of the step's own device that the host cannot reach.
  std::span<std::byte> bytes;
  // Where it lies in a memory of the step's own device; else null.
  DeviceMemory* memory = nullptr;
  std::uint64_t offset = 0;
};

// What is known of a kernel on a GPU, for who looks at its time.
struct KernelFacts {
  std::string symbol;
  std::uint64_t blocks = 0, threads = 0;  // threads of a block
  int registers = 0;                      // of a thread
  int spilled_bytes = 0;                  // of a thread, in the device's memory: what did not fit into registers
  int shared_bytes = 0;                   // of a block
  double occupancy = 0;                   // threads that a processor holds at a time, as a share of the most it can
};

// What a step has taken in a run.
struct StepProfile {
  std::string name;
  std::string target;
  double seconds = 0;
  simulator::Counters counters;                       // where a simulator ran
  std::vector<simulator::LaunchTrace> launches = {};  // where it has a clock
  // Of the programs that the step runs, their steps, summed over the times that they ran.
  std::vector<std::vector<StepProfile>> programs = {};
  std::uint64_t runs = 1;
};

// A step made ready to run, many times.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // Arguments and results in the step's order, of the types and shapes that its tensors have. Arguments are only read;
  // results hold whatever, and all of them are to be written. Diagnostics need not name the step.
  virtual Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) = 0;
  // What the last run took on the device itself, where run() only began it and that takes another time than the call;
  // asked for when all steps of a program have run.
  virtual std::optional<double> device_seconds() { return std::nullopt; }
  virtual std::vector<KernelFacts> kernel_facts() const { return {}; }
  // What one run takes, as far as it is known.
  virtual WorkEstimate estimate_work() const { return {}; }
  // Of the last run, where a simulator ran; else null. Live until the next run.
  virtual const simulator::Counters* counters() const { return nullptr; }
  // Of the launches of the last run, in order; empty where nothing has a clock.
  virtual std::vector<simulator::LaunchTrace> timing() const { return {}; }
  // Of the last run, where the step runs programs (StepProfile::programs).
  virtual std::vector<std::vector<StepProfile>> programs() const { return {}; }
};

// All steps of a program, where one device runs them all and can begin them together.
class DeviceSequence {
 public:
  virtual ~DeviceSequence() = default;
  struct StepOperands {
    std::span<const Operand> arguments, results;
  };
  // In place of the kernels' run(), in their order. `times`: device_seconds of the kernels will be asked for.
  // Diagnostics name the step.
  virtual Result<void> run(std::span<const StepOperands> steps, bool times) = 0;
  // How the last run was begun, in words.
  virtual std::string launched() const = 0;
};

// What a device has made of a program.
struct DeviceProgram {
  std::vector<std::unique_ptr<DeviceKernel>> kernels;                         // of the steps of its target, in order
  std::map<bundle::SpaceIndex, std::shared_ptr<DeviceMemory>> memories = {};  // of each space that is the device's
  std::unique_ptr<DeviceSequence> sequence = nullptr;  // where all steps of the program are the device's; or null
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // bundle::Step::target, and MemorySpace::target of its memories
  // Other targets whose steps it runs too, on the same memories. Their code says what to compute, and is never machine
  // code.
  virtual std::vector<std::string_view> library_targets() const { return {}; }
  bool runs(std::string_view target) const;
  // Whether its memories are the host's, as a simulator's are, and count against what the host may give.
  virtual bool keeps_tensors_on_host() const { return true; }
  // Whether the code of its steps, or of their module, is run as it is by this process or another. The executor hands
  // none of that over from a bundle that is not trusted. False is a promise: whatever the bytes say, the device does no
  // more than compute the step's results.
  virtual bool runs_machine_code() const { return true; }
  // Checks the code of its steps, which may come from a file of anyone's; load() does the same first.
  virtual Result<void> check(const bundle::Bundle&) { return {}; }
  // The bundle verifies, and outlives what is made of it.
  virtual Result<DeviceProgram> load(const bundle::Bundle& bundle) = 0;
};

}  // namespace dovetail::runtime
