// Runs the launches of a program in order. Launches that begin together do so on an engine with several accelerators
// (Simulator::runs_together()); on others each begins when the one before has ended, with the same values.
#pragma once

#include <functional>
#include <span>

#include "base/result.h"
#include "isa/accelerators.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// A launch that ended, or all that began together.
struct Ended {
  std::span<const isa::Launch> launches;
  std::span<const Counters> counters;  // of each
  const isa::Launch& last;             // the one that ended last
  const LaunchTrace* timing;           // of that one; null: the engine has no clock

  Counters sum() const;  // of the counters
};
using LaunchEnded = std::function<void(const Ended& ended)>;

// `launches` are within the program. Errors: as Simulator::launch(); a launch for an accelerator that the engine does
// not have.
Result<void> run_launches(Simulator& simulator, std::span<const isa::Instruction> program,
                          std::span<const isa::Launch> launches, Dram& dram, const LaunchEnded& ended);

}  // namespace dovetail::simulator
