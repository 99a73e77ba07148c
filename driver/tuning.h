// The targets whose kernels the tuner measures, and what measures them.
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

// Whose measurements count for each target, the first ones most. Precondition: options.records.
std::map<std::string, std::vector<std::string>> measured_machines(const ModelOptions& options,
                                                                  const CompiledModel& model);

// The options, narrowed to code that the devices of `targets` here run: kernels for other ones are scheduled apart.
// Error: a device is not here.
Result<ModelOptions> narrowed_to_here(ModelOptions options, std::span<const std::string> targets);

struct MeasurerOptions {
  isa::HardwareConfig hardware = {};  // of the accelerator
  simulator::MemorySpec memory = {};
  Work* work = nullptr;
  bool beside_others = false;  // one candidate at a time, as other processes measure at the same time
};
// Error: no kernels of the target are tuned.
Result<tune::MakeMeasurer> measurer_of(std::string_view target, const ModelOptions& options,
                                       const MeasurerOptions& measurer);

}  // namespace dovetail::driver
