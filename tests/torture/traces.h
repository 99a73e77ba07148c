// Invariants of every trace, and the comparison of two engines' traces of one launch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isa/verify.h"
#include "simulator/trace/trace.h"
#include "tests/generator/generator.h"

namespace dovetail::test {

// Every instruction is issued, started and ended once, in order, and every cycle of a unit is in one class.
std::optional<std::string> check_trace(const GeneratedProgram& program, const isa::Launch& launch,
                                       const simulator::LaunchTrace& trace);

// Compares an engine's events with the cycle simulator's: in launches that deadlock, all events up to the deadlock.
std::optional<std::string> compare_events(std::string_view engine, const simulator::LaunchTrace& trace,
                                          const simulator::LaunchTrace& cycle);
// Compares the whole trace: every event, every class, and the causes of waits for memory.
std::optional<std::string> compare_times(std::string_view engine, const simulator::LaunchTrace& trace,
                                         const simulator::LaunchTrace& cycle);

}  // namespace dovetail::test
