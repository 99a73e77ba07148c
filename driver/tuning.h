// The targets whose kernels the tuner measures, and their measurers.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "compiler/tune/measure.h"
#include "driver/compile_model.h"

namespace dovetail::driver {

// For each target the machines whose measurements are used, in order of preference. Precondition: options.records.
std::map<std::string, std::vector<std::string>> measured_machines(const ModelOptions& options,
                                                                  const CompiledModel& model);

// The options, narrowed to code for this machine's devices of `targets`, since kernels for other devices are scheduled
// separately. Error: this machine has no such device.
Result<ModelOptions> narrowed_to_here(ModelOptions options, std::span<const std::string> targets);

struct MeasurerOptions {
  isa::HardwareConfig hardware = {};  // configuration of the accelerator
  simulator::MemorySpec memory = {};
  Work* work = nullptr;
  bool shared_machine = false;  // measure one candidate at a time, since other processes measure at the same time
};
// Error: the target's kernels cannot be tuned.
Result<tune::MakeMeasurer> measurer_of(std::string_view target, const ModelOptions& options,
                                       const MeasurerOptions& measurer);

}  // namespace dovetail::driver
