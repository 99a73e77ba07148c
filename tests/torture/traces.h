// What is true of every trace, and what two engines' traces of one launch must agree on.
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

// The events of an engine against the cycle simulator's: of launches that come to a standstill, all up to there.
std::optional<std::string> compare_events(std::string_view engine, const simulator::LaunchTrace& trace,
                                          const simulator::LaunchTrace& cycle);
// Its whole trace: every event, every class, and what waits for memory were for.
std::optional<std::string> compare_times(std::string_view engine, const simulator::LaunchTrace& trace,
                                         const simulator::LaunchTrace& cycle);

}  // namespace dovetail::test
