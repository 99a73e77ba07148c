// Profiles of loop programs as text and as JSON, and the results of tuning as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/kernels/profile.h"
#include "driver/kernels/tune.h"
#include "driver/system.h"

namespace dovetail::cli {

std::string kernel_profile_text(const driver::LoopProfile& profile, const driver::System& system);
Json kernel_profile_json(const driver::LoopProfile& profile, const driver::System& system);
// "tuning" of docs/schema/kernel.json. `operations`: of the program without its schedule.
Json kernel_tuning_json(const driver::TunedLoops& tuned, const std::string& target, double operations);

}  // namespace dovetail::cli
