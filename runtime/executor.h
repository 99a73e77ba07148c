// The executor: loads a bundle once, runs it many times. Each step runs on the device of its target (runtime/device.h).
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
#include "bundle/bundle.h"
#include "runtime/device.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::runtime {

// Makes the engine for a configuration ("functional", ...); the caller chooses.
using MakeSimulator = std::function<Result<std::unique_ptr<simulator::Simulator>>(const isa::HardwareConfig& config)>;
// The diagnostic lists the engines of this build. `options` is for engines with a clock; the others take no notice.
Result<MakeSimulator> simulator_factory(std::string_view engine, const simulator::EngineOptions& options = {});

// Every engine that the kit knows by name, and whether it is here.
struct Engine {
  std::string_view name;
  std::string_view description;
  bool available = false;
  bool has_clock = false;  // takes EngineOptions
  // What is not here, and the command that brings it; empty: nothing. Engine rtl is available all the same: its models
  // may be there.
  std::string missing = {};
};
std::vector<Engine> engines();
// Without a look at what is here: engines() searches for tools, and starts one to ask for its version.
std::vector<std::string_view> engine_names();
bool has_clock(std::string_view engine);  // true for a name that it does not know

struct RunResult {
  std::map<std::string, NdArray> outputs;  // by graph output name; cut to the extents that depend on values
  std::map<std::string, NdArray> tensors;  // all tensors that were produced, by name; only with keep_tensors
  std::vector<StepProfile> steps;
  simulator::Counters counters;  // sum over the steps
  std::string launched = {};     // how a device has begun all steps together; empty: they began one by one
};
struct RunOptions {
  bool keep_tensors = false;
  // Else RunResult::steps stays empty: no clock is read between steps, and a device that runs on by itself is not asked
  // for their times.
  bool time_steps = true;
  bool copy_outputs = true;  // else RunResult::outputs stays empty, and Executor::output shows them where they are
};
int default_threads();  // one per processor that this process may use
struct ExecutorOptions {
  int threads = 0;  // that run CPU kernels; 0: one per processor that this process may use
  // What runs expect and count their steps for, and stop with (base/work.h); outlives the executor. Null: nobody
  // watches. A simulator has its own, EngineOptions::work; a kernel of machine code goes on to its end.
  Work* work = nullptr;
  // Of the caller, for the steps of its back ends; asked before those of the kit (runtime/device.h).
  std::vector<std::shared_ptr<Device>> devices = {};
};

// Missing, superfluous, wrongly typed or shaped inputs, all of them together. Executor::run does the same first.
Result<void> check_inputs(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& inputs);

class Executor {
 public:
  // Checks the bundle with all its code, and makes the devices ready for it. Error, among others: it has machine code
  // and is not trusted (bundle::MachineCode).
  static Result<Executor> make(bundle::Bundle bundle, const MakeSimulator& make_simulator,
                               const ExecutorOptions& options = {});

  // `inputs` by name; of a bundle for several shapes, the program for theirs runs. Missing, superfluous, wrongly typed
  // or shaped ones are diagnosed together. Every run begins with SRAM as after power-up and the image as laid out by
  // the compiler. Not to be called from two threads at once: simulators and the storage of tensors are kept from run to
  // run.
  Result<RunResult> run(const std::map<std::string, NdArray>& inputs, const RunOptions& options = {});

  // An output of the last run, until the next; all of its tensor, also what is behind an extent that depends on values
  // (bundle::OutputExtent). Precondition: a graph output of that name that a step has computed.
  std::span<const std::byte> output(std::string_view name) const;

  // Of a step of `program`, where a GPU runs it.
  std::vector<KernelFacts> kernel_facts(std::size_t step) const;

  const bundle::Bundle& bundle() const;
  // What ran last, or is to run first: the bundle, or one of its programs for other shapes.
  const bundle::Bundle& program() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dovetail::runtime
