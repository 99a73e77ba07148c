// The torture test: random legal programs on every engine. The functional simulator is the reference for every DRAM
// byte, isa/semantics for every defined SRAM element of the RTL, and the engines with a clock must agree on issue,
// start, end and stall cause of every instruction; under random memories, random power-up contents and, on RTL every
// fourth time, a random AXI4 slave instead of the memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/trace/trace.h"
#include "tests/generator/generator.h"
#include "tests/torture/case.h"
#include "tests/torture/engines.h"

namespace dovetail::test {

// Returns the difference, if any. `trace` receives the cycle simulator's trace, launch by launch, which equals those of
// the other engines, except where RTL has a slave instead of the memory: then it has its own times.
std::optional<std::string> torture(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {},
                                   std::vector<simulator::LaunchTrace>* trace = nullptr);

// Minimizes a failing program while it is legal and still fails.
GeneratedProgram minimized(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {});
// Describes the failure, with the program's assembly.
std::string explain(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {});

}  // namespace dovetail::test
