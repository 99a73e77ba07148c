// The part of `dovetail profile` about steps on a GPU, as text and as JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/json.h"
#include "driver/gpu_profile.h"
#include "driver/latency.h"

namespace dovetail::cli {

// Two tables; empty without steps on a GPU. `times`: times of all steps of the program.
std::string gpu_text(const driver::GpuProfile& profile, std::span<const driver::StepTime> times);
// GOP/s of a step, and its share of the ceiling: "120.5", "12 %".
std::pair<std::string, std::string> gpu_rate(const driver::GpuProfile& profile, const driver::GpuStep& step,
                                             double seconds);
Json gpu_ceilings_json(const driver::GpuProfile& profile);
// The JSON of a step; null for a step that does not run on a GPU.
Json gpu_step_json(const driver::GpuProfile& profile, std::size_t step, double seconds);

}  // namespace dovetail::cli
