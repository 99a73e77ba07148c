// The executor: loads a bundle once, runs it repeatedly. Each step runs on the device of its target (runtime/device.h).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "bundle/bundle.h"
#include "isa/accelerators.h"
#include "runtime/device.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::runtime {

// Creates the engine for the configuration of one accelerator, or of all that differ ("functional", ...); the caller
// chooses it. One for accelerators that differ runs launches by run_launches() (simulator/run_launches.h).
using MakeSimulator =
    std::function<Result<std::unique_ptr<simulator::Simulator>>(const isa::AcceleratorConfigs& configs)>;
// The diagnostic lists the engines of this build. `options` is for engines with a clock; others ignore it.
Result<MakeSimulator> simulator_factory(std::string_view engine, const simulator::EngineOptions& options = {});

// Every engine that the kit knows, and whether it is available.
struct Engine {
  std::string_view name;
  std::string_view description;
  bool available = false;
  bool has_clock = false;  // accepts EngineOptions
  // The missing dependency, and the command that installs it; empty: nothing is missing. Engine rtl is listed as
  // available anyway: its models may exist.
  std::string missing = {};
};
std::vector<Engine> engines();
// Does not check availability: engines() searches for tools, and runs one to query its version.
std::vector<std::string_view> engine_names();
bool has_clock(std::string_view engine);  // true for unknown names
// Whether it knows the cycles of every instruction: a device counts those of launches alone.
bool has_timeline(std::string_view engine);
std::string no_timeline(std::string_view engine);  // why it has none: "engine functional has no clock"

struct RunResult {
  std::map<std::string, NdArray> outputs;  // by graph output name; truncated to the extents that depend on values
  std::map<std::string, NdArray> tensors;  // all tensors produced, by name; only with keep_tensors
  std::vector<StepProfile> steps;
  simulator::Counters counters;  // sum over the steps
  std::string launched = {};     // how a device launched all steps together; empty: one by one
};
struct RunOptions {
  bool keep_tensors = false;
  // If false, steps are not timed, and RunResult::steps stays empty.
  bool time_steps = true;
  // If false, RunResult::outputs stays empty, and Executor::output gives access to them in place.
  bool copy_outputs = true;
  // If false, RunResult::outputs has no outputs of states, and states may stay in a device's memory; as without
  // copy_outputs.
  bool copy_states = true;
};
int default_threads();  // one per processor that this process may use
struct ExecutorOptions {
  int threads = 0;  // for CPU kernels; 0: one per processor that this process may use
  // Use `apart` if the thread that creates the executor belongs to a host program, has other work, and may end before
  // it.
  ThreadPool::Placement placement = ThreadPool::Placement::pinned;
  // Receives the estimated and completed steps of runs, and may stop them (base/work.h); outlives the executor. Null:
  // not observed. A simulator uses EngineOptions::work instead; a machine-code kernel always runs to its end.
  Work* work = nullptr;
  // The caller's devices, for the steps of its back ends; searched before those of the kit (runtime/device.h).
  std::vector<std::shared_ptr<Device>> devices = {};
};

// Reports missing, superfluous, wrongly typed or shaped inputs, all together; states may be missing. Executor::run does
// the same first.
Result<void> check_inputs(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& inputs);

class Executor {
 public:
  // Checks the bundle with all its code, and prepares the devices for it. Errors include an untrusted bundle with
  // machine code (bundle::MachineCode).
  static Result<Executor> make(bundle::Bundle bundle, const MakeSimulator& make_simulator,
                               const ExecutorOptions& options = {});

  // `inputs` by name; in a bundle for several shapes, the program for their shapes runs. Missing, superfluous, wrongly
  // typed or shaped ones are diagnosed together. A state that is missing has the value of the run before, which is kept
  // if this run fails. Every run begins with SRAM as after power-up and the initial image of the compiler. Not
  // thread-safe: simulators and tensor memory are reused from run to run.
  Result<RunResult> run(const std::map<std::string, NdArray>& inputs, const RunOptions& options = {});

  // Runs the first program on the bytes of its inputs, in their order, without copies and measurements; output() then
  // gives access to the outputs. The bytes have the inputs' sizes, and begin at multiples of bundle::kTensorAlignment;
  // null: the value of the state that the input is. `outputs`: memory of their sizes, in their order, or empty; an
  // output is computed there if it can be (TensorMemory::place_outputs), which the address of output() shows.
  // `copy_states`: as of RunOptions, for output().
  Result<void> run_in_place(std::span<const std::span<const std::byte>> inputs,
                            std::span<const std::span<std::byte>> outputs = {}, bool copy_states = true);

  // The values of the states that the next run reads, by input. Those that no run has given yet are not in it: zeros.
  // Values that are in a device's memory (bundle::Resident) are copied to the host first.
  Result<const std::map<std::string, NdArray>*> states() const;
  void set_states(std::map<std::string, NdArray> values);

  // An output of the last run, valid until the next or states(); in the caller's memory if that run placed it there;
  // the whole tensor, including elements beyond an extent
  // that depends on values (bundle::OutputExtent). Precondition: a graph output of that name that a step has computed.
  std::span<const std::byte> output(std::string_view name) const;

  // The same as a copy, truncated to the extents that depend on values.
  Result<NdArray> copied_output(std::string_view name);

  // The kernels of a step of `program`, if a GPU runs it.
  std::vector<KernelFacts> kernel_facts(std::size_t step) const;

  const bundle::Bundle& bundle() const;
  // The program that ran last, or will run first: the bundle, or one of its programs for other shapes.
  const bundle::Bundle& program() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dovetail::runtime
