// The executor: loads a bundle once, runs it many times. Host steps run on the loop-program interpreter, accelerator steps on a simulator.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "simulator/simulator.h"

namespace dovetail::runtime {

// Makes the engine for a configuration ("functional", ...); the caller chooses.
using MakeSimulator = std::function<Result<std::unique_ptr<simulator::Simulator>>(const isa::HardwareConfig& config)>;
Result<MakeSimulator> simulator_factory(std::string_view engine);  // diagnostic lists the engines of this build

struct StepProfile {
  std::string name;
  std::string target;                      // "host" or "accel"
  double seconds = 0;
  simulator::Counters counters;            // accelerator steps
};
struct RunResult {
  std::map<std::string, NdArray> outputs;  // by graph output name
  std::map<std::string, NdArray> tensors;  // all tensors that were produced, by name; only with keep_tensors
  std::vector<StepProfile> steps;
  simulator::Counters counters;            // sum over accelerator steps
};
struct RunOptions {
  bool keep_tensors = false;
};

class Executor {
 public:
  // Compiles host programs and builds the simulators; the bundle is verified.
  static Result<Executor> make(bundle::Bundle bundle, const MakeSimulator& make_simulator);

  // `inputs` by name. Missing, superfluous, wrongly typed or shaped ones are diagnosed together.
  Result<RunResult> run(const std::map<std::string, NdArray>& inputs, const RunOptions& options = {});

  const bundle::Bundle& bundle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dovetail::runtime
