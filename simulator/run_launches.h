// Runs the launches of a program in order. Launches that begin together do so on an engine with several accelerators
// (Simulator::runs_together()); on others each begins when the one before has ended, with the same values.
#pragma once

#include <functional>
#include <span>

#include "base/result.h"
#include "isa/verify.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// Called after each launch, or after all that began together, with the sum of their counters. `timing` is null for an
// engine without a clock, else that of `launch`, the one that ended last.
using LaunchEnded = std::function<void(const isa::Launch& launch, const Counters& counters, const LaunchTrace* timing)>;

// `launches` are within the program. Errors: as Simulator::launch(); a launch for an accelerator that the engine does
// not have.
Result<void> run_launches(Simulator& simulator, std::span<const isa::Instruction> program,
                          std::span<const isa::Launch> launches, Dram& dram, const LaunchEnded& ended);

}  // namespace dovetail::simulator
